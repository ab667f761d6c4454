// Package database keeps the records of turns in a database, by database/sql alone: SQLite
// for one machine, Postgres for many. Packages sqlite and postgres bring a driver each, and
// are what most people call.
//
// # The words
//
// A source ([Source]) is an opened database with the SQL that it speaks ([Dialect]). A
// database ([DB]) is a storage on one: its tables are records, positions (where the next
// record of a collection stands), spool_entries and spool_chunks (bodies of media),
// sessions, session_context and deliveries (package session),
// schema_compat and goose_db_version. Give it a database, or
// a schema, of its own.
//
// # The way through
//
//  1. [Open] brings the tables to this release, under a lock, unless [Config].NoMigrate says
//     that somebody else does. Tables that are too new for this release are E_STORAGE_SCHEMA,
//     and are not touched. A release can be taken back: what a migration adds, the release
//     before it leaves alone.
//  2. [DB.Storage] is for the config of a runner. Who has no tenants and sessions says so:
//     Config.Strict is new(false). Databases are strict unless told otherwise.
//  3. Each obligation is one transaction. What a database refuses because others are busy is
//     tried again, five times within the context, and then is E_STORAGE_BUSY.
//  4. [DB.Tx] makes several changes at once, and [DB.Spool] keeps bodies of media: put
//     artifact.Spooling with it around the storage.
//  5. [DB.Sessions] keeps sessions beside the records: a delivery, the values that its turn
//     has set and the records that it has stored are one transaction.
//
// A row of records can be read with plain SQL: the body is the record's JSON, byte for byte.
package database
