-- How it moves: instances, tokens, joins, timers, messages, the inbox, incidents.
-- Hot tables: narrow rows, one partial index per picker, no foreign key to shared rows (KEY SHARE locks on them cost two thirds of the throughput).
-- Only primary keys and pickers' indexes begin with tenant_id. Any other index that did would tempt the planner, while it takes a table for
-- small, to answer a look-up by primary key with a scan over the whole tenant.

create type bpm_core.process_status as enum ('Running', 'Suspended', 'Completed', 'Failed', 'Cancelled');
create type bpm_core.workflow_status as enum ('Running', 'Suspended', 'Completed', 'Failed', 'Cancelled', 'Skipped');
create type bpm_core.token_state as enum ('Ready', 'Executing', 'Waiting', 'Failed', 'Completed', 'Terminated');
-- Domains, where the hot tables could have checks: a check is read from its text anew by every statement that writes a row, a domain once per session.
create domain bpm_core.token_count as integer constraint too_many_live_tokens check (value between 0 and 150000);
create type bpm_core.token_mode as enum ('Forward', 'Compensation');
create type bpm_core.timer_status as enum ('Scheduled', 'Held', 'Fired', 'Cancelled');
create type bpm_core.subscription_state as enum ('Open', 'Consumed', 'Closed');
create type bpm_core.message_state as enum ('Buffered', 'Correlated', 'Expired');
create type bpm_core.incident_state as enum ('Open', 'Resolved');
create type bpm_core.compensation_status as enum ('Pending', 'Completed', 'Failed');

-- One token on its way. Arriving: node_id is where it enters, flow_id the flow it came over (null at a start).
-- Leaving: node_id is what it leaves, flow_id the flow it takes; null = its only outgoing flow.
-- version_id is the workflow version; scope_id the zero uuid at the root; kind, set when arriving, names the enter_… function.
create type bpm_core.moving as (
  tenant_id   text,
  instance_id uuid,
  version_id  uuid,
  scope_id    uuid,
  token_id    uuid,
  node_id     text,
  flow_id     text,
  kind        bpm_core.node_kind
);

-- Patches of one instance merge in the order of their items; later ones win.
create aggregate bpm_core.jsonb_merge(jsonb) (sfunc = jsonb_concat, stype = jsonb, initcond = '{}');

-- A token that cannot go on, and why.
create type bpm_core.trouble as (
  token   bpm_core.moving,
  code    text,
  message text,
  detail  jsonb
);

-- A BPMN error raised at the activity a token rests on; handle is the caller's own number for it.
create type bpm_core.thrown as (
  handle  integer,
  token   bpm_core.moving,
  code    text,
  message text
);

-- Who catches something thrown: an event at the activity the host token rests on, or the start event of an event sub-process inside that.
create type bpm_core.catch as (
  node_id      text,
  interrupting boolean,
  is_start     boolean,
  host         bpm_core.moving
);

-- A multi-instance or loop about to begin at a host: what its expressions gave, and how many items begin at once; or why it cannot.
create type bpm_core.loop_plan as (
  host     bpm_core.moving,
  visit    integer,
  steps    integer,
  mode     text,
  spec     jsonb,
  declared jsonb,
  total    integer,
  created  integer,
  items    jsonb,
  trouble  bpm_core.trouble
);

-- One item of a multi-instance, or turn of a loop, to be begun at a host.
create type bpm_core.loop_item as (
  host      bpm_core.moving,
  visit     integer,
  steps     integer,
  index     integer,
  total     integer,
  variables jsonb
);

-- One item that has come to its end, and what the conditions made of it. steps: what the next one begins with; done: how many had ended before.
create type bpm_core.item_end as (
  token    bpm_core.moving,
  host     bpm_core.moving,
  visit    integer,
  steps    integer,
  mode     text,
  spec     jsonb,
  declared jsonb,
  total    integer,
  created  integer,
  done     integer,
  verdict  boolean,
  output   jsonb,
  trouble  bpm_core.trouble
);

