-- +goose Up
create table schema_compat (
	min_version integer not null -- of the releases that may use these tables
) strict;
insert into schema_compat (min_version) values (1);

-- Where the next record of a collection stands.
create table positions (
	tenant     text    not null,
	session    text    not null,
	collection text    not null,
	next       integer not null,
	primary key (tenant, session, collection)
) strict, without rowid;

create table records (
	tenant      text    not null,
	session     text    not null,
	collection  text    not null,
	key_hash    blob    not null, -- the SHA-256 of the record's key
	pos         integer not null,
	body        blob    not null, -- the record's own JSON, byte for byte
	digest      blob    not null,
	turn_id     text    not null,
	dispatch_id text    not null,
	written_at  integer not null, -- milliseconds, UTC
	primary key (tenant, session, collection, key_hash),
	unique (tenant, session, collection, pos)
) strict;
