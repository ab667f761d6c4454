package golden

import (
	"os"
	"path/filepath"

	"github.com/adkreplay/adkreplay/internal/shell"
)

// command is the command that runs one test again, from the root of its module.
func command(test, flags string) string {
	return "go test " + packagePath() + " -run " + shell.Quote(shell.TestPattern(test)) + " " + flags
}

// packagePath is the package under test as the go command takes it: go test runs
// a test in its package's folder. It is "." where no module is found.
func packagePath() string {
	here, err := os.Getwd()
	if err != nil {
		return "."
	}
	for root := here; ; root = filepath.Dir(root) {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			path, _ := filepath.Rel(root, here) // here lies below root
			if path == "." {
				return path
			}
			return "./" + filepath.ToSlash(path)
		}
		if root == filepath.Dir(root) {
			return "."
		}
	}
}
