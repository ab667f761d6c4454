package codeplace

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A closure that was written in another package than that of its caller stands in a file of
// that package, whoever has its name.
func TestClosuresInThePlaceOfACall(t *testing.T) {
	_, here, _, _ := runtime.Caller(0)
	const own, room = "github.com/adkreplay/adkreplay/", "github.com/adkreplay/adkreplay/internal/codeplace"
	for _, c := range [][3]string{
		{own + "adk.Run.New.func1", here, room + ".New.func1"},
		{own + "adk.Run.(*Stacks).Here.func2.1", here, room + ".(*Stacks).Here.func2.1"},
		{own + "adk.Run.List[...].func1", here, room + ".List[...].func1"},
		{own + "adk.Run", here, own + "adk.Run"}, // no closure
		{room + ".Run.New.func1", here, room + ".Run.New.func1"},
		{room + "_test.TestRun.func1", here, room + "_test.TestRun.func1"},
		{"example.org/a.Run.New.func1", "example.org/a/b/b.go", "example.org/a/b.New.func1"}, // with -trimpath
		{"example.org/a.Run.New.func1", "example.org/b/v2@v2.0.1/deep/b.go", "example.org/b/v2/deep.New.func1"},
		{"example.org/a.Run.New.func1", "/src/go/pkg/mod/example.org/b/v2@v2.0.1/b.go", "example.org/b/v2.New.func1"},
		{"example.org/a.Run.New.func1", "/src/a/vendor/example.org/b/b.go", "example.org/b.New.func1"},
		{"example.org/a.Run.New.func1", "/nowhere/b/b.go", "example.org/a.Run.New.func1"}, // far from its source
	} {
		assert.Equal(t, c[2], named(c[0], c[1]), c[0])
	}
}
