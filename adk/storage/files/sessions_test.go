package files_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/session"
	"github.com/adkreplay/adkreplay/adk/storage"
	"github.com/adkreplay/adkreplay/adk/storage/files"
	"github.com/adkreplay/adkreplay/internal/storagetest"
)

// SES-27: the session store in files passes the suite of all stores.
func TestSessionStore(t *testing.T) {
	dir, n := storagetest.TempDir(t), 0
	assert.NoError(t, session.TestStore(func() session.Store {
		n++
		d := open(t, filepath.Join(dir, fmt.Sprint(n)), storage.Config{})
		t.Cleanup(func() { assert.NoError(t, d.Close()) })
		return d.Sessions()
	}))
}

// SES-10, SES-20, STO-12: after the directory is opened again, sessions and records are as they were,
// and go on.
func TestSessionsLast(t *testing.T) {
	dir := storagetest.TempDir(t)
	d := open(t, dir, storage.Config{})
	h := storagetest.SessionHost(t, d.Storage(), d.Sessions())
	storagetest.SettleAll(t, []*session.Host{h, h}, d.Storage())
	before, err := h.State(t.Context(), "shop", "s1")
	require.NoError(t, err)
	require.NoError(t, h.EraseSession(t.Context(), "shop", "s2"))
	require.NoError(t, d.Close())

	d = open(t, dir, storage.Config{})
	h = storagetest.SessionHost(t, d.Storage(), d.Sessions())
	after, err := h.State(t.Context(), "shop", "s1")
	require.NoError(t, err)
	assert.Equal(t, before.Keys, after.Keys)
	assert.Equal(t, before.Revision, after.Revision)
	require.Len(t, after.Deliveries, len(before.Deliveries))
	for i := range before.Deliveries {
		assert.Equal(t, before.Deliveries[i].Outcome, after.Deliveries[i].Outcome)
	}
	again := before.Deliveries[0].Delivery
	again.Kind = "numbers"
	o, err := h.Deliver(t.Context(), again)
	require.NoError(t, err)
	assert.True(t, o.Duplicate)
	again.ID = "later"
	o, err = h.Deliver(t.Context(), again)
	require.NoError(t, err)
	assert.EqualValues(t, 6, o.Revision)
	again.Session = "s2"
	_, err = h.Deliver(t.Context(), again)
	assert.ErrorIs(t, err, adk.E_SESSION_ERASED)
	require.NoError(t, d.Close())
}

// STO-2, SES-13: a changed file is reported by its name when the directory is opened.
func TestCorruptSessions(t *testing.T) {
	for _, pattern := range []string{"session.json", "values/*", "deliveries/*"} {
		dir := storagetest.TempDir(t)
		d := open(t, dir, storage.Config{})
		h := storagetest.SessionHost(t, d.Storage(), d.Sessions())
		_, err := h.Deliver(t.Context(), session.Delivery{Tenant: "shop", Session: "one", ID: "a", Kind: "numbers", Payload: []byte(`1`)})
		require.NoError(t, err)
		require.NoError(t, d.Close())
		found, err := filepath.Glob(filepath.Join(dir, ".sessions", "shop", "one", pattern))
		require.NoError(t, err)
		require.Len(t, found, 1, pattern)
		content, err := os.ReadFile(found[0])
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(found[0], append(content, ' '), 0o600))
		_, err = files.Open(dir, storage.Config{})
		assert.ErrorIs(t, err, adk.E_STORAGE_CORRUPT, pattern)
		assert.ErrorContains(t, err, filepath.Base(found[0]))
	}
}

// SES-9, SES-20: when the disk is full, a delivery that was not accepted is named in the error and leaves
// nothing behind. When there is room again it counts, like all others.
func TestSessionsOnAFullDisk(t *testing.T) {
	dir := storagetest.SmallDisk(t)
	storagetest.FillDiskBySessions(t, dir, func() (storagetest.Opened, adk.Storage, session.Store) {
		d := open(t, filepath.Join(dir, "kept"), storage.Config{})
		return d, d.Storage(), d.Sessions()
	})
}

// SES-23: a fetch after a write reads no more than the limit of its collection.
func TestFetchBehindWrites(t *testing.T) {
	d, err := files.Open(t.TempDir(), storage.Config{})
	require.NoError(t, err)
	storagetest.FetchBehindWrites(t, d, d.Sessions())
	assert.NoError(t, d.Close())
}
