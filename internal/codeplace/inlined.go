package codeplace

import (
	"cmp"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"golang.org/x/mod/modfile"
)

// closure is the name of a function without one, with the function that it stands in. Where
// that was put in the place of its call, the compiler names the closure by who called, and
// the package in front is the caller's: pkg.Caller.Function.func1.
var closure = regexp.MustCompile(`((?:\(\*?\w+(?:\[\.\.\.\])?\)\.)?\w+(?:\[\.\.\.\])?)((?:\.(?:func|gowrap|deferwrap)\d+|-range\d+|\.\d+)+)$`)

// ofFiles is the path of a program that was built of files and not of a package.
const ofFiles = "command-line-arguments"

// Named is a function with the path of the package that it is written in, which for some
// closures is another than that in front of the name that the runtime has: the file decides.
func Named(function, file string) string {
	if !strings.Contains(function, ".func") && !strings.Contains(function, "-range") && !strings.Contains(function, "wrap") {
		return function
	}
	said, written := packageOf(function), packageOfFile(file)
	if strings.HasSuffix(said, "_test") && strings.HasSuffix(file, "_test.go") {
		said = strings.TrimSuffix(said, "_test") // in one folder with the package that it tests
	}
	if said == "main" {
		_, said = program()
	}
	if written == "" || written == "." || written == said || said == ofFiles {
		return function
	}
	if own := closure.FindString(function); own != "" {
		return written + "." + own
	}
	return function
}

// packageOfFile is the path of the package that a file is of; empty where nothing says it.
func packageOfFile(file string) string {
	dir := path.Dir(filepath.ToSlash(file))
	if _, vendored, ok := strings.Cut(dir, "/vendor/"); ok {
		return vendored
	}
	_, cached, ok := strings.Cut(dir, "/pkg/mod/")
	if !ok && isWhole(filepath.ToSlash(file)) {
		return strings.TrimPrefix(packageOfFolder(dir), "std/")
	}
	// There, and with -trimpath, a path begins with the module's and its version.
	module, rest, ok := strings.Cut(cmp.Or(cached, dir), "@")
	if !ok {
		return dir
	}
	_, below, _ := strings.Cut(rest, "/")
	return path.Join(module, below)
}

// isWhole reports whether a path with slashes begins at the root, of the system that the program was
// built on: that may be another than it runs on.
func isWhole(path string) bool {
	return strings.HasPrefix(path, "/") || len(path) > 2 && path[1] == ':' && path[2] == '/'
}

var folders sync.Map // paths of packages, by their folders

// packageOfFolder is the path of the package in a folder, as the module that it lies in has
// it; empty where there is no module, as where a program runs far from its source.
func packageOfFolder(dir string) string {
	if known, has := folders.Load(dir); has {
		return known.(string)
	}
	pkg := ""
	if text, err := os.ReadFile(filepath.Join(dir, "go.mod")); err == nil {
		pkg = modfile.ModulePath(text)
	} else if above := path.Dir(dir); above != dir && isWhole(above) {
		if pkg = packageOfFolder(above); pkg != "" {
			pkg = path.Join(pkg, path.Base(dir))
		}
	}
	folders.Store(dir, pkg)
	return pkg
}