-- A host some items of which have just ended, those counted.
create type bpm_core.loop_state as (
  host     bpm_core.moving,
  visit    integer,
  steps    integer,
  mode     text,
  spec     jsonb,
  declared jsonb,
  total    integer,
  created  integer,
  done     integer,
  bytes    bigint,
  ends     boolean
);

-- A call activity about to call: the token at it, what it calls, the ids drawn; or why it cannot.
create type bpm_core.call as (
  host bpm_core.moving, process_instance_id uuid, code text, process_version_id uuid, workflow_version_id uuid, role_version_id uuid, start_node_id text,
  child_id uuid, token_id uuid, visit integer, depth integer, inputs jsonb, trouble bpm_core.trouble);

-- Where a picker stands (law 12). Opaque to callers; kept by them as JSON.
create type bpm_core.pick_position as (
  reached_at timestamptz,
  reached_id uuid,
  safe_at    timestamptz,
  mark_at    timestamptz,
  horizon    xid8,
  checked_at timestamptz,
  check_cost interval,
  full_at    timestamptz
);

-- What one picker did in one tick.
create type bpm_core.tick_result as (done integer, next_position bpm_core.pick_position, next_due_at timestamptz);

-- One start: what was asked, the version found, the ids drawn, the outcome once it is not simply a new instance, and what started it if
-- nobody called start_process: {message | signal | timer, …}, for history. is_several: of a process of several workflows; then workflow, token and start
-- event are those of the first that begins.
create type bpm_core.start as (
  item integer, code text, variables jsonb, business_key text, idempotency_key text, request_hash bytea,
  process_version_id uuid, workflow_version_id uuid, role_version_id uuid, start_node_id text, business_case_id uuid,
  process_instance_id uuid, workflow_instance_id uuid, token_id uuid, outcome bpm.outcome, message text, cause jsonb, is_several boolean);

-- One workflow of a process of several whose turn has come: what becomes of it (Begin, Skip, or Stop: it cannot be decided, and why), the ids drawn.
create type bpm_core.due_binding as (
  process_instance_id uuid, binding_key text, position integer, workflow_version_id uuid, role_version_id uuid, workflow_instance_id uuid, token_id uuid,
  start_node_id text, fate text, code text, message text, detail jsonb, cause jsonb);

-- One thing open in an instance and what becomes of it in another version: action keep, rename, close or open; code: why it cannot be.
create type bpm_core.migration_item as (kind text, id uuid, token_id uuid, node_id text, to_node_id text, action text, code text, message text);

-- A row a picker saw without a lock, with the instance it has to lock first.
create type bpm_core.candidate as (at timestamptz, id uuid, instance_id uuid);

create table bpm_core.business_case (
  tenant_id    text collate "C" not null default '',
  id           uuid not null,
  business_key text collate "C" not null check (length(business_key) between 1 and 300),
  state        text not null default 'Open' check (state in ('Open', 'Closed')),
  lock_version integer not null default 0,
  created_at   timestamptz not null,
  primary key (tenant_id, id),
  unique (business_key, tenant_id)
) with (autovacuum_vacuum_insert_scale_factor = 0.1);

