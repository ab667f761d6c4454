package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk/session"
	"github.com/adkreplay/adkreplay/adk/storage"
	"github.com/adkreplay/adkreplay/internal/storagetest"
)

// SES-27: sessions on SQLite pass the suite of all stores.
func TestSessionStore(t *testing.T) {
	db := open(t, filepath.Join(storagetest.TempDir(t), "a.db"), storage.Config{})
	assert.NoError(t, session.TestStore(db.Sessions))
	assert.NoError(t, db.Close())
}

// SES-10, SES-11, SES-12, SES-20: two hosts, each with the file open for itself, settle each
// delivery once.
func TestHostsOfOneFile(t *testing.T) {
	path := filepath.Join(storagetest.TempDir(t), "a.db")
	one, other := open(t, path, storage.Config{}), open(t, path, storage.Config{})
	storagetest.SettleAll(t, []*session.Host{storagetest.SessionHost(t, one.Storage(), one.Sessions()), storagetest.SessionHost(t, other.Storage(), other.Sessions())}, one.Storage())
	assert.NoError(t, one.Close())
	assert.NoError(t, other.Close())
}

// SES-20: a record that the database refuses leaves the delivery, the values and the revision
// as they were.
func TestCommitWithARefusedRecord(t *testing.T) {
	path := filepath.Join(storagetest.TempDir(t), "a.db")
	db := open(t, path, storage.Config{})
	raw := plainSQL(t, path)
	h := storagetest.SessionHost(t, db.Storage(), db.Sessions())
	_, err := raw.Exec("create trigger no before insert on records begin select raise(abort, 'no room'); end")
	require.NoError(t, err)
	d := session.Delivery{Tenant: "shop", Session: "one", ID: "a", Kind: "numbers", Payload: []byte(`1`)}
	_, err = h.Deliver(t.Context(), d)
	require.ErrorContains(t, err, "no room")
	state, err := h.State(t.Context(), "shop", "one")
	require.NoError(t, err)
	assert.Zero(t, state.Revision)
	assert.Empty(t, state.Keys)
	_, err = raw.Exec("drop trigger no")
	require.NoError(t, err)
	o, err := h.Deliver(t.Context(), d)
	require.NoError(t, err)
	assert.Equal(t, 2, o.Attempt)
	assert.NoError(t, db.Close())
}
