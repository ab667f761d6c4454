package golden

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/internal/shell"
)

func TestCommand(t *testing.T) {
	assert.Equal(t, `go test ./replay/golden -run '^TestA$/^b_\(c\)$' -update`, command("TestA/b_(c)", "-update"))
	assert.Equal(t, `go test ./replay/golden -run '^TestA$/^it'\''s$' -update`, command("TestA/it's", "-update"))
	t.Chdir("../..")
	assert.Equal(t, `go test . -run '^TestA$' -update`, command("TestA", "-update"))
	t.Chdir(t.TempDir())
	assert.Equal(t, `go test . -run '^TestA$' -update`, command("TestA", "-update"))
}

// Each level of a pattern matches the test's own name and no longer name that contains it.
func TestPattern(t *testing.T) {
	for _, name := range []string{"TestA", "TestA/b.c+", "TestA/b[1]/#00"} {
		levels := strings.Split(name, "/")
		for i, one := range strings.Split(shell.TestPattern(name), "/") {
			assert.Regexp(t, one, levels[i])
			assert.False(t, regexp.MustCompile(one).MatchString(levels[i]+"x"))
		}
	}
}