-- The four tables every step writes are vacuumed without pauses: each vacuum has the plans of all their statements made anew when it ends, so one after the
-- other at once disturbs less than one every second or two (decision 0043).
create table bpm_core.process_instance (
  tenant_id          text collate "C" not null default '',
  id                 uuid not null,
  business_case_id   uuid,
  process_version_id uuid not null,
  status             bpm_core.process_status not null default 'Running',
  version            integer not null default 0,
  variables          jsonb not null default '{}',
  business_key       text collate "C",
  started_by         text not null,
  created_at         timestamptz not null,
  updated_at         timestamptz not null,
  ended_at           timestamptz,
  ended_bindings     text[] collate "C",
  primary key (tenant_id, id),
  foreign key (tenant_id, process_version_id) references bpm_core.process_version,
  foreign key (tenant_id, business_case_id) references bpm_core.business_case,
  check ((ended_at is null) = (status < 'Completed'))
) with (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.1, autovacuum_vacuum_cost_delay = 0);
create index process_instance_of_key on bpm_core.process_instance (business_key) where business_key is not null;
comment on table bpm_core.process_instance is 'A running process, pinned to its version. Rarely updated; not used for execution locking.';
comment on column bpm_core.process_instance.ended_bindings is 'Of a process of several workflows: the bindings whose end it has heard of, in that order; what depends on them may begin. Null: it has only one, called main, without a start condition.';

create table bpm_core.workflow_instance (
  tenant_id           text collate "C" not null default '',
  id                  uuid not null,
  process_instance_id uuid not null,
  workflow_version_id uuid not null,
  role_version_id     uuid not null,
  binding_key         text collate "C" not null default 'main',
  trigger_key         text collate "C" not null default '',
  parent_token_id     uuid,
  ends_process        boolean not null default true,
  depth               smallint not null default 0,
  inputs              jsonb,
  status              bpm_core.workflow_status not null default 'Running',
  lock_version        integer not null default 0,
  live_tokens         bpm_core.token_count not null default 0,
  variables           jsonb not null default '{}',
  created_at          timestamptz not null,
  ended_at            timestamptz,
  primary key (id, tenant_id),
  foreign key (tenant_id, process_instance_id) references bpm_core.process_instance,
  foreign key (tenant_id, workflow_version_id) references bpm_core.workflow_version,
  unique (process_instance_id, binding_key, trigger_key, tenant_id),
  check ((inputs is null) = (parent_token_id is null) and (ended_at is null) = (status < 'Completed'))
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.1, autovacuum_vacuum_cost_delay = 0);
create index workflow_instance_of_parent on bpm_core.workflow_instance (parent_token_id) where parent_token_id is not null;
comment on table bpm_core.workflow_instance is 'The lock and version of everything inside it. A command locks this row first.';
comment on column bpm_core.workflow_instance.ends_process is 'It is the only binding of its process, which ends in the command that ends this.';
comment on column bpm_core.workflow_instance.parent_token_id is 'Of an instance that a call activity called: the token that waits there. trigger_key is that token and its visit.';
comment on column bpm_core.workflow_instance.inputs is 'Of a called instance: what it was given; it sees this in the place of the process variables.';
comment on column bpm_core.workflow_instance.live_tokens is 'Tokens that are Ready, Executing, Waiting or Failed; kept as a counter so that the end of one branch of thousands costs one row. The bound ends a diagram whose forks multiply without end: its token becomes an incident.';

create table bpm_core.instance_migration (
  tenant_id            text collate "C" not null default '',
  workflow_instance_id uuid not null,
  seq                  bigint not null,
  from_version_id      uuid not null,
  to_version_id        uuid not null,
  migrated_at          timestamptz not null,
  primary key (tenant_id, workflow_instance_id, seq),
  foreign key (tenant_id, workflow_instance_id) references bpm_core.workflow_instance (tenant_id, id),
  foreign key (tenant_id, from_version_id) references bpm_core.workflow_version,
  foreign key (tenant_id, to_version_id) references bpm_core.workflow_version
);
comment on table bpm_core.instance_migration is 'Which versions an instance was pinned to before: rows of its history before seq speak of from_version_id. Append-only.';

