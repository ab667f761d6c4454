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

// closure matches the name of a closure, including the function that contains it. If that function
// was inlined, the compiler names the closure after the function's caller, with the caller's
// package in front: pkg.Caller.Function.func1.
var closure = regexp.MustCompile(`((?:\(\*?\w+(?:\[\.\.\.\])?\)\.)?\w+(?:\[\.\.\.\])?)((?:\.(?:func|gowrap|deferwrap)\d+|-range\d+|\.\d+)+)$`)

// ofFiles is the path of a program that was built from files and not from a package.
const ofFiles = "command-line-arguments"

// Named returns a function with the path of the package that it is written in. For some closures
// that is not the package in the runtime's name, so the file decides.
func Named(function, file string) string {
	if !strings.Contains(function, ".func") && !strings.Contains(function, "-range") && !strings.Contains(function, "wrap") {
		return function
	}
	said, written := packageOf(function), packageOfFile(file)
	if strings.HasSuffix(said, "_test") && strings.HasSuffix(file, "_test.go") {
		said = strings.TrimSuffix(said, "_test") // is in the same folder as the package that it tests
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

// packageOfFile returns the path of the package of a file, or "" if it cannot be found.
func packageOfFile(file string) string {
	dir := path.Dir(filepath.ToSlash(file))
	if _, vendored, ok := strings.Cut(dir, "/vendor/"); ok {
		return vendored
	}
	_, cached, ok := strings.Cut(dir, "/pkg/mod/")
	if !ok && isWhole(filepath.ToSlash(file)) {
		return strings.TrimPrefix(packageOfFolder(dir), "std/")
	}
	// In the module cache, and with -trimpath, a path begins with that of the module and its
	// version.
	module, rest, ok := strings.Cut(cmp.Or(cached, dir), "@")
	if !ok {
		return dir
	}
	_, below, _ := strings.Cut(rest, "/")
	return path.Join(module, below)
}

// isWhole reports whether a path with slashes is absolute on the system that the program was built
// on, which may differ from the system that it runs on.
func isWhole(path string) bool {
	return strings.HasPrefix(path, "/") || len(path) > 2 && path[1] == ':' && path[2] == '/'
}

var folders sync.Map // paths of packages, by their folders

// packageOfFolder returns the path of the package in a folder, according to the module that
// contains it. It returns "" if there is no module, for example because the program runs on another
// machine.
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
