// Package database keeps the records of turns in a database, using only database/sql: SQLite for
// one machine, Postgres for many. Packages sqlite and postgres add a driver each; most programs use
// one of these.
//
// # The words
//
// A source ([Source]) is an opened database with its SQL dialect ([Dialect]). A database ([DB]) is
// a storage on a source. Its tables are records, positions (the next record's position in each
// collection), spool_entries and spool_chunks (bodies of media), sessions, session_context and
// deliveries (package session), schema_compat and goose_db_version. Use a database, or a schema,
// that contains nothing else.
//
// # The way through
//
//  1. [Open] migrates the tables to this release, under a lock, unless [Config].NoMigrate says
//     that another program does. Tables that are too new for this release are E_STORAGE_SCHEMA
//     and stay untouched. A release can be rolled back: the release before ignores what a
//     migration adds.
//  2. [DB.Storage] is for the config of a runner. Databases are strict by default; without
//     tenants and sessions, set Config.Strict to new(false).
//  3. Each obligation is one transaction. If a database refuses one because others are busy, it
//     is tried five more times within the context, and then is E_STORAGE_BUSY.
//  4. [DB.Tx] makes several changes at once. [DB.Spool] keeps bodies of media: put
//     artifact.Spooling with it around the storage.
//  5. [DB.Sessions] keeps sessions in the same database: a delivery, the values that its turn
//     has set and the records that it has stored are one transaction.
//
// Records can be read with plain SQL: the body is the record's JSON, byte for byte.
package database
