package golden

import (
	"os"
	"path/filepath"

	"github.com/adkreplay/adkreplay/internal/shell"
)

// command returns the command that runs one test again, from the root of its module.
func command(test, flags string) string {
	return "go test " + packagePath() + " -run " + shell.Quote(shell.TestPattern(test)) + " " + flags
}

// packagePath returns the path of the package under test in the form that the go command takes. It
// relies on go test running a test in its package's folder, and returns "." if there is no module.
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
