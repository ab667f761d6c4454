package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/replay/corpus"
	"github.com/adkreplay/adkreplay/scenarios"
)

// writing lists the flags of all commands that name a file to write.
var writing = []string{"json", "junit", "html", "out", "output"}

// checkWritten refuses to overwrite a file that is read, by whatever name, because a recording
// cannot be made again. It also refuses two results in one file. An output that is a folder, a pipe
// or a device loses nothing. Commands that write no trace refuse the name of a trace themselves.
func checkWritten(cmd *cobra.Command, args []string) error {
	flags := map[string]string{} // by the file that each of them writes
	for _, name := range writing {
		flag := cmd.Flags().Lookup(name)
		if flag == nil || flag.Value.Type() != "string" || flag.Value.String() == "" || flag.Value.String() == stdout {
			continue
		}
		file := flag.Value.String()
		info, err := os.Stat(file)
		if err == nil && !info.Mode().IsRegular() || name != "out" && corpus.IsTrace(file) || cmd.Name() == "distil" { // distil writes into a folder
			continue
		}
		if other, ok := flags[realPath(file)]; ok {
			return misused(cmd, fmt.Errorf("--%s and --%s cannot write the same file", other, name))
		}
		flags[realPath(file)] = name
		if read := readAs(cmd, args, info); read != "" {
			return misused(cmd, fmt.Errorf("--%s would write over %s, which is read: give another name than %s", name, safetext.Line(read), safetext.Line(file)))
		}
	}
	return nil
}

// readAs returns the name by which the arguments name the file, alone or in a folder, or "" if they
// do not.
func readAs(cmd *cobra.Command, args []string, file fs.FileInfo) string {
	if file == nil {
		return ""
	}
	for _, arg := range args {
		if _, ok := scenarios.Named(arg); ok && slices.Contains([]string{"run", "explore"}, cmd.Name()) {
			continue
		}
		info, err := os.Stat(arg)
		switch {
		case err != nil:
		case os.SameFile(info, file):
			return arg
		case info.IsDir():
			for _, trace := range folderTraces(arg) {
				if info, err := os.Stat(trace.name); err == nil && os.SameFile(info, file) {
					return trace.name
				}
			}
		}
	}
	return ""
}

// realPath returns the absolute path of a file with all links resolved, whether or not the file
// exists.
func realPath(file string) string {
	if path, err := filepath.EvalSymlinks(file); err == nil {
		file = path
	} else if folder, err := filepath.EvalSymlinks(filepath.Dir(file)); err == nil {
		file = filepath.Join(folder, filepath.Base(file))
	}
	if path, err := filepath.Abs(file); err == nil {
		return path
	}
	return file
}
