-- +goose Up
create table spool_entries (
	key        text    not null primary key,
	bytes      integer not null,
	lines      integer not null,
	sha256     text not null, -- in lowercase hexadecimal
	written_at integer not null -- milliseconds, UTC
) strict;

-- The bodies, in pieces of at most 256 KiB.
create table spool_chunks (
	key    text    not null,
	sha256 text not null, -- of the whole body
	n      integer not null,
	data   blob    not null,
	primary key (key, sha256, n)
) strict;