create table bpm_core.scope (
  tenant_id            text collate "C" not null default '',
  id                   uuid not null,
  workflow_instance_id uuid not null,
  parent_scope_id      uuid,
  node_id              text collate "C" not null,
  host_token_id        uuid not null,
  variables            jsonb not null default '{}',
  live_tokens          integer not null default 0 check (live_tokens >= 0),
  mi_index             integer,
  is_copy              boolean not null default false,
  error                jsonb,
  visit                integer not null default 0,
  output               jsonb,
  state                text not null default 'Open' check (state in ('Open', 'Completed', 'Cancelled')),
  primary key (tenant_id, id),
  foreign key (tenant_id, workflow_instance_id) references bpm_core.workflow_instance (tenant_id, id),
  check (state = 'Open' or live_tokens = 0)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.1);
create index scope_of_instance on bpm_core.scope (workflow_instance_id);
create index scope_of_parent on bpm_core.scope (parent_scope_id) where parent_scope_id is not null;
create index scope_of_host on bpm_core.scope (host_token_id);
comment on table bpm_core.scope is 'Sub-process, multi-instance body, event sub-process, transaction. The root scope has no row; in keys it is the zero uuid.';
comment on column bpm_core.scope.node_id is 'The activity whose inside this is; its token, host_token_id, rests there until the scope ends.';
comment on column bpm_core.scope.parent_scope_id is 'The scope the host token is in; null: the root.';
comment on column bpm_core.scope.variables is 'What was declared here: by input mappings, by a multi-instance. Everything else inner steps write goes outwards.';
comment on column bpm_core.scope.is_copy is 'The scope of a compensation handler: variables is the snapshot of its record, and what is written to it goes outwards as well.';
comment on column bpm_core.scope.error is 'Of the compensation of a saga: what went wrong, {code, message}, and goes on outwards when it is done.';
comment on column bpm_core.scope.live_tokens is 'Live tokens directly in this scope; 0 ends it.';

comment on column bpm_core.scope.mi_index is 'Of one item of a multi-instance or turn of a loop: which, from 0.';
comment on column bpm_core.scope.visit is 'Of an item: the visit of its host, so that a loop that comes again finds its own.';
comment on column bpm_core.scope.output is 'Of a finished item: its part of the output collection, gathered when the last one ends.';

create table bpm_core.multi_instance (
  tenant_id            text collate "C" not null default '',
  host_token_id        uuid not null,
  workflow_instance_id uuid not null,
  visit                integer not null,
  node_id              text collate "C" not null,
  mode                 text not null check (mode in ('Parallel', 'Sequential', 'Loop')),
  total                integer not null check (total > 0),
  created              integer not null,
  done                 integer not null default 0 check (done >= 0),
  output_bytes         bigint not null default 0,
  declared             jsonb not null default '{}' check (jsonb_typeof(declared) = 'object'),
  primary key (tenant_id, host_token_id),
  foreign key (tenant_id, workflow_instance_id) references bpm_core.workflow_instance (tenant_id, id),
  check (created between done and total)
) with (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.02);
create index multi_instance_of_instance on bpm_core.multi_instance (workflow_instance_id);
comment on table bpm_core.multi_instance is 'A multi-instance activity or a loop that is going on: how many items there are, were begun and have ended. Deleted when it ends; the scopes of its items stay.';
comment on column bpm_core.multi_instance.host_token_id is 'The token that rests at the node until all items have ended.';
comment on column bpm_core.multi_instance.total is 'Frozen at entry; of a loop without a maximum 2147483647.';
comment on column bpm_core.multi_instance.declared is 'Variables every item has of its own, besides its element and counter: those the output element names.';

create table bpm_core.multi_instance_part (
  tenant_id     text collate "C" not null default '',
  host_token_id uuid not null,
  part          integer not null,
  items         jsonb not null check (jsonb_typeof(items) = 'array'),
  primary key (tenant_id, host_token_id, part)
) with (autovacuum_vacuum_scale_factor = 0.02);
comment on table bpm_core.multi_instance_part is 'The collection of a multi-instance as it was at entry, 1,000 elements a row, as far as items were not begun at once. Deleted with its multi_instance.';

