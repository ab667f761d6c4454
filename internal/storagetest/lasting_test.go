package storagetest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/adk/storage"
)

// taking are rows that accept everything.
type taking struct{ storage.Rows }

func (taking) Write(context.Context, ...storage.Change) error { return nil }

// A broken write does not modify the changes of its caller.
func TestBrokenWriteLeavesTheCallersChanges(t *testing.T) {
	all := []storage.Change{{Row: storage.Row{TurnID: "first"}}, {Row: storage.Row{TurnID: "second"}}}
	l := &Lasting{}
	l.breakNext()
	assert.ErrorContains(t, breakable{taking{}, l}.Write(t.Context(), all[:1]...), "nobody takes")
	assert.Equal(t, "second", all[1].Row.TurnID)
}
