-- What leaves: commands to the outside and their attempts.

create type bpm_core.command_state as enum ('Pending', 'Sending', 'Sent', 'Failed', 'Unknown', 'Reconciling', 'Manual', 'Cancelled');

-- What a runner says of an attempt to deliver.
create type bpm_core.mark as (
  item integer, command_id uuid, fencing_token bigint, reported text, receipt jsonb, detail jsonb, retry_in interval, content_hash bytea);
-- A command on its way to a state, and what of an attempt that ended. reported null: nobody reported (a lease ran out, a person, a probe, tick);
-- failure: the incident's code when the state is Failed; retry_in null: the profile's backoff; arrived: the receiver may have seen it by now,
-- false: nothing new about that, null: it is proved that it never did.
create type bpm_core.command_move as (
  outbox_id uuid, state bpm_core.command_state, arrived boolean, failure text, reported text, receipt jsonb, detail jsonb, retry_in interval,
  content_hash bytea, attempt integer, actor text);
create type bpm_core.claimed_command as (
  available_at timestamptz, outbox_id uuid, command_id uuid, attempt integer, fencing_token bigint, lease_until timestamptz, destination_code text,
  destination jsonb, task_type text, business_key text, process_instance_id uuid, payload jsonb, payload_hash text);
-- A destination that may be sent to now. probing: its breaker is open and it is time to try one.
create type bpm_core.lane as (
  destination_id uuid, code text, ordered boolean, max_concurrent integer, rate_limit integer, rate_period interval, probing boolean);
-- What was claimed in a lane, and how many would have been.
create type bpm_core.lane_claim as (commands bpm_core.claimed_command[], room integer);
-- What a runner says of a probe.
create type bpm_core.probe_mark as (
  item integer, command_id uuid, fencing_token bigint, seen text, receipt jsonb, detail jsonb, retry_in interval);

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
  slot                 integer,
  first_sent_at        timestamptz,
  review_at            timestamptz,
  probe_at             timestamptz,
  probes               integer not null default 0,
  again_of             uuid,
  receipt              jsonb,
  last_error           jsonb,
  created_at           timestamptz not null,
  ended_at             timestamptz,
  primary key (tenant_id, id),
  unique (command_id, tenant_id),
  foreign key (tenant_id, workflow_instance_id) references bpm_core.workflow_instance (tenant_id, id),
  check ((state in ('Sending', 'Reconciling')) = (worker_id is not null and lease_until is not null)),
  check ((state in ('Sent', 'Failed', 'Cancelled')) = (ended_at is not null)),
  check (state not in ('Sent', 'Unknown', 'Reconciling', 'Manual') or first_sent_at is not null),
  check (state not in ('Cancelled') or first_sent_at is null),
  check (review_at is null or state in ('Pending', 'Unknown')),
  check (probe_at is null or state = 'Unknown'),
  check (attempt <= max_attempts)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);
create index outbox_pending on bpm_core.outbox (tenant_id, destination_id, available_at, id) where state = 'Pending';
create index outbox_lease on bpm_core.outbox (tenant_id, lease_until, id) where state in ('Sending', 'Reconciling');
create index outbox_unknown on bpm_core.outbox (tenant_id, available_at, id) where state = 'Unknown';
create index outbox_review on bpm_core.outbox (tenant_id, review_at, id) where review_at is not null;
create index outbox_probe on bpm_core.outbox (tenant_id, probe_at, id) where probe_at is not null;
create index outbox_sequence on bpm_core.outbox (destination_id, sequence_key, id) where sequence_key is not null and ended_at is null;
create index outbox_sequence_busy on bpm_core.outbox (destination_id, sequence_key)
  where sequence_key is not null and state in ('Sending', 'Unknown', 'Reconciling', 'Manual');
create index outbox_of_instance on bpm_core.outbox (workflow_instance_id);
comment on table bpm_core.outbox is 'A command to the outside. command_id is what the receiver sees; it and the payload never change. A command that may have been sent is never Pending again by itself.';
comment on column bpm_core.outbox.destination_id is 'No foreign key: all senders would share a lock on the one row. Destinations are never deleted.';
comment on column bpm_core.outbox.destination_snapshot is 'The row of the destination (address and receiver profile) as it was when the command was written.';
comment on column bpm_core.outbox.claimed_at is 'When the last attempt was claimed.';
comment on column bpm_core.outbox.available_at is 'When it may be claimed. infinity: one of the same sequence is before it; the end of that one sets the clock''s time.';
comment on column bpm_core.outbox.sequence_key is 'Set where the destination is ordered: the next command of the key waits until this one has ended.';
comment on column bpm_core.outbox.slot is 'The slot of its destination it was claimed under, where these are bounded.';
comment on column bpm_core.outbox.probe_at is 'When the receiver is asked whether it arrived. Null: never.';
comment on column bpm_core.outbox.probes is 'How often the receiver was asked since it became Unknown.';
comment on column bpm_core.outbox.again_of is 'The command_id of the one this repeats because a person said so.';
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
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.1);
comment on table bpm_core.delivery_attempt is 'One attempt that ended, with what was seen. Append-only.';
comment on column bpm_core.delivery_attempt.late is 'A second answer of the attempt: it was Unknown and turned out to have arrived.';
comment on column bpm_core.delivery_attempt.reported is 'What the runner reported; null: its lease ran out.';
comment on column bpm_core.delivery_attempt.outcome is 'The state the command went to; the answer to an unchanged repeat.';