create table bpm_core.token_transition (
  from_state bpm_core.token_state not null,
  to_state   bpm_core.token_state not null,
  primary key (from_state, to_state)
);
comment on table bpm_core.token_transition is 'The moves a token may make, for tests and the invariant; not looked up on every move.';
insert into bpm_core.token_transition (from_state, to_state) values
  ('Ready', 'Executing'), ('Ready', 'Terminated'),
  ('Executing', 'Waiting'), ('Executing', 'Completed'), ('Executing', 'Failed'), ('Executing', 'Terminated'), ('Executing', 'Ready'),
  ('Waiting', 'Executing'), ('Waiting', 'Waiting'), ('Waiting', 'Ready'), ('Waiting', 'Completed'), ('Waiting', 'Failed'), ('Waiting', 'Terminated'),
  ('Failed', 'Ready'), ('Failed', 'Waiting'), ('Failed', 'Terminated');

create table bpm_core.token (
  tenant_id            text collate "C" not null default '',
  id                   uuid not null,
  workflow_instance_id uuid not null,
  scope_id             uuid not null default '00000000-0000-0000-0000-000000000000',
  node_id              text collate "C" not null,
  via_flow_id          text collate "C",
  visit                integer not null default 0,
  state                bpm_core.token_state not null,
  mode                 bpm_core.token_mode not null default 'Forward',
  attempt              integer not null default 0,
  version              integer not null default 0,
  steps                integer not null default 0,
  parallel_group_id    uuid,
  ready_at             timestamptz,
  updated_at           timestamptz not null,
  primary key (id, tenant_id),
  foreign key (tenant_id, workflow_instance_id) references bpm_core.workflow_instance (tenant_id, id),
  check ((state = 'Ready') = (ready_at is not null))
) with (fillfactor = 75, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.1, autovacuum_vacuum_cost_delay = 0);
create index token_of_instance on bpm_core.token (workflow_instance_id);
create index token_of_scope on bpm_core.token (scope_id) where scope_id <> '00000000-0000-0000-0000-000000000000';
create index token_ready on bpm_core.token (tenant_id, ready_at, id) where state = 'Ready';
comment on table bpm_core.token is 'A place of execution, moving from node to node. Written where it rests, forks or ends. No index on the other live states: the planner misuses it.';
comment on column bpm_core.token.ready_at is 'When tick may go on with a parked token; what the picker orders by; infinity: set aside until its instance is resumed. Apart from updated_at so that ordinary moves touch no indexed column.';
comment on column bpm_core.token.visit is 'Grows each time the token comes to rest, so that tasks and approvals of an earlier visit are not mistaken for this one.';
comment on column bpm_core.token.steps is 'Hops made since it last rested; past the loop budget an incident.';
comment on column bpm_core.token.via_flow_id is 'The flow it came over; a Ready token enters node_id over it when tick goes on with it.';

create table bpm_core.parallel_join (
  tenant_id            text collate "C" not null default '',
  workflow_instance_id uuid not null,
  scope_id             uuid not null,
  node_id              text collate "C" not null,
  round                integer not null,
  parallel_group_id    uuid,
  expected             integer not null check (expected > 0),
  joined               integer not null check (joined between 1 and expected),
  fired_at             timestamptz,
  primary key (tenant_id, workflow_instance_id, scope_id, node_id, round),
  check ((fired_at is not null) <= (joined = expected))
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.1);
create table bpm_core.parallel_join_arrival (
  tenant_id            text collate "C" not null default '',
  workflow_instance_id uuid not null,
  scope_id             uuid not null,
  node_id              text collate "C" not null,
  flow_id              text collate "C" not null,
  round                integer not null,
  token_id             uuid not null,
  primary key (tenant_id, workflow_instance_id, scope_id, node_id, flow_id, round)
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.1);
comment on table bpm_core.parallel_join is 'One round of one join. The n-th token over an incoming flow belongs to round n; it fires when every flow has brought one.';

