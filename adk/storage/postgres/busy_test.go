package postgres

import (
	"database/sql"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/internal/postgrestest"
)

// STO-11: the errors of Postgres about rows that another connection holds count as busy, and no
// other errors do.
func TestBusy(t *testing.T) {
	db, err := sql.Open("pgx", postgrestest.Database(t))
	require.NoError(t, err)
	_, err = db.Exec("create table a (b integer); insert into a values (1)")
	require.NoError(t, err)
	first, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelSerializable})
	require.NoError(t, err)
	second, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelSerializable})
	require.NoError(t, err)
	_, err = second.Exec("select * from a")
	require.NoError(t, err)
	_, err = first.Exec("update a set b = 2")
	require.NoError(t, err)
	_, err = db.Exec("select * from a for update nowait")
	assert.True(t, isBusy(err), "%v", err)
	require.NoError(t, first.Commit())
	_, err = second.Exec("update a set b = 3")
	assert.True(t, isBusy(err), "%v", err)
	require.NoError(t, second.Rollback())
	_, err = db.Exec("select * from nothing")
	assert.Error(t, err)
	assert.False(t, isBusy(err), "%v", err)
	assert.False(t, isBusy(errors.New("40001")))
	assert.NoError(t, db.Close())
}
