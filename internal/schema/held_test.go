package schema

import (
	"encoding/json"
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// held counts the schemas that are held, or were when last swept.
func held() (n int) {
	closedSchemas.Range(func(any, any) bool { n++; return true })
	return n
}

// TOL-2: one text is compiled once, while somebody holds what was made of it, and is not
// kept for longer.
func TestCompileClosedOnce(t *testing.T) {
	text := func(i int) json.RawMessage {
		return fmt.Appendf(nil, `{"type": "object", "properties": {"once%d": {"type": "string"}}}`, i)
	}
	first, closed, err := CompileClosed(text(0))
	require.NoError(t, err)
	again, closedAgain, err := CompileClosed(text(0))
	require.NoError(t, err)
	assert.Same(t, first, again)
	assert.Equal(t, closed, closedAgain)

	const more = 200
	for i := range more {
		_, _, err := CompileClosed(text(1 + i))
		require.NoError(t, err)
	}
	for range 100 { // what is swept is taken away a little later, on a goroutine of the runtime
		runtime.GC()
		if held() < more {
			break
		}
		runtime.Gosched()
	}
	assert.Less(t, held(), more)
	last, _, err := CompileClosed(text(0))
	require.NoError(t, err)
	assert.Same(t, first, last, "it is held still")
	runtime.KeepAlive(first)
}
