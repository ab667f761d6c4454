-- +goose Up
create table sessions (
	tenant        text    not null,
	id            text    not null,
	format        integer not null,
	revision      integer not null,
	epoch         integer not null,
	lease_owner   text    not null, -- empty where nobody has it
	lease_until   integer not null, -- milliseconds, UTC, as all times here; 0 is never
	next_seq      integer not null,
	unsettled     integer not null,
	initiator     blob, -- JSON
	channel_kind  text    not null,
	channel_state blob, -- JSON
	internal      blob, -- JSON: the snapshots of providers, by their names
	created_at    integer not null,
	updated_at    integer not null,
	erased_at     integer not null,
	primary key (tenant, id)
) strict;

create table session_context (
	tenant     text    not null,
	id         text    not null,
	key        text    not null,
	version    integer not null,
	body       blob    not null, -- the value's JSON, byte for byte
	updated_at integer not null,
	primary key (tenant, id, key)
) strict;

create table deliveries (
	tenant        text    not null,
	session       text    not null,
	id            text    not null,
	seq           integer not null,
	state         text    not null, -- accepted, committed, failed
	pending       integer not null, -- 1 where something is left to do
	payload       blob    not null, -- JSON
	digest        text    not null, -- of the payload
	auth          blob, -- JSON
	parent        blob, -- JSON
	attempts      integer not null,
	epoch         integer not null,
	turn_id       text    not null,
	revision      integer not null,
	code          text    not null,
	output_failed integer not null,
	writes        blob, -- JSON: what is to be applied elsewhere
	not_before    integer not null,
	accepted_at   integer not null,
	settled_at    integer not null,
	applied_at    integer not null,
	notified_at   integer not null,
	primary key (tenant, session, id),
	unique (tenant, session, seq)
) strict;

create index deliveries_pending on deliveries (tenant, session, seq) where pending = 1;
create index deliveries_settled on deliveries (settled_at) where pending = 0;
