-- +goose Up
create table schema_compat (
	min_version bigint not null -- of the releases that may use these tables
);
insert into schema_compat (min_version) values (1);

-- Where the next record of a collection stands.
create table positions (
	tenant     text collate "C" not null,
	session    text collate "C" not null,
	collection text collate "C" not null,
	next       bigint not null,
	primary key (tenant, session, collection)
);

create table records (
	tenant      text collate "C" not null,
	session     text collate "C" not null,
	collection  text collate "C" not null,
	key_hash    bytea  not null, -- the SHA-256 of the record's key
	pos         bigint not null,
	body        bytea  not null, -- the record's own JSON, byte for byte
	digest      bytea  not null,
	turn_id     text   not null,
	dispatch_id text   not null,
	written_at  bigint not null, -- milliseconds, UTC
	primary key (tenant, session, collection, key_hash),
	unique (tenant, session, collection, pos)
);
