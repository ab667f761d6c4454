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

// The paths of this module and of its command.
const (
	ours    = "github.com/adkreplay/adkreplay"
	command = ours + "/cmd/adkreplay"
)

// Adkreplay returns a command line that runs adkreplay with these arguments in the reader's working
// directory. The command is, in this order: as it was called; as a tool of the module; by go run
// within this module; by go run if the module replaces this one by a folder; as found in PATH; or
// by go run in the version of this program.
func Adkreplay(args ...string) string {
	words := []string{caller()}
	for _, arg := range args {
		words = append(words, Quote(arg))
	}
	return strings.Join(words, " ")
}

// caller returns how to call the command in the working directory of this program.
func caller() string {
	r := reader{args: os.Args, lookPath: exec.LookPath}
	r.dir, _ = os.Getwd() // on an error there is no module
	r.program, _ = debug.ReadBuildInfo()
	return r.caller()
}

// reader is what is known of the environment of the reader of this program's output.
type reader struct {
	dir      string           // the working directory
	args     []string         // of the program
	program  *debug.BuildInfo // nil if the program does not know it
	lookPath func(string) (string, error)
}

// caller returns how the reader calls the command.
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
		return "go run -mod=mod " + command // no proxy has it, and go.sum may lack the command's dependencies
	}
	if _, err := r.lookPath("adkreplay"); err == nil {
		return "adkreplay"
	}
	return "go run " + command + r.version()
}

// isOursHere reports whether a replacement replaces this module by a folder.
func isOursHere(r *modfile.Replace) bool { return r.Old.Path == ours && r.New.Version == "" }

// version returns the version of adkreplay in this program, in the form of go run.
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

// ModuleRoot returns the root folder of the module that contains a folder, or "" if there is none.
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

// moduleOf returns the module that contains a folder, or nil if there is none that can be read.
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

// isOfGo reports whether the go command built a program to run it, or as a test. It puts such
// programs into its temporary folder and, if they are run again, into its cache, and removes them
// later.
func isOfGo(program string) bool {
	cache := os.Getenv("GOCACHE")
	if dir, err := os.UserCacheDir(); cache == "" && err == nil {
		cache = filepath.Join(dir, "go-build")
	}
	return isTest(program) || workOfGo.MatchString(filepath.ToSlash(program)) || cache != "" && within(cache, program)
}

// workOfGo matches the go command's temporary folders.
var workOfGo = regexp.MustCompile(`/go-build\d+/b\d+/`)

// within reports whether a file is below a folder.
func within(dir, file string) bool {
	path, err := filepath.Rel(dir, file)
	return err == nil && filepath.IsLocal(path)
}

// Operand returns a file name as an argument for a command. A name that begins with a dash would be
// taken for a flag; a single dash is the standard input.
func Operand(file string) string {
	if strings.HasPrefix(file, "-") && file != "-" {
		return "./" + file
	}
	return file
}

// FromModule returns a file name for a command that is run from the root of the module. Tests are
// run in the folder of their package, but people who read their output usually are at the root. The
// name is unchanged if this program is not a test, or if the file is outside of the module.
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

// IsTest reports whether this program is a test that go test built.
func IsTest() bool {
	info, known := debug.ReadBuildInfo()
	return known && strings.HasSuffix(info.Path, ".test") || isTest(os.Args[0])
}

func isTest(program string) bool {
	return strings.HasSuffix(strings.TrimSuffix(program, ".exe"), ".test")
}
