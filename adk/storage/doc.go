// Package storage keeps the records of turns: in memory, in files, in SQLite, in Postgres.
//
// # The words
//
// An obligation is one of the things that an adk.Storage does. A partition
// ([Partition]) is whose records it sees: those of a session of a tenant. A place ([Place])
// is a collection of a partition, and a row ([Row]) a record there, as bytes: the record's
// own JSON, so that its digest is the same whatever it was kept in. [Rows] are what keeps
// rows, and [New] makes the obligations of them.
//
// # The way through
//
//  1. Choose where: package memory for tests, files for one process, sqlite for one machine,
//     postgres for many. All take a [Config], and give equal answers.
//  2. Put the tenant and the session into the stash of the raw turn, at [StashTenant] and
//     [StashSession], or say in [Config].Partition where they are. No obligation sees the
//     records of another tenant, nor those of another session but of the collections that
//     a tenant's sessions share ([Config].Share).
//     What a user has said is kept before the turn that answers it, or by a middleware of
//     its input: outside of turns the obligations are called with [Partition.Scope].
//  3. A fetch gives records in the order in which their keys came. Replacing one keeps its
//     place. [Config].Limit bounds how many of a long session are given.
//  4. Each obligation is done, or it failed and changed nothing. What is fetched is what
//     was stored: a record whose bytes have changed is E_STORAGE_CORRUPT.
//  5. Bodies of media are not records: artifact.Spooling around the storage keeps them in a
//     spool, and [Config].Spool gives the readers back. A record with an artifact whose body
//     nobody keeps is E_NOT_A_SPOOL_READER, and is not stored. Package chat makes an artifact
//     of each text that a tool gives, so that with files and databases it needs a spool:
//     artifact.NewDirSpool, DB.Spool of a database, or another. Package memory needs none.
//  6. A storage of one's own does the two methods of [Rows], or all obligations by itself;
//     fakes.TestStorageWith checks it.
package storage
