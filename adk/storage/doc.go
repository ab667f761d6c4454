// Package storage keeps the records of turns: in memory, in files, in SQLite, in Postgres.
//
// # The words
//
// An obligation is one of the operations of an adk.Storage. A partition ([Partition]) says whose
// records an obligation sees: those of a session of a tenant. A place ([Place]) is a collection of
// a partition. A row ([Row]) is a record in a place, as bytes: the record's own JSON, so that its
// digest is the same in every kind of storage. [Rows] store rows, and [New] makes the obligations
// from them.
//
// # The way through
//
//  1. Choose a kind: package memory for tests, files for one process, sqlite for one machine,
//     postgres for many. All take a [Config], and give equal answers.
//  2. Put the tenant and the session into the stash of the raw turn, at [StashTenant] and
//     [StashSession], or say in [Config].Partition where they are. No obligation sees the records
//     of another tenant. It sees those of another session only in the collections that a tenant's
//     sessions share ([Config].Share). Store what a user has said before the turn that answers
//     it, or in a middleware of its input: outside of turns, call the obligations with
//     [Partition.Scope].
//  3. A fetch returns records in the order in which their keys were first stored. Replacing one
//     keeps its place. [Config].Limit bounds how many records of a long session are returned.
//  4. Each obligation is done completely, or fails and changes nothing. A fetch returns exactly
//     what was stored: a record whose bytes have changed is E_STORAGE_CORRUPT.
//  5. Bodies of media are not records: artifact.Spooling around the storage keeps them in a
//     spool, and [Config].Spool returns their readers. A record with an artifact whose body is
//     kept nowhere is E_NOT_A_SPOOL_READER, and is not stored. Package chat makes an artifact of
//     each text that a tool returns, so with files and databases it needs a spool:
//     artifact.NewDirSpool, DB.Spool of a database, or another. Package memory needs none.
//  6. For a storage of your own, implement the methods of [Rows], or all obligations yourself;
//     fakes.TestStorageWith checks it.
package storage
