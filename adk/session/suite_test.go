package session_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/adk/session"
)

// SES-27: the store in memory passes the suite.
func TestMemoryStore(t *testing.T) {
	assert.NoError(t, session.TestStore(func() session.Store { return newWorld(t).kept.Sessions() }))
}

// careless are stores that each have one fault.
type careless struct {
	session.Store
	of string
}

func (c careless) Claim(ctx context.Context, id session.SessionID, owner string, now, until time.Time) (session.Claim, error) {
	if c.of == "claims" {
		if err := c.RaiseEpochs(ctx); err != nil {
			return session.Claim{}, err
		}
	}
	return c.Store.Claim(ctx, id, owner, now, until)
}

func (c careless) Commit(ctx context.Context, claim session.Claim, change session.Commit) error {
	switch c.of {
	case "deletes":
		change.Deletes = nil
	case "children":
		change.Children = nil
	case "writes":
		change.Writes = nil
	}
	return c.Store.Commit(ctx, claim, change)
}

func (c careless) Fail(ctx context.Context, claim session.Claim, f session.Failure) error {
	if c.of == "final" {
		f.Final = false
	}
	return c.Store.Fail(ctx, claim, f)
}

func (c careless) Erase(ctx context.Context, id session.SessionID, now time.Time) (int64, error) {
	if c.of == "erasing" {
		return 0, nil
	}
	return c.Store.Erase(ctx, id, now)
}

// SES-27: the suite finds each fault of a store, and names the rule that it breaks.
func TestCarelessStores(t *testing.T) {
	for of, rule := range map[string]string{"claims": "SES-11", "deletes": "SES-20", "children": "SES-20", "writes": "SES-23", "final": "SES-21", "erasing": "SES-40"} {
		err := session.TestStore(func() session.Store { return careless{newWorld(t).kept.Sessions(), of} })
		assert.ErrorContains(t, err, rule, of)
	}
}
