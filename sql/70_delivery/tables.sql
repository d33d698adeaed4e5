-- What leaves: commands to the outside and their attempts.

create type bpm_core.command_state as enum ('Pending', 'Sending', 'Sent', 'Failed', 'Unknown', 'Reconciling', 'Manual', 'Cancelled');

-- What a runner says of an attempt to deliver.
create type bpm_core.mark as (
  item integer, command_id uuid, fencing_token bigint, reported text, receipt jsonb, detail jsonb, retry_in interval, content_hash bytea);
-- A command on its way to a state, and what of an attempt that ended. reported null: nobody reported (a lease ran out, a person, tick);
-- failure: the incident's code when the state is Failed; retry_in null: the profile's backoff.
create type bpm_core.command_move as (
  outbox_id uuid, state bpm_core.command_state, arrived boolean, failure text, reported text, receipt jsonb, detail jsonb, retry_in interval,
  content_hash bytea, attempt integer, actor text);
create type bpm_core.claimed_command as (
  available_at timestamptz, outbox_id uuid, command_id uuid, attempt integer, fencing_token bigint, lease_until timestamptz, destination_code text,
  destination jsonb, task_type text, business_key text, process_instance_id uuid, payload jsonb, payload_hash text);

create table bpm_core.outbox (
  tenant_id            text collate "C" not null default '',
  id                   uuid not null,
  command_id           uuid not null,
  workflow_instance_id uuid not null,
  token_id             uuid not null,
  node_id              text collate "C" not null,
  task_type            text collate "C" not null,
  destination_id       uuid not null,
  destination_code     text collate "C" not null,
  destination_snapshot jsonb not null,
  payload              jsonb not null,
  payload_hash         bytea not null,
  state                bpm_core.command_state not null default 'Pending',
  available_at         timestamptz not null,
  attempt              integer not null default 0,
  max_attempts         integer not null,
  fencing_token        bigint not null default 0,
  worker_id            text,
  claimed_at           timestamptz,
  lease_until          timestamptz,
  sequence_key         text collate "C",
  first_sent_at        timestamptz,
  review_at            timestamptz,
  receipt              jsonb,
  last_error           jsonb,
  created_at           timestamptz not null,
  ended_at             timestamptz,
  primary key (tenant_id, id),
  unique (command_id, tenant_id),
  foreign key (tenant_id, workflow_instance_id) references bpm_core.workflow_instance,
  check ((state = 'Sending') = (worker_id is not null and lease_until is not null)),
  check ((state in ('Sent', 'Failed', 'Cancelled')) = (ended_at is not null)),
  check (state not in ('Sent', 'Unknown', 'Reconciling', 'Manual') or first_sent_at is not null),
  check (state not in ('Cancelled') or first_sent_at is null),
  check (review_at is null or state in ('Pending', 'Unknown')),
  check (attempt <= max_attempts)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);
create index outbox_pending on bpm_core.outbox (tenant_id, available_at, id) where state = 'Pending';
create index outbox_lease on bpm_core.outbox (tenant_id, lease_until, id) where state = 'Sending';
create index outbox_unknown on bpm_core.outbox (tenant_id, available_at, id) where state = 'Unknown';
create index outbox_review on bpm_core.outbox (tenant_id, review_at, id) where review_at is not null;
create index outbox_of_instance on bpm_core.outbox (workflow_instance_id);
comment on table bpm_core.outbox is 'A command to the outside. command_id is what the receiver sees; it and the payload never change. A command that may have been sent is never Pending again by itself.';
comment on column bpm_core.outbox.destination_id is 'No foreign key: all senders would share a lock on the one row. Destinations are never deleted.';
comment on column bpm_core.outbox.destination_snapshot is 'The row of the destination (address and receiver profile) as it was when the command was written.';
comment on column bpm_core.outbox.claimed_at is 'When the last attempt was claimed.';
comment on column bpm_core.outbox.first_sent_at is 'The claim of the first attempt the receiver may have seen; from then on its memory of our key (key_retention) is counted. Null: it cannot have seen any.';
comment on column bpm_core.outbox.review_at is 'When tick looks at it: Unknown, the time to send it again; Pending again after it may have been seen, the end of the receiver''s memory of our key, after which it is Unknown and never sent by itself. Null: never.';

create table bpm_core.delivery_attempt (
  tenant_id     text collate "C" not null default '',
  outbox_id     uuid not null,
  attempt       integer not null,
  late          boolean not null default false,
  worker_id     text not null,
  fencing_token bigint not null,
  claimed_at    timestamptz not null,
  ended_at      timestamptz not null,
  reported      text,
  outcome       bpm_core.command_state not null,
  receipt       jsonb,
  detail        jsonb not null default '{}',
  content_hash  bytea,
  primary key (tenant_id, outbox_id, attempt, late),
  foreign key (tenant_id, outbox_id) references bpm_core.outbox,
  check ((reported is null) = (content_hash is null))
) with (autovacuum_vacuum_insert_scale_factor = 0.1);
comment on table bpm_core.delivery_attempt is 'One attempt that ended, with what was seen. Append-only.';
comment on column bpm_core.delivery_attempt.late is 'A second answer of the attempt: it was Unknown and turned out to have arrived.';
comment on column bpm_core.delivery_attempt.reported is 'What the runner reported; null: its lease ran out.';
comment on column bpm_core.delivery_attempt.outcome is 'The state the command went to; the answer to an unchanged repeat.';

alter table bpm_core.dead_letter add foreign key (tenant_id, outbox_id) references bpm_core.outbox;