create table bpm_core.inclusive_join (
  tenant_id            text collate "C" not null default '',
  workflow_instance_id uuid not null,
  scope_id             uuid not null,
  node_id              text collate "C" not null,
  round                integer not null default 1,
  waiting              integer not null check (waiting >= 0),
  filled               bit varying not null,
  blocked_by           uuid,
  primary key (tenant_id, workflow_instance_id, scope_id, node_id)
) with (fillfactor = 75, autovacuum_vacuum_scale_factor = 0.02);
comment on table bpm_core.inclusive_join is
  'What waits at an inclusive join, if anything. Its arrivals are in parallel_join_arrival: the first over each flow in the round that is collected, surplus in those after it; a round has its row in parallel_join when it fires.';
comment on column bpm_core.inclusive_join.round is 'The round that is collected.';
comment on column bpm_core.inclusive_join.waiting is 'How many tokens wait, surplus included.';
comment on column bpm_core.inclusive_join.filled is 'One bit per incoming flow: it has brought a token to this round.';
comment on column bpm_core.inclusive_join.blocked_by is 'A token that could still come over an empty flow when last looked; while it can, the others need not be looked at.';

create table bpm_core.compensation_record (
  tenant_id            text collate "C" not null default '',
  id                   uuid not null,
  workflow_instance_id uuid not null,
  scope_id             uuid not null,
  inner_scope_id       uuid,
  node_id              text collate "C" not null,
  event_id             text collate "C" not null,
  handler_ref          text collate "C" not null,
  position             integer not null check (position > 0),
  status               bpm_core.compensation_status not null default 'Pending',
  snapshot             jsonb not null,
  recorded_at          timestamptz not null,
  thrower_token_id     uuid,
  handler_scope_id     uuid,
  ended_at             timestamptz,
  primary key (tenant_id, id),
  foreign key (tenant_id, workflow_instance_id) references bpm_core.workflow_instance (tenant_id, id),
  unique (workflow_instance_id, position, tenant_id),
  check ((status = 'Pending') = (ended_at is null)),
  check (handler_scope_id is null or thrower_token_id is not null)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);
create index compensation_of_thrower on bpm_core.compensation_record (thrower_token_id, position) where thrower_token_id is not null;
create index compensation_of_inner on bpm_core.compensation_record (inner_scope_id) where inner_scope_id is not null;
create index compensation_of_handler on bpm_core.compensation_record (handler_scope_id) where handler_scope_id is not null;
comment on table bpm_core.compensation_record is 'The ledger of what can be undone: one row for each completed activity that has a compensation handler. Undone from the highest position down, one at a time.';
comment on column bpm_core.compensation_record.scope_id is 'The scope in which the activity was completed; the zero uuid at the root.';
comment on column bpm_core.compensation_record.inner_scope_id is 'Of a sub-process: the scope it was.';
comment on column bpm_core.compensation_record.event_id is 'Where the handler begins: the compensation boundary event of the activity, or the start event of its compensation event sub-process.';
comment on column bpm_core.compensation_record.snapshot is 'The variables visible when the activity was completed.';
comment on column bpm_core.compensation_record.thrower_token_id is 'The token that waits for the compensation this record is part of.';
comment on column bpm_core.compensation_record.handler_scope_id is 'The scope the handler runs in, or ran in last.';

