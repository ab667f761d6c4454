package schema

import (
	"encoding/json"
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/internal/patience"
)

// held returns the number of schemas that are held, or were at the last sweep.
func held() (n int) {
	closedSchemas.Range(func(any, any) bool { n++; return true })
	return n
}

// TOL-2: a schema's text is compiled once while anything that was made of it is in use, and is not
// kept longer than that.
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
	assert.True(t, patience.Until(func() bool { // swept schemas are removed a little later, on a goroutine of the runtime
		runtime.GC()
		return held() < more
	}))
	last, _, err := CompileClosed(text(0))
	require.NoError(t, err)
	assert.Same(t, first, last, "it is held still")
	runtime.KeepAlive(first)
}
