package database

import (
	"context"
	"database/sql"
	"embed"
	"io/fs"
	"strings"

	goosedb "github.com/pressly/goose/v3/database"
)

// Source is a database that was opened with some driver.
type Source struct {
	// Dialect is its SQL dialect; required.
	Dialect Dialect
	// Writer is the pool for writing; required. For SQLite it has one connection, and begins its
	// transactions in immediate mode.
	Writer *sql.DB
	// Reader is the pool for reading; nil means Writer.
	Reader *sql.DB
	// Busy reports whether a driver's error says that others were busy, so that a retry may
	// succeed; nil means that no error does.
	Busy func(error) bool
	// Pipeline runs statements one after the other in one transaction, all or nothing, in one round
	// trip. It is for databases behind a network, and is called only with statements of package
	// database. Nil sends them one at a time.
	Pipeline func(ctx context.Context, all []Statement) error
	// Lock keeps other processes from migrating until unlock is called. Nil is for a process that
	// is alone, or that never migrates.
	Lock func(ctx context.Context) (unlock func() error, err error)
}

// Statement is a statement for Source.Pipeline.
type Statement struct {
	SQL  string
	Args []any
	// Take is called for each row of the result; nil ignores rows.
	Take func(scan func(into ...any) error) error
}

// Dialect is the SQL of a database: SQLite or Postgres.
type Dialect struct{ *dialect }

// The dialects.
var (
	SQLite = Dialect{&dialect{goose: goosedb.DialectSQLite3, folder: "migrations/sqlite", hasTable: "select count(*) from sqlite_master where type = 'table' and name = $1",
		words: strings.NewReplacer("$", "?", "{now}", "cast(unixepoch('subsec') * 1000 as integer)", "{for update}", "")}}
	Postgres = Dialect{&dialect{goose: goosedb.DialectPostgres, folder: "migrations/postgres", hasTable: "select count(*) from pg_class where oid = to_regclass($1)",
		words:    strings.NewReplacer("{now}", "(extract(epoch from clock_timestamp()) * 1000)::bigint", "{for update}", "for update"),
		putAlone: putAlone, lockSession: "select pg_advisory_xact_lock(hashtextextended($1::text || chr(1) || $2::text, 0))"}}
)

// dialect is what differs between databases.
type dialect struct {
	goose  goosedb.Dialect
	folder string // of the migrations
	// words replaces what the dialect writes differently from the statements below.
	words *strings.Replacer
	// hasTable counts the tables with a name. putAlone stores a record in one statement; it is set
	// for databases behind a network. lockSession locks a session until the transaction ends; it is
	// set for databases with several concurrent writers.
	hasTable, putAlone, lockSession string
}

// sql returns a statement in the dialect's form.
func (d *dialect) sql(statement string) string { return d.words.Replace(statement) }

//go:embed migrations
var migrationFiles embed.FS

func (d *dialect) migrations() fs.FS {
	files, err := fs.Sub(migrationFiles, d.folder)
	if err != nil {
		panic(err) // the files are embedded
	}
	return files
}

// The statements, in the form for Postgres.
const (
	selectRecords = `select key_hash, body, digest from records where tenant = $1 and session = $2 and collection = $3 order by pos`
	selectLast    = selectRecords + ` desc limit $4`
	// selectKnown reads no bodies.
	selectKnown = `select key_hash, null, null from records where tenant = $1 and session = $2 and collection = $3 and key_hash in (`

	// takePositions reserves $4 positions of a collection, and locks it. putRecord takes the reserved
	// position that has $5 others behind it.
	takePositions = `insert into positions (tenant, session, collection, next) values ($1, $2, $3, $4)
		on conflict (tenant, session, collection) do update set next = positions.next + excluded.next`
	putRecord = `insert into records (tenant, session, collection, key_hash, pos, body, digest, turn_id, dispatch_id, written_at)
		select $1, $2, $3, $4, next - $5, $6, $7, $8, $9, $10 from positions where tenant = $1 and session = $2 and collection = $3` + onConflict
	onConflict = ` on conflict (tenant, session, collection, key_hash) do update set body = excluded.body, digest = excluded.digest,
		turn_id = excluded.turn_id, dispatch_id = excluded.dispatch_id, written_at = excluded.written_at`
	// putAlone is takePositions and putRecord in one statement.
	putAlone = `with position as (insert into positions (tenant, session, collection, next) values ($1, $2, $3, 1)
		on conflict (tenant, session, collection) do update set next = positions.next + 1 returning next)
		insert into records (tenant, session, collection, key_hash, pos, body, digest, turn_id, dispatch_id, written_at)
		select $1, $2, $3, $4, position.next, $5, $6, $7, $8, $9 from position` + onConflict
	deleteRecord = `delete from records where tenant = $1 and session = $2 and collection = $3 and key_hash = $4`

	putEntry = `insert into spool_entries (key, bytes, lines, sha256, written_at) values ($1, $2, $3, $4, $5) on conflict (key)
		do update set bytes = excluded.bytes, lines = excluded.lines, sha256 = excluded.sha256, written_at = excluded.written_at`
	putChunk      = `insert into spool_chunks (key, sha256, n, data) values ($1, $2, $3, $4)`
	selectEntry   = `select bytes, sha256 from spool_entries where key = $1`
	selectEntries = `select key, bytes, lines, sha256, written_at from spool_entries where key >= $1 and key > $2 order by key limit $3`
	selectChunk   = `select data from spool_chunks where key = $1 and sha256 = $2 and n = $3`
	deleteEntry   = `delete from spool_entries where key = $1`
	deleteChunks  = `delete from spool_chunks where key = $1`

	selectMinVersion = `select max(min_version) from schema_compat`
	selectVersion    = `select coalesce(max(version_id), 0) from goose_db_version where is_applied`
)
