package postgres_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/adk/session"
	"github.com/adkreplay/adkreplay/adk/storage"
	"github.com/adkreplay/adkreplay/internal/postgrestest"
	"github.com/adkreplay/adkreplay/internal/storagetest"
)

// SES-27: sessions on Postgres pass the suite of all stores.
func TestSessionStore(t *testing.T) {
	db := open(t, postgrestest.Database(t), storage.Config{})
	assert.NoError(t, session.TestStore(db.Sessions))
	assert.NoError(t, db.Close())
}

// SES-10, SES-11, SES-12, SES-20: hosts with connections of their own settle each delivery
// once.
func TestHostsOfOneDatabase(t *testing.T) {
	dsn := postgrestest.Database(t)
	one, other := open(t, dsn, storage.Config{}), open(t, dsn, storage.Config{})
	storagetest.SettleAll(t, []*session.Host{storagetest.SessionHost(t, one.Storage(), one.Sessions()), storagetest.SessionHost(t, other.Storage(), other.Sessions())}, one.Storage())
	assert.NoError(t, one.Close())
	assert.NoError(t, other.Close())
}

// SES-13, SES-28: hosts of two releases share a database.
func TestTwoReleases(t *testing.T) {
	db := open(t, postgrestest.Database(t), storage.Config{})
	storagetest.TwoReleases(t, db.Storage(), db.Sessions())
	assert.NoError(t, db.Close())
}
