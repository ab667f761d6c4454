package codeplace

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// A closure of an SDK that the compiler has put into user code bears the name of that, and
// stands in the SDK's file: it is no line of the program's, wherever modules are kept.
func TestOfAnother(t *testing.T) {
	for file, another := range map[string]bool{
		"/src/agent/agent.go": false,
		"/src@work/agent.go":  false,
		"/src/go/pkg/mod/google.golang.org/genai@v1.77.0/models.go": true,
		"google.golang.org/genai@v1.77.0/models.go":                 true, // with -trimpath
		"/src/agent/vendor/google.golang.org/genai/models.go":       true,
	} {
		assert.Equal(t, another, ofAnother(file), file)
	}
}
