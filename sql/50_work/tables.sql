-- Who does it: tasks, their attempts, results, dead letters.

create type bpm_core.task_state as enum ('Ready', 'Executing', 'Held', 'Completed', 'Failed', 'Cancelled');
-- Domains for the reason given at token_count.
create domain bpm_core.inner_scope as uuid check (value <> '00000000-0000-0000-0000-000000000000');
create domain bpm_core.delegation as text check (value in ('Pending', 'Resolved'));
create type bpm_core.execution_state as enum ('Succeeded', 'Failed', 'Expired', 'Released', 'Cancelled');
create type bpm_core.verdict as enum ('Accepted', 'Rejected', 'NeedsReview');
create type bpm_core.dead_letter_state as enum ('Open', 'Requeued', 'Discarded');

create type bpm_core.slot_scan as (
  task_type text, priority_level smallint, from_at timestamptz, from_id uuid, look_back boolean, settled boolean, whole boolean,
  position bpm_core.pick_position);
create type bpm_core.claimed_task as (
  slot integer, available_at timestamptz, task_id uuid, process_instance_id uuid, workflow_instance_id uuid, business_key text, node_id text,
  task_type text, attempt integer, fencing_token bigint, lease_until timestamptz, variables jsonb, headers jsonb, suspended boolean);

-- What a worker says of a task it holds, and what of it was accepted under the locks.
-- record: evidence and facts that come with it; refusal: its outcome, when they cannot be taken.
create type bpm_core.answer as (
  item integer, task_id uuid, fencing_token bigint, variables jsonb, output jsonb, content_hash bytea, record jsonb, refusal bpm.outcome);
-- Evidence and facts of an answer that was accepted; first: where its evidence begins among that of all.
create type bpm_core.kept_record as (
  item integer, task_id uuid, attempt integer, confirmed_by text, record jsonb, first integer);
create type bpm_core.accepted as (
  item integer, task_id uuid, instance_id uuid, token_id uuid, node_id text, attempt integer, variables jsonb, scope_id uuid);
-- What was accepted, but its output mappings could not be evaluated.
create type bpm_core.unmapped as (
  task bpm_core.accepted, problem text, detail jsonb);
-- A direct step that was taken: end_node where it led to an end, has_ended where its instance ended with it.
create type bpm_core.step as (
  item integer, task_id uuid, instance_id uuid, token_id uuid, end_node text, has_ended boolean);
-- An attempt that failed: reported by its worker, expired, or thrown as an error nobody caught.
create type bpm_core.failure as (
  item integer, task_id uuid, fencing_token bigint, error jsonb, retryable boolean, retry_in interval);

create table bpm_core.task_instance (
  tenant_id            text collate "C" not null default '',
  id                   uuid not null,
  workflow_instance_id uuid not null,
  token_id             uuid not null,
  scope_id             bpm_core.inner_scope,
  visit                integer not null,
  node_id              text collate "C" not null,
  task_version_id      uuid not null,
  task_type            text collate "C" not null,
  state                bpm_core.task_state not null default 'Ready',
  priority_level       smallint not null default 1,
  available_at         timestamptz not null,
  attempt              integer not null default 0,
  max_attempts         integer not null,
  lease                interval not null,
  fencing_token        bigint not null default 0,
  worker_id            text,
  claimed_at           timestamptz,
  lease_until          timestamptz,
  claim_request_id     text,
  input                jsonb,
  assignee             text,
  candidate_groups     text[],
  due_at               timestamptz,
  follow_up_at         timestamptz,
  candidate_users      text[],
  outputs              jsonb,
  headers              jsonb,
  owner                text,
  delegation           bpm_core.delegation,
  delegates            text[],
  needs_review         bpm_core.only_true,
  checks_result        bpm_core.only_true,
  type_slot            integer,
  tenant_slot          integer,
  primary key (id, tenant_id),
  -- One check, as short as it can be said: every statement that writes here reads it from its text (token_count). Who has a lease has all of it, who waits has none of it.
  check ((state >= 'Completed' or num_nulls(worker_id, claimed_at, lease_until) = case state when 'Executing' then 0 else 3 end)
         and attempt <= max_attempts and (delegation is null) = (owner is null) and (delegation is null or delegates is not null))
) with (fillfactor = 75, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.1, autovacuum_vacuum_cost_delay = 0);
create index task_ready on bpm_core.task_instance (tenant_id, task_type, priority_level, available_at, id) where state = 'Ready';
create index task_lease on bpm_core.task_instance (tenant_id, lease_until, id) where state = 'Executing';
create index task_of_token on bpm_core.task_instance (workflow_instance_id, token_id);
comment on table bpm_core.task_instance is 'One offer of work for one visit of a token (external task, job, user task). The running attempt lives in this row.';
comment on column bpm_core.task_instance.scope_id is 'The scope of its token; null: the root. Kept here so that handing it out needs no look at the token.';
comment on column bpm_core.task_instance.task_type is 'What workers claim by. User tasks carry the reserved type "bpm:user" prefixed to theirs and are never handed out by claim_tasks.';
comment on column bpm_core.task_instance.fencing_token is 'Grows by one with every claim, never reset; every later write must show it.';
comment on column bpm_core.task_instance.input is 'What its input mappings gave; the worker sees it over the variables.';
comment on column bpm_core.task_instance.outputs is 'Its output mappings, compiled, a copy of its binding''s; null: what it brings is patched as it is.';
comment on column bpm_core.task_instance.headers is 'A copy of its binding''s, so that a claim reads one row.';
comment on column bpm_core.task_instance.checks_result is 'Its task version has a result schema; null: it has none, so that an answer needs no look at it.';
comment on column bpm_core.task_instance.available_at is 'When it may be claimed: greatest(due, the clock at the write).';
comment on column bpm_core.task_instance.type_slot is 'The slot of its type it was claimed under, where the type has a quota; says something only while it is Executing.';
comment on column bpm_core.task_instance.tenant_slot is 'The slot of its tenant it was claimed under, where the tenant has a quota; says something only while it is Executing.';

