package sqlite

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// The drive of a path of Windows is no host, and a path of others stays what it is.
func TestDSN(t *testing.T) {
	assert.Contains(t, dsn("C:/data/a b.db", "deferred"), "file:///C:/data/a%20b.db?")
	assert.Contains(t, dsn("/data/agent.db", "deferred"), "file:///data/agent.db?")
}
