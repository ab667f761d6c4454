-- +goose Up
-- When the lease was taken or renewed, milliseconds, UTC: 0 where a release has that knows no
-- such column. One that was taken in the future is of a clock that has run back.
alter table sessions add column lease_taken bigint not null default 0;
