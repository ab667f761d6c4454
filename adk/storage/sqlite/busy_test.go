package sqlite

import (
	"database/sql"
	"errors"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/internal/storagetest"
)

// STO-11: the errors of SQLite about a file that another connection writes count as busy, and no
// other errors do.
func TestBusy(t *testing.T) {
	path := filepath.Join(storagetest.TempDir(t), "a.db")
	one, err := sql.Open("sqlite", path+"?_txlock=immediate")
	require.NoError(t, err)
	other, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	tx, err := one.Begin()
	require.NoError(t, err)
	_, err = other.Exec("create table a (b)")
	assert.True(t, isBusy(err), "%v", err)
	require.NoError(t, tx.Rollback())
	_, err = other.Exec("create table a (b)")
	require.NoError(t, err)
	_, err = other.Exec("create table a (b)")
	assert.Error(t, err)
	assert.False(t, isBusy(err), "%v", err)
	assert.False(t, isBusy(errors.New("database is locked")))
	assert.NoError(t, errors.Join(one.Close(), other.Close()))
}
