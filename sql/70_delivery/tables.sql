-- What leaves: commands to the outside and their attempts.

create type bpm_core.command_state as enum ('Pending', 'Sending', 'Sent', 'Failed', 'Unknown', 'Reconciling', 'Manual', 'Cancelled');

create table bpm_core.outbox (
  tenant_id            text collate "C" not null default '',
  id                   uuid not null,
  command_id           uuid not null,
  workflow_instance_id uuid not null,
  token_id             uuid not null,
  visit                integer not null,
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
  lease_until          timestamptz,
  sequence_key         text collate "C",
  first_sent_at        timestamptz,
  receipt              jsonb,
  last_error           jsonb,
  created_at           timestamptz not null,
  ended_at             timestamptz,
  primary key (tenant_id, id),
  unique (tenant_id, command_id),
  foreign key (tenant_id, workflow_instance_id) references bpm_core.workflow_instance,
  foreign key (tenant_id, destination_id) references bpm_core.destination,
  check ((state = 'Sending') = (worker_id is not null and lease_until is not null)),
  check ((state in ('Sent', 'Failed', 'Cancelled')) = (ended_at is not null))
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);
create index outbox_pending on bpm_core.outbox (tenant_id, available_at, id) where state = 'Pending';
create index outbox_lease on bpm_core.outbox (tenant_id, lease_until, id) where state = 'Sending';
create index outbox_unknown on bpm_core.outbox (tenant_id, available_at, id) where state = 'Unknown';
create index outbox_of_instance on bpm_core.outbox (tenant_id, workflow_instance_id);
comment on table bpm_core.outbox is 'A command to the outside. command_id is what the receiver sees; it and the payload never change. A command that may have been sent is never Pending again by itself.';
comment on column bpm_core.outbox.destination_snapshot is 'Address and receiver profile as they were when the command was written.';

create table bpm_core.delivery_attempt (
  tenant_id     text collate "C" not null default '',
  outbox_id     uuid not null,
  attempt       integer not null,
  worker_id     text not null,
  fencing_token bigint not null,
  ended_at      timestamptz not null,
  outcome       bpm_core.command_state not null,
  detail        jsonb not null default '{}',
  primary key (tenant_id, outbox_id, attempt),
  foreign key (tenant_id, outbox_id) references bpm_core.outbox
);
comment on table bpm_core.delivery_attempt is 'One attempt that ended, with what was seen. Append-only.';