create table bpm_core.timer (
  tenant_id            text collate "C" not null default '',
  id                   uuid not null,
  workflow_instance_id uuid,
  process_version_id   uuid,
  token_id             uuid,
  visit                integer not null default 0,
  node_id              text collate "C" not null,
  kind                 text not null check (kind in ('Duration', 'Date', 'Cycle', 'Cron')),
  rule                 text not null,
  time_zone            text,
  anchor_at            timestamptz not null,
  scheduled_at         timestamptz not null,
  due_at               timestamptz not null,
  remaining            integer,
  catch_up             text not null default 'Once' check (catch_up in ('Once', 'All', 'Skip')),
  status               bpm_core.timer_status not null default 'Scheduled',
  primary key (tenant_id, id),
  foreign key (tenant_id, process_version_id) references bpm_core.process_version,
  check ((workflow_instance_id is null) <> (process_version_id is null))
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);
create index timer_due on bpm_core.timer (tenant_id, due_at, id) where status = 'Scheduled';
create index timer_of_token on bpm_core.timer (token_id);
create index timer_of_version on bpm_core.timer (process_version_id, id) where process_version_id is not null;
comment on column bpm_core.timer.scheduled_at is 'The instant on the grid: anchor_at + k × interval for a cycle.';
comment on column bpm_core.timer.due_at is 'When it may fire and where pickers find it: greatest(scheduled_at, the clock at the write).';
comment on column bpm_core.timer.remaining is 'How often it still fires, this time included; null: for ever; 0, of start timers only: this was the last.';
comment on column bpm_core.timer.process_version_id is 'Of a start timer: the version it starts. Changed only under the lock of its process_definition.';

create table bpm_core.subscription (
  tenant_id            text collate "C" not null default '',
  id                   uuid not null,
  workflow_instance_id uuid,
  process_version_id   uuid,
  token_id             uuid,
  visit                integer not null default 0,
  node_id              text collate "C" not null,
  kind                 text not null check (kind in ('Message', 'Signal', 'Conditional')),
  name                 text collate "C" not null,
  correlation_key      text collate "C",
  state                bpm_core.subscription_state not null default 'Open',
  created_at           timestamptz not null,
  last_met             boolean not null default false,
  opened_by            xid8 not null default pg_current_xact_id(),
  primary key (tenant_id, id),
  foreign key (tenant_id, process_version_id) references bpm_core.process_version,
  check ((workflow_instance_id is null) <> (process_version_id is null))
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);
create index subscription_open on bpm_core.subscription (name, correlation_key, created_at, id) where state = 'Open' and kind = 'Message';
create index subscription_signal on bpm_core.subscription (name, opened_by) where state = 'Open' and kind = 'Signal' and workflow_instance_id is not null;
create index subscription_start on bpm_core.subscription (name) where state = 'Open' and kind = 'Signal' and process_version_id is not null;
create index subscription_conditional on bpm_core.subscription (workflow_instance_id) where kind = 'Conditional';
create index subscription_of_token on bpm_core.subscription (token_id);
create index subscription_of_version on bpm_core.subscription (process_version_id) where process_version_id is not null;
comment on column bpm_core.subscription.process_version_id is 'Of a start event: the version it starts, as often as its message or signal comes. Without a key.';
comment on column bpm_core.subscription.last_met is 'Of a condition: whether it was true when last asked; one that does not interrupt takes effect when it turns true.';
comment on column bpm_core.subscription.opened_by is 'The transaction that opened it. What was opened before the oldest transaction that still runs, everybody sees: signals go on from there.';
comment on table bpm_core.subscription is 'A wait for a message or a signal. Changed only under the lock of its instance; which message it gets is decided under the lock of the message key.';

create table bpm_core.message (
  tenant_id       text collate "C" not null default '',
  id              uuid not null,
  name            text collate "C" not null,
  correlation_key text collate "C" not null,
  message_id      text collate "C",
  payload         jsonb not null default '{}',
  content_hash    bytea not null,
  state           bpm_core.message_state not null,
  correlated_to   uuid,
  started_id      uuid,
  received_at     timestamptz not null,
  expires_at      timestamptz not null,
  primary key (tenant_id, id),
  unique (message_id, tenant_id),
  check (num_nonnulls(correlated_to, started_id) = (state = 'Correlated')::integer)
) with (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.02);
create index message_buffered on bpm_core.message (name, correlation_key, received_at, id) where state = 'Buffered';
-- As with inbox_due: what is always true keeps it from look-ups by key, whose conditions do not prove it.
create index message_expiry on bpm_core.message (tenant_id, expires_at, id) where state = 'Buffered' and expires_at is not null;
create index message_of_start on bpm_core.message (started_id) where started_id is not null;
create unique index message_of_subscription on bpm_core.message (correlated_to, tenant_id) where correlated_to is not null;
comment on column bpm_core.message.correlated_to is 'The subscription that gets it; at most one message per subscription.';
comment on column bpm_core.message.started_id is 'The workflow instance it started.';

