-- +goose Up
create table sessions (
	tenant        text collate "C" not null,
	id            text collate "C" not null,
	format        bigint not null,
	revision      bigint not null,
	epoch         bigint not null,
	lease_owner   text    not null, -- empty where nobody has it
	lease_until   bigint not null, -- milliseconds, UTC, as all times here; 0 is never
	next_seq      bigint not null,
	unsettled     bigint not null,
	initiator     bytea, -- JSON
	channel_kind  text    not null,
	channel_state bytea, -- JSON
	internal      bytea, -- JSON: the snapshots of providers, by their names
	created_at    bigint not null,
	updated_at    bigint not null,
	erased_at     bigint not null,
	primary key (tenant, id)
);

create table session_context (
	tenant     text collate "C" not null,
	id         text collate "C" not null,
	key        text collate "C" not null,
	version    bigint not null,
	body       bytea  not null, -- the value's JSON, byte for byte
	updated_at bigint not null,
	primary key (tenant, id, key)
);

create table deliveries (
	tenant        text collate "C" not null,
	session       text collate "C" not null,
	id            text collate "C" not null,
	seq           bigint not null,
	state         text    not null, -- accepted, committed, failed
	pending       bigint not null, -- 1 where something is left to do
	payload       bytea  not null, -- JSON
	digest        text    not null, -- of the payload
	auth          bytea, -- JSON
	parent        bytea, -- JSON
	attempts      bigint not null,
	epoch         bigint not null,
	turn_id       text collate "C" not null,
	revision      bigint not null,
	code          text    not null,
	output_failed bigint not null,
	writes        bytea, -- JSON: what is to be applied elsewhere
	not_before    bigint not null,
	accepted_at   bigint not null,
	settled_at    bigint not null,
	applied_at    bigint not null,
	notified_at   bigint not null,
	primary key (tenant, session, id),
	unique (tenant, session, seq)
);

create index deliveries_pending on deliveries (tenant, session, seq) where pending = 1;
create index deliveries_settled on deliveries (settled_at) where pending = 0;
