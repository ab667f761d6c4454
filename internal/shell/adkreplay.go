package shell

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
)

// The paths of our module and of its command.
const (
	ours    = "github.com/adkreplay/adkreplay"
	command = ours + "/cmd/adkreplay"
)

// Adkreplay is the command adkreplay with these arguments, as it runs where the reader
// is: as it was called; as a tool of the module, or of our own; as it is found; else by go
// run, as its module replaces ours, or in the version of this program.
func Adkreplay(args ...string) string {
	words := []string{caller()}
	for _, arg := range args {
		words = append(words, Quote(arg))
	}
	return strings.Join(words, " ")
}

// caller is how somebody who is where this program runs calls the command.
func caller() string {
	r := reader{args: os.Args, lookPath: exec.LookPath}
	r.dir, _ = os.Getwd() // where that cannot be told, there is no module
	r.program, _ = debug.ReadBuildInfo()
	return r.caller()
}

// reader is what is known of where somebody reads what this program prints.
type reader struct {
	dir      string           // the working directory
	args     []string         // of the program
	program  *debug.BuildInfo // nil where it does not know
	lookPath func(string) (string, error)
}

// caller is how the reader calls the command.
func (r reader) caller() string {
	module := moduleOf(r.dir)
	switch {
	case r.program != nil && r.program.Path == command && !isOfGo(r.args[0]):
		return Quote(r.args[0])
	case module != nil && slices.ContainsFunc(module.Tool, func(t *modfile.Tool) bool { return t.Path == command }):
		return "go tool adkreplay"
	case module != nil && module.Module != nil && module.Module.Mod.Path == ours:
		return "go run " + command
	case module != nil && slices.ContainsFunc(module.Replace, isOursHere):
		return "go run -mod=mod " + command // no proxy has it, and go.sum may lack what the command wants
	}
	if _, err := r.lookPath("adkreplay"); err == nil {
		return "adkreplay"
	}
	return "go run " + command + r.version()
}

// isOursHere reports whether a replacement has our module in a folder.
func isOursHere(r *modfile.Replace) bool { return r.Old.Path == ours && r.New.Version == "" }

// version is that of this program's adkreplay, as go run takes it.
func (r reader) version() string {
	if r.program == nil {
		return "@latest"
	}
	for _, m := range append([]*debug.Module{&r.program.Main}, r.program.Deps...) {
		if m.Path == ours && m.Replace == nil && strings.HasPrefix(m.Version, "v") && !strings.Contains(m.Version, "+dirty") {
			return "@" + m.Version
		}
	}
	return "@latest"
}

// ModuleRoot is the folder of the module that a folder is in; empty where it is in none.
func ModuleRoot(dir string) string {
	for ; ; dir = filepath.Dir(dir) {
		if info, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil && !info.IsDir() {
			return dir
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}

// moduleOf is the module that a folder is in; nil where it is in none that can be read.
func moduleOf(dir string) *modfile.File {
	if dir = ModuleRoot(dir); dir == "" {
		return nil
	}
	name := filepath.Join(dir, "go.mod")
	text, err := os.ReadFile(name)
	if err != nil {
		return nil
	}
	parsed, err := modfile.Parse(name, text, nil)
	if err != nil {
		return nil
	}
	return parsed
}

// isOfGo reports whether the go command has built a program to run it, or as a test: it puts
// that into a folder of its work and, from when it runs it again, into its cache, and takes it
// away later.
func isOfGo(program string) bool {
	cache := os.Getenv("GOCACHE")
	if dir, err := os.UserCacheDir(); cache == "" && err == nil {
		cache = filepath.Join(dir, "go-build")
	}
	return isTest(program) || workOfGo.MatchString(filepath.ToSlash(program)) || cache != "" && within(cache, program)
}

// workOfGo is where the go command works, wherever its folder for temporary files is.
var workOfGo = regexp.MustCompile(`/go-build\d+/b\d+/`)

// within reports whether a file is below a folder.
func within(dir, file string) bool {
	path, err := filepath.Rel(dir, file)
	return err == nil && filepath.IsLocal(path)
}

// Operand is a file as a command takes it among its arguments: the name of one that begins
// with a dash would be a flag. A dash alone is the standard input.
func Operand(file string) string {
	if strings.HasPrefix(file, "-") && file != "-" {
		return "./" + file
	}
	return file
}

// FromModule is a file as commands find it, and take it, that are run from the root of the
// module: tests are run in the folder of their package, and whoever reads what they print is
// not there. It is the file as it is where this is no test, or the file is not in the module.
func FromModule(file string) string { return Operand(fromModule(file)) }

func fromModule(file string) string {
	here, err := os.Getwd()
	root := ModuleRoot(here)
	if err != nil || root == "" || !IsTest() || filepath.IsAbs(file) {
		return file
	}
	path, err := filepath.Rel(root, filepath.Join(here, file))
	if err != nil || !filepath.IsLocal(path) {
		return file
	}
	return filepath.ToSlash(path)
}

// IsTest reports whether this program is one of go test, of a package main too.
func IsTest() bool {
	info, known := debug.ReadBuildInfo()
	return known && strings.HasSuffix(info.Path, ".test") || isTest(os.Args[0])
}

func isTest(program string) bool {
	return strings.HasSuffix(strings.TrimSuffix(program, ".exe"), ".test")
}