comment on column bpm_core.task_instance.owner is 'Who handed a user task on and answers for it.';
comment on column bpm_core.task_instance.delegation is 'Pending: its assignee is to hand it back with what they found. Resolved: they did.';
comment on column bpm_core.task_instance.delegates is 'Everybody it was ever handed on to.';

create table bpm_core.task_quota (
  tenant_id text collate "C" not null default '',
  task_type text collate "C" not null,
  bound     integer not null check (bound between 1 and 10000),
  set_by    text not null,
  set_at    timestamptz not null,
  primary key (tenant_id, task_type)
);
comment on table bpm_core.task_quota is 'How many tasks may be Executing at once, of a type or (task_type empty) of the whole tenant. No row: as many as there are.';

create table bpm_core.quota_slot (
  tenant_id        text collate "C" not null default '',
  task_type        text collate "C" not null,
  slot             integer not null check (slot > 0),
  task_instance_id uuid,
  primary key (tenant_id, task_type, slot)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);
comment on table bpm_core.quota_slot is 'What a quota is made of: a task is claimed together with one free slot of each quota it falls under. Rows, not counting: two claims that count at once both find room.';
comment on column bpm_core.quota_slot.task_instance_id is 'The task that holds it; null: it is free. A row beyond the bound is not filled any more.';

-- Where a claim looks: one task type at one priority level, behind (from_at, from_id). Of slots that were put in another order (age_slots): their number, less
-- than nothing for the stretch of one that overtakes higher levels, and where the stretch ends. quotas: those of the tenant, the same in each; null: none.
create type bpm_core.claim_slot as (
  task_type text, priority_level smallint, from_at timestamptz, from_id uuid, slot integer, until_at timestamptz, quotas bpm_core.task_quota[]);

create table bpm_core.task_comment (
  tenant_id        text collate "C" not null default '',
  id               uuid not null,
  task_instance_id uuid not null,
  author           text not null,
  said             text not null check (length(said) between 1 and 4000),
  created_at       timestamptz not null,
  primary key (tenant_id, id),
  foreign key (tenant_id, task_instance_id) references bpm_core.task_instance (tenant_id, id)
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.1);
create index task_comment_of_task on bpm_core.task_comment (task_instance_id, id);
comment on table bpm_core.task_comment is 'What people say about a user task. Append-only.';

create table bpm_core.execution (
  tenant_id        text collate "C" not null default '',
  task_instance_id uuid not null,
  attempt          integer not null,
  worker_id        text not null,
  fencing_token    bigint not null,
  claimed_at       timestamptz not null,
  lease_until      timestamptz not null,
  ended_at         timestamptz not null,
  state            bpm_core.execution_state not null,
  outcome          bpm.outcome not null,
  error            jsonb,
  primary key (task_instance_id, attempt, tenant_id)
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.1);
comment on table bpm_core.execution is 'An attempt that ended. While it runs it lives on its task row; the view bpm.execution shows both.';
comment on column bpm_core.execution.outcome is 'The answer its worker got; a repeated call gets it again.';

