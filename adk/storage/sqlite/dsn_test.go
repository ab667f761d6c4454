package sqlite

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// A drive letter in a Windows path is not taken for a host, and other paths stay unchanged.
func TestDSN(t *testing.T) {
	assert.Contains(t, dsn("C:/data/a b.db", "deferred"), "file:///C:/data/a%20b.db?")
	assert.Contains(t, dsn("/data/agent.db", "deferred"), "file:///data/agent.db?")
}