alter table bpm_core.dead_letter add foreign key (tenant_id, outbox_id) references bpm_core.outbox;
create index dead_letter_of_command on bpm_core.dead_letter (outbox_id) where outbox_id is not null;

create type bpm_core.breaker_state as enum ('Closed', 'Open', 'HalfOpen');

create table bpm_core.destination_gate (
  tenant_id      text collate "C" not null default '',
  destination_id uuid not null,
  state          bpm_core.breaker_state not null default 'Closed',
  failures       integer not null default 0,
  openings       integer not null default 0,
  opened_at      timestamptz,
  probe_at       timestamptz,
  held_by        text,
  reason         text,
  last_error     jsonb,
  updated_at     timestamptz not null,
  primary key (tenant_id, destination_id),
  foreign key (tenant_id, destination_id) references bpm_core.destination,
  check ((state = 'Closed') = (opened_at is null)),
  check ((state = 'Closed' or held_by is not null) = (probe_at is null)),
  check (held_by is null or state = 'Open')
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);
comment on table bpm_core.destination_gate is 'The circuit breaker of a destination; no row: closed, and no failure yet. Written only when something about it changes, so that healthy destinations share no lock.';
comment on column bpm_core.destination_gate.failures is 'In a row; an answer of any kind but a receiver''s error ends the row.';
comment on column bpm_core.destination_gate.openings is 'How often it opened since it was closed; each doubles the wait.';
comment on column bpm_core.destination_gate.probe_at is 'When one command is sent to see.';
comment on column bpm_core.destination_gate.held_by is 'The person who keeps it open; only a person closes it then.';

create type bpm_core.slot_kind as enum ('Concurrency', 'Rate');

create table bpm_core.destination_slot (
  tenant_id      text collate "C" not null default '',
  destination_id uuid not null,
  kind           bpm_core.slot_kind not null,
  slot           integer not null check (slot > 0),
  free_at        timestamptz not null,
  command_id     uuid,
  primary key (tenant_id, destination_id, kind, slot),
  foreign key (tenant_id, destination_id) references bpm_core.destination
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);
comment on table bpm_core.destination_slot is 'What bounds a destination: a command is claimed together with one free slot of each kind that is bounded. Rows, not counting: two claims that count at once both find room.';
comment on column bpm_core.destination_slot.free_at is 'Concurrency: the end of the lease, or when the attempt ended. Rate: rate_period after the claim.';

-- Domain events: what happened, told to those who subscribed.

create type bpm_core.publication_state as enum ('Pending', 'Published', 'Parked');

create table bpm_core.event_stream (
  tenant_id    text collate "C" not null default '',
  last_no      bigint not null default 0,
  forgotten_no bigint not null default 0,
  primary key (tenant_id),
  check (forgotten_no <= last_no)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);
comment on table bpm_core.event_stream is 'The number of the last published event of a tenant. Whoever publishes holds the row, so that the order of numbers is the order of commits.';
comment on column bpm_core.event_stream.forgotten_no is 'Events up to this number are deleted (maintain_domain_events); all beyond are kept.';

create table bpm_core.event_outbox (
  tenant_id    text collate "C" not null default '',
  id           uuid not null,
  seq          bigint generated always as identity (cache 1),
  event_type   text collate "C" not null,
  aggregate_id uuid not null,
  process_code text collate "C" not null,
  payload      jsonb not null,
  state        bpm_core.publication_state not null default 'Pending',
  published_no bigint,
  created_at   timestamptz not null,
  published_at timestamptz,
  primary key (tenant_id, id),
  check ((state = 'Published') = (published_no is not null)),
  check ((state = 'Published') = (published_at is not null))
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);
create index event_outbox_pending on bpm_core.event_outbox (tenant_id, seq) where state = 'Pending';
create unique index event_outbox_published on bpm_core.event_outbox (tenant_id, published_no) where published_no is not null;
comment on table bpm_core.event_outbox is 'Domain events, written with what they tell of, in one transaction. tick publishes them: gives them their numbers, per aggregate in the order they were written.';
comment on column bpm_core.event_outbox.seq is 'Drawn under the instance lock: per aggregate the order of commits.';
comment on column bpm_core.event_outbox.aggregate_id is 'The workflow instance. No foreign key: events outlive it.';

create table bpm_core.event_subscription (
  tenant_id        text collate "C" not null default '',
  code             text collate "C" not null,
  process_code     text collate "C",
  event_types      text[],
  destination_code text collate "C",
  notify_channel   text,
  cursor_no        bigint not null,
  attempt          integer not null default 0,
  next_at          timestamptz not null,
  fencing_token    bigint not null default 0,
  worker_id        text,
  lease_until      timestamptz,
  last_error       jsonb,
  created_by       text not null,
  created_at       timestamptz not null,
  ended_at         timestamptz,
  primary key (tenant_id, code),
  check (destination_code is null or notify_channel is null),
  check ((worker_id is null) = (lease_until is null))
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);
comment on table bpm_core.event_subscription is 'Who is told of events: a destination, a channel of NOTIFY, or one who asks. Events are written only where somebody subscribed.';
comment on column bpm_core.event_subscription.cursor_no is 'What it has: every event up to this number. Moved only after it was told, so that a crash tells it again.';