create table bpm_core.result (
  tenant_id        text collate "C" not null default '',
  task_instance_id uuid not null,
  attempt          integer not null,
  output           jsonb not null,
  verdict          bpm_core.verdict not null default 'Accepted',
  reasons          jsonb,
  content_hash     bytea not null,
  created_by       text not null,
  created_at       timestamptz not null,
  primary key (task_instance_id, attempt, tenant_id)
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.1);
comment on table bpm_core.result is 'What an attempt gave back and was accepted. Append-only.';

create table bpm_core.rejected_result (
  tenant_id        text collate "C" not null default '',
  task_instance_id uuid not null,
  attempt          integer not null,
  content_hash     bytea not null,
  output           jsonb not null,
  reasons          jsonb not null,
  fencing_token    bigint not null,
  created_by       text not null,
  created_at       timestamptz not null,
  primary key (tenant_id, task_instance_id, attempt, content_hash)
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.1);
comment on table bpm_core.rejected_result is 'What an attempt gave back that does not meet the result schema of its task: kept, with why, and never applied. Beside result, not in it: an attempt may be rejected several times before it is accepted once, and whatever refers to a result refers to an accepted one.';
alter table bpm_core.fact add foreign key (tenant_id, task_instance_id, attempt) references bpm_core.result (tenant_id, task_instance_id, attempt);

create table bpm_core.task_evidence (
  tenant_id        text collate "C" not null default '',
  task_instance_id uuid not null,
  evidence_id      uuid not null,
  created_at       timestamptz not null,
  primary key (tenant_id, task_instance_id, evidence_id),
  foreign key (tenant_id, task_instance_id) references bpm_core.task_instance (tenant_id, id),
  foreign key (tenant_id, evidence_id) references bpm_core.evidence
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.1);
create index task_evidence_of_evidence on bpm_core.task_evidence (evidence_id);
comment on table bpm_core.task_evidence is 'Evidence attached to a task, whoever works on it.';

create table bpm_core.result_evidence (
  tenant_id        text collate "C" not null default '',
  task_instance_id uuid not null,
  attempt          integer not null,
  evidence_id      uuid not null,
  primary key (tenant_id, task_instance_id, attempt, evidence_id),
  foreign key (tenant_id, task_instance_id, attempt) references bpm_core.result (tenant_id, task_instance_id, attempt),
  foreign key (tenant_id, evidence_id) references bpm_core.evidence
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.1);
create index result_evidence_of_evidence on bpm_core.result_evidence (evidence_id);
comment on table bpm_core.result_evidence is 'Evidence an accepted result came with.';

create table bpm_core.dead_letter (
  tenant_id            text collate "C" not null default '',
  id                   uuid not null,
  workflow_instance_id uuid,
  token_id             uuid,
  task_instance_id     uuid,
  outbox_id            uuid,
  event_id             uuid,
  incident_id          uuid,
  kind                 text not null check (kind in ('Task', 'Approval', 'Command', 'Inbox', 'Event')),
  error                jsonb not null,
  payload              jsonb,
  variables            jsonb not null default '{}',
  state                bpm_core.dead_letter_state not null default 'Open',
  created_at           timestamptz not null,
  closed_by            text,
  closed_at            timestamptz,
  primary key (tenant_id, id),
  foreign key (tenant_id, workflow_instance_id) references bpm_core.workflow_instance (tenant_id, id),
  check ((state = 'Open') = (closed_by is null and closed_at is null)),
  check ((kind = 'Event') = (event_id is not null) and (kind = 'Event') = (workflow_instance_id is null))
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.1);
create index dead_letter_open on bpm_core.dead_letter (tenant_id, created_at, id) where state = 'Open';
create index dead_letter_of_instance on bpm_core.dead_letter (workflow_instance_id);
create index dead_letter_of_incident on bpm_core.dead_letter (incident_id);
create index dead_letter_of_event on bpm_core.dead_letter (event_id) where event_id is not null;
comment on table bpm_core.dead_letter is 'Work that used up its attempts, or was refused; written with the failure, in one transaction.';
comment on column bpm_core.dead_letter.event_id is 'Of an event that could not be dispatched; it has no instance.';
