package postgrestest

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Versions are compared as numbers: 10 is newer than 9.
func TestNewest(t *testing.T) {
	assert.Equal(t, "/usr/lib/postgresql/16/bin/initdb", newest([]string{
		"/usr/lib/postgresql/16/bin/initdb", "/usr/lib/postgresql/9.6/bin/initdb", "/usr/lib/postgresql/10/bin/initdb", "/usr/lib/postgresql/own/bin/initdb"}))
	assert.Equal(t, "/usr/lib/postgresql/9.6/bin/initdb", newest([]string{"/usr/lib/postgresql/9.6/bin/initdb", "/usr/lib/postgresql/9.5/bin/initdb"}))
}
