package storagetest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/adk/storage"
)

// taking are rows that take everything.
type taking struct{ storage.Rows }

func (taking) Write(context.Context, ...storage.Change) error { return nil }

// A write that is broken leaves the changes of its caller as they are.
func TestBrokenWriteLeavesTheCallersChanges(t *testing.T) {
	all := []storage.Change{{Row: storage.Row{TurnID: "first"}}, {Row: storage.Row{TurnID: "second"}}}
	l := &Lasting{}
	l.breakNext()
	assert.ErrorContains(t, breakable{taking{}, l}.Write(t.Context(), all[:1]...), "nobody takes")
	assert.Equal(t, "second", all[1].Row.TurnID)
}
