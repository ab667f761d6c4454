package memory

import (
	"context"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/session"
	"github.com/adkreplay/adkreplay/adk/storage"
	"github.com/adkreplay/adkreplay/adk/storage/internal/sessionrows"
)

// Sessions returns the store of sessions in this memory: what a turn stores and what its session
// keeps are written at once. Every call returns the same store.
func (m *Memory) Sessions() session.Store { return m.sessions }

// newSessions makes the store of sessions of a memory.
func newSessions(m *Memory) session.Store {
	return sessionrows.Of(&sessionrows.Memory{
		Persist: func(ctx context.Context, c sessionrows.Changes) error { return m.Write(ctx, c.Records...) },
		Mine: func(s adk.Storage) bool {
			plan, ok := storage.PlanOf(s)
			return ok && plan.Rows() == storage.Rows(m)
		},
	})
}
