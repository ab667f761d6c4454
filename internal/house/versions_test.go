package house_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// required matches a line of a go.mod that requires a module.
var required = regexp.MustCompile(`(?m)^(?:require)?\s+([\w.-]+\.[\w./-]+) (v\S+)`)

// versionsIn returns the versions of each module that the go.mod files below a folder require, each with the
// first file that requires it.
func versionsIn(t *testing.T, root string) map[string]map[string]string {
	t.Helper()
	versions := map[string]map[string]string{}
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Name() != "go.mod" {
			return err
		}
		content, err := os.ReadFile(path)
		for _, found := range required.FindAllStringSubmatch(string(content), -1) {
			module, version := found[1], found[2]
			if versions[module] == nil {
				versions[module] = map[string]string{}
			}
			if versions[module][version] == "" {
				versions[module][version] = path
			}
		}
		return err
	}))
	return versions
}

// The nested modules require the same versions. If two of them require two versions of a module, both are compiled,
// linked and vetted on a fresh machine, and a module such as grpc has sixty packages.
func TestModulesAgree(t *testing.T) {
	all := versionsIn(t, "../..")
	delete(all, "github.com/adkreplay/adkreplay") // they all replace it by the tree
	for module, versions := range all {
		assert.Len(t, versions, 1, "%s has several versions: have all have the highest", module)
	}
}

func TestVersionsIn(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"a": "module x\n\nrequire example.com/one v1.0.0\n\nrequire (\n\texample.com/two v1.1.0\n\texample.com/three/v2 v2.0.0-rc.1 // indirect\n)\n",
		"b": "module y\n\ngo 1.26\n\nrequire (\n\texample.com/two v1.2.0 // indirect\n\texample.com/one v1.0.0\n)\n\nreplace example.com/two => ../two\n",
	} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name, "go.mod"), []byte(content), 0o600))
	}
	a, b := filepath.Join(dir, "a", "go.mod"), filepath.Join(dir, "b", "go.mod")
	assert.Equal(t, map[string]map[string]string{
		"example.com/one": {"v1.0.0": a}, "example.com/two": {"v1.1.0": a, "v1.2.0": b}, "example.com/three/v2": {"v2.0.0-rc.1": a},
	}, versionsIn(t, dir))
}
