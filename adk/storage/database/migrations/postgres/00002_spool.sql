-- +goose Up
create table spool_entries (
	key        text collate "C" not null primary key,
	bytes      bigint not null,
	lines      bigint not null,
	sha256     text not null, -- in lowercase hexadecimal
	written_at bigint not null -- milliseconds, UTC
);

-- The bodies, in pieces of at most 256 KiB.
create table spool_chunks (
	key    text collate "C" not null,
	sha256 text not null, -- of the whole body
	n      bigint not null,
	data   bytea  not null,
	primary key (key, sha256, n)
);