create table bpm_core.signal (
  tenant_id text collate "C" not null default '',
  id        uuid not null,
  name      text collate "C" not null,
  payload   jsonb not null default '{}',
  receivers integer not null check (receivers >= 0),
  sent_at   timestamptz not null,
  safe_from xid8 not null,
  server_id bigint not null,
  primary key (tenant_id, id)
) with (autovacuum_vacuum_insert_scale_factor = 0.1);
-- The last one of its name. Hashed, so that the primary key cannot answer for it.
create index signal_last on bpm_core.signal (hashtextextended(tenant_id || chr(31) || name, 0), id);
comment on table bpm_core.signal is 'A signal, broadcast once to every wait that was open then; the inbox rows it became name it.';
comment on column bpm_core.signal.receivers is 'How many waits were open when it was sent.';
comment on column bpm_core.signal.safe_from is 'No wait for its name opened by an earlier transaction is open any more, nor ever will be (decision 0043).';
comment on column bpm_core.signal.server_id is 'Of the server whose transactions safe_from counts: a database that was restored elsewhere has others.';

create table bpm_core.inbox (
  tenant_id    text collate "C" not null default '',
  id           uuid not null,
  target_kind  text not null check (target_kind in ('WorkflowInstance', 'ProcessInstance')),
  target_id    uuid not null,
  kind         text not null check (kind in ('Message', 'Signal', 'Answer', 'CallEnded', 'CallFailed', 'CallEscalated', 'Cancel', 'Sweep', 'Continue', 'Recheck', 'WorkflowEnded')),
  payload      jsonb not null,
  available_at timestamptz not null,
  attempts     integer not null default 0,
  last_error   text,
  primary key (tenant_id, id)
) with (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.01);
-- The predicates are always true; they keep the indexes from answering look-ups by key, whose conditions do not prove them.
create index inbox_due on bpm_core.inbox (tenant_id, available_at, id) where available_at is not null;
create index inbox_of_target on bpm_core.inbox (target_id, id) where target_id is not null;
comment on column bpm_core.inbox.target_kind is 'ProcessInstance: of a process of several workflows, which hears that one of them has ended.';
comment on table bpm_core.inbox is 'What reaches an instance from outside its own command; applied by tick under the target''s lock and deleted in the same transaction. id is time-ordered: per target it is the order of arrival.';
comment on column bpm_core.inbox.available_at is 'When tick may apply it; infinity: set aside until its instance is resumed.';

create table bpm_core.incident (
  tenant_id            text collate "C" not null default '',
  id                   uuid not null,
  workflow_instance_id uuid not null,
  token_id             uuid,
  node_id              text collate "C",
  code                 text not null,
  message              text not null,
  detail               jsonb not null default '{}',
  state                bpm_core.incident_state not null default 'Open',
  created_at           timestamptz not null,
  resolved_at          timestamptz,
  resolved_by          text,
  primary key (tenant_id, id),
  foreign key (tenant_id, workflow_instance_id) references bpm_core.workflow_instance (tenant_id, id),
  check ((state = 'Resolved') = (resolved_at is not null and resolved_by is not null))
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.1);
create index incident_of_instance on bpm_core.incident (workflow_instance_id);
create index incident_open on bpm_core.incident (tenant_id, created_at, id) where state = 'Open';
comment on table bpm_core.incident is 'Every "cannot go on" is one row with the values seen; resolving drives the same token again.';
