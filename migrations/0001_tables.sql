-- Types and tables.
-- Written from sql/ by `make baseline` until the first release; from then on it never changes.

set local search_path = pg_catalog, pg_temp;

-- from 00_foundation/tables.sql
-- Clock, ids, errors, settings, tenants. The few tables here are global, small and read-mostly.

create type bpm.outcome as enum (
  'Done', 'Completed', 'Failed', 'Retrying', 'Released', 'Extended', 'Sent', 'Unknown', 'Pending', 'LeaseLost', 'Cancelled',
  'WrongState', 'NotFound', 'Rejected', 'Conflict', 'Suspended', 'TooLate');
comment on type bpm.outcome is 'What a set-based command says of each item. Closed: an item that failed leaves with its outcome, it does not raise.';

create type bpm_core.capability as enum ('reader', 'worker', 'operator', 'admin');

create table bpm_core.setting (
  name       text collate "C" primary key check (name ~ '^[a-z_]+(\.[a-z_0-9]+)+$'),
  value      jsonb not null,
  updated_at timestamptz not null,
  updated_by text not null
);
comment on table bpm_core.setting is 'Engine settings that differ from their default. Set by bpm.set_setting, read by bpm_core.setting_*.';

create table bpm_core.tenant (
  tenant_id  text collate "C" primary key check (tenant_id ~ '^[^%[:cntrl:]]{0,200}$'),
  name       text not null,
  state      text not null default 'Active' check (state in ('Active', 'Suspended')),
  limits     jsonb not null default '{}' check (jsonb_typeof(limits) = 'object'),
  weight     integer not null default 1 check (weight between 1 and 1000),
  created_at timestamptz not null,
  host_id    text collate "C" generated always as (nullif(tenant_id, '')) stored
);
comment on table bpm_core.tenant is 'Who owns business rows. '''' is the tenant of those who have none.';
comment on column bpm_core.tenant.weight is 'Its share of the runners while there is more to do than they can: in proportion to the weights of all.';
comment on column bpm_core.tenant.host_id is 'The tenant as the host application knows it, for attach_identity; null: it knows nothing of the tenant without a name.';

create table bpm_core.tenant_grant (
  role_name      text collate "C" not null,
  tenant_pattern text collate "C" not null,
  capability     bpm_core.capability not null,
  granted_by     text not null,
  granted_at     timestamptz not null,
  primary key (role_name, tenant_pattern, capability)
);
create index tenant_grant_of_tenant on bpm_core.tenant_grant (tenant_pattern);
create index tenant_grant_pattern on bpm_core.tenant_grant (role_name) where right(tenant_pattern, 1) = '%';
comment on table bpm_core.tenant_grant is
  'Which database role may do what for which tenants. A pattern is a tenant id or, with a trailing %, a prefix. Each capability includes those before it: reader, worker, operator, admin.';

-- from 10_record/tables.sql
-- What happened and what is true. Append-only.

create type bpm_core.history_kind as enum (
  'InstanceStarted', 'InstanceCompleted', 'InstanceFailed', 'InstanceCancelled', 'InstanceSuspended', 'InstanceResumed', 'InstanceMigrated', 'VariablesSet',
  'InstanceSkipped', 'VariablesPassed', 'ProcessEnded',
  'TokenMoved', 'FlowChosen', 'TokenForked', 'TokenBorn', 'JoinReached', 'JoinFired', 'TokenParked', 'TokenResumed', 'TokenCompleted', 'TokenTerminated',
  'TokenPlaced', 'NodeSkipped',
  'ScopeOpened', 'ScopeCompleted', 'ScopeCancelled',
  'CallStarted', 'CallCompleted', 'CallFailed',
  'TaskCompleted', 'TaskFailed', 'TaskRetried', 'TaskCancelled', 'TaskRequeued', 'TaskExpired', 'TaskReassigned', 'TaskHeld', 'TaskReleased',
  'TimerStarted', 'TimerFired', 'TimerCancelled', 'TimerHeld', 'TimerReleased',
  'MessageAwaited', 'MessageReceived', 'SignalAwaited', 'SignalReceived', 'SignalThrown', 'ConditionAwaited', 'ConditionMet', 'SubscriptionClosed',
  'ErrorThrown', 'ErrorCaught', 'EscalationThrown', 'EscalationCaught', 'IncidentOpened', 'IncidentResolved',
  'CompensationRecorded', 'CompensationStarted', 'CompensationCompleted', 'CompensationFailed', 'TransactionCancelled',
  'ApprovalRequested', 'ApprovalDecided', 'ApprovalApplied', 'ApprovalClosed', 'ApprovalVoted', 'ApprovalReminded', 'ApprovalEscalated',
  'ReviewRequested', 'ReviewDecided', 'ReviewSuperseded', 'ReviewClosed',
  'CommandWritten', 'CommandSent', 'CommandFailed', 'CommandUnknown', 'CommandRetried', 'CommandCancelled', 'CommandReconciled');
comment on type bpm_core.history_kind is 'Closed vocabulary of history, explained in docs/reference/history.md.';

create table bpm_core.history_event (
  tenant_id            text collate "C" not null default '',
  workflow_instance_id uuid not null,
  seq                  bigint generated always as identity (cache 1),
  at                   timestamptz not null,
  kind                 bpm_core.history_kind not null,
  token_id             uuid,
  node_id              text collate "C",
  from_state           text,
  to_state             text,
  actor                text,
  detail               jsonb,
  primary key (workflow_instance_id, seq, at, tenant_id)
) partition by range (at);
comment on table bpm_core.history_event is
  'Every change of instance, token, timer, decision and delivery, written in the transaction of the change; never updated. Per instance seq is commit order: it is drawn under the instance lock.';
comment on column bpm_core.history_event.detail is 'What replay needs beyond the columns, for instance the patch of variables of a completed task.';

create table bpm_core.audit_event (
  tenant_id         text collate "C" not null default '',
  id                uuid not null,
  actor             text not null,
  action            text not null,
  aggregate_type    text not null,
  aggregate_id      text not null,
  aggregate_version integer,
  trace_id          text,
  reason            text,
  detail            jsonb not null default '{}',
  at                timestamptz not null,
  primary key (tenant_id, id)
) with (autovacuum_vacuum_insert_scale_factor = 0.1);
create index audit_event_of_aggregate on bpm_core.audit_event (tenant_id, aggregate_type, aggregate_id, at);
comment on table bpm_core.audit_event is 'Every administrative or human action. What the machine does is in history_event.';

create table bpm_core.idempotency_key (
  tenant_id    text collate "C" not null default '',
  operation    text collate "C" not null,
  key          text collate "C" not null check (length(key) between 1 and 300),
  request_hash bytea not null,
  response     jsonb,
  status       text not null default 'Done' check (status in ('Done')),
  instance_id  uuid,
  created_at   timestamptz not null,
  expires_at   timestamptz not null,
  primary key (tenant_id, operation, key)
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.1);
create index idempotency_key_of_instance on bpm_core.idempotency_key (instance_id);
create index idempotency_key_expiry on bpm_core.idempotency_key (expires_at);
comment on table bpm_core.idempotency_key is 'Same key and request hash: the stored response. Another hash: BP409.';

create table bpm_core.evidence (
  tenant_id     text collate "C" not null default '',
  id            uuid not null,
  identity_hash bytea not null check (length(identity_hash) = 32),
  object_key    text collate "C" check (length(object_key) between 1 and 1024),
  sha256        bytea not null check (length(sha256) = 32),
  mime          text,
  size_bytes    bigint check (size_bytes >= 0),
  occurred_at   timestamptz,
  created_by    text not null,
  created_at    timestamptz not null,
  purged_at     timestamptz,
  purged_by     text,
  primary key (tenant_id, id),
  unique (identity_hash, tenant_id),
  check ((purged_at is null) = (object_key is not null)),
  check ((purged_at is null) = (purged_by is null))
) with (autovacuum_vacuum_insert_scale_factor = 0.1);
comment on table bpm_core.evidence is 'What proves something, as metadata; the object itself lies in a store of its own. Never updated but for the purge, which leaves a tombstone with the hash.';
comment on column bpm_core.evidence.identity_hash is 'sha256 over the hash of the content and the object key: the same object is kept once, and known again after it was purged.';
comment on column bpm_core.evidence.object_key is 'Where the object lies: a key or an address, never with a credential. Cleared by the purge: a key can tell of a person.';

create table bpm_core.subject (
  tenant_id    text collate "C" not null default '',
  id           uuid not null,
  subject_type text collate "C" not null check (length(subject_type) between 1 and 200),
  subject_key  text collate "C" not null check (length(subject_key) between 1 and 300),
  lock_version integer not null default 0 check (lock_version >= 0),
  created_at   timestamptz not null,
  updated_at   timestamptz not null,
  primary key (tenant_id, id),
  unique (subject_key, subject_type, tenant_id)
) with (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.02);
comment on table bpm_core.subject is 'What facts are about: a shipment, an order, a customer. Its state is its current facts.';
comment on column bpm_core.subject.lock_version is 'Grows by one with every accepted result or approved review that writes facts about it.';

create table bpm_core.fact (
  tenant_id        text collate "C" not null default '',
  id               uuid not null,
  subject_id       uuid not null,
  subject_version  integer not null check (subject_version > 0),
  name             text collate "C" not null check (length(name) between 1 and 200),
  value            jsonb not null,
  task_instance_id uuid,
  attempt          integer,
  review_id        uuid,
  evidence_ids     uuid[] not null default '{}',
  confirmed_by     text not null,
  superseded_by    uuid,
  at               timestamptz not null,
  primary key (tenant_id, id),
  foreign key (tenant_id, subject_id) references bpm_core.subject,
  foreign key (tenant_id, superseded_by) references bpm_core.fact,
  check ((task_instance_id is null) = (attempt is null)),
  check (task_instance_id is not null or review_id is not null),
  check (superseded_by <> id)
) with (autovacuum_vacuum_insert_scale_factor = 0.1);
create unique index fact_current on bpm_core.fact (subject_id, name, tenant_id) where superseded_by is null;
create index fact_of_subject on bpm_core.fact (subject_id, at);
create index fact_of_result on bpm_core.fact (task_instance_id, attempt);
create index fact_of_successor on bpm_core.fact (superseded_by) where superseded_by is not null;
comment on table bpm_core.fact is 'What is true of a subject, and how we know: from which accepted result or approved review, with which evidence. Append-only; superseded_by is set once.';
comment on column bpm_core.fact.subject_version is 'The lock_version its subject got with it.';
comment on column bpm_core.fact.task_instance_id is 'With attempt: the result it came with.';

-- A fact as it was told, and by what: an accepted result or an approved review. item tells those told together.
create type bpm_core.told_fact as (
  item integer, subject_type text, subject_key text, name text, value jsonb, expected_version integer, evidence_ids uuid[],
  task_instance_id uuid, attempt integer, review_id uuid, confirmed_by text);

-- from 20_catalog/tables.sql
-- What may run: definitions and their immutable versions, the compiled graph, destinations.
-- As in 40_flow, no index but the primary keys begins with tenant_id.

create type bpm_core.version_status as enum ('Published', 'Deprecated');
create type bpm_core.executor_kind as enum ('Service', 'Human', 'Script', 'Decision');
-- True or null: a domain for the reason given at token_count.
create domain bpm_core.only_true as boolean check (value);

-- The order is the order of work within a hop: kinds that end or interrupt run before kinds that open something, and those before what may meet it.
create type bpm_core.node_kind as enum (
  'TerminateEnd', 'ErrorEnd', 'CancelEnd', 'EscalationThrow', 'ItemEnd',
  'EndEvent', 'CompensationDone',
  'ParallelJoin', 'InclusiveJoin', 'ParallelFork', 'InclusiveSplit', 'ExclusiveGateway', 'PassThrough', 'CompensationMark', 'StartEvent',
  'TimerCatch', 'MessageCatch', 'SignalCatch', 'ConditionalCatch', 'EventGateway',
  'TimerBoundary', 'MessageBoundary', 'SignalBoundary', 'ConditionalBoundary',
  'ErrorBoundary', 'EscalationBoundary', 'CancelBoundary', 'CompensationBoundary',
  'ServiceTask', 'UserTask', 'ApprovalTask', 'SendTask',
  'SubProcess', 'EventSubProcess', 'MultiInstance', 'StandardLoop', 'CallActivity',
  'SignalThrow', 'CompensationThrow',
  'MessageStart', 'TimerStart', 'SignalStart');

create table bpm_core.role_definition (
  tenant_id            text collate "C" not null default '',
  id                   uuid not null,
  code                 text collate "C" not null,
  published_version_id uuid,
  archived_at          timestamptz,
  created_at           timestamptz not null,
  primary key (tenant_id, id),
  unique (code, tenant_id)
);
create table bpm_core.role_version (
  tenant_id        text collate "C" not null default '',
  id               uuid not null,
  definition_id    uuid not null,
  version          integer not null check (version > 0),
  status           bpm_core.version_status not null,
  content_hash     bytea not null,
  responsibilities jsonb not null default '[]' check (jsonb_typeof(responsibilities) = 'array'),
  policy           jsonb not null default '{}' check (jsonb_typeof(policy) = 'object'),
  capabilities     jsonb not null default '[]' check (jsonb_typeof(capabilities) = 'array'),
  context_profile  jsonb not null default '{}' check (jsonb_typeof(context_profile) = 'object'),
  created_by       text not null,
  published_at     timestamptz not null,
  primary key (tenant_id, id),
  unique (definition_id, version, tenant_id),
  foreign key (tenant_id, definition_id) references bpm_core.role_definition
);
alter table bpm_core.role_definition add foreign key (tenant_id, published_version_id) references bpm_core.role_version;
comment on table bpm_core.role_version is 'Responsibilities, policy, capabilities and context profile of an owner role; no model or provider names.';

create table bpm_core.task_definition (
  tenant_id            text collate "C" not null default '',
  id                   uuid not null,
  code                 text collate "C" not null,
  published_version_id uuid,
  archived_at          timestamptz,
  created_at           timestamptz not null,
  primary key (tenant_id, id),
  unique (code, tenant_id)
);
create table bpm_core.task_version (
  tenant_id         text collate "C" not null default '',
  id                uuid not null,
  definition_id     uuid not null,
  version           integer not null check (version > 0),
  status            bpm_core.version_status not null,
  content_hash      bytea not null,
  task_type         text collate "C" not null check (length(task_type) between 1 and 200),
  executor_kind     bpm_core.executor_kind not null default 'Service',
  input_schema      jsonb,
  result_schema     jsonb,
  max_attempts      integer not null default 3 check (max_attempts between 1 and 1000),
  backoff           interval not null default interval '1 second' check (backoff >= interval '0'),
  backoff_factor    numeric not null default 2 check (backoff_factor between 1 and 100),
  backoff_cap       interval not null default interval '5 minutes',
  jitter            numeric not null default 0.1 check (jitter between 0 and 1),
  lease             interval not null default interval '30 seconds' check (lease between interval '1 second' and interval '1 day'),
  approval_required boolean not null default false,
  exclusion_rule    jsonb,
  approval_policy   jsonb,
  review_required   boolean not null default false,
  created_by        text not null,
  published_at      timestamptz not null,
  primary key (tenant_id, id),
  unique (definition_id, version, tenant_id),
  foreign key (tenant_id, definition_id) references bpm_core.task_definition
);
alter table bpm_core.task_definition add foreign key (tenant_id, published_version_id) references bpm_core.task_version;
comment on table bpm_core.task_version is 'How one type of task is executed: retries with backoff, lease, schemas, approval.';
comment on column bpm_core.task_version.input_schema is 'JSON Schema, of the part schema_problem lets through, which what a task is given has to meet when it is offered.';
comment on column bpm_core.task_version.result_schema is 'The same of what it gives back: its result, or without one its variables.';
comment on column bpm_core.task_version.exclusion_rule is 'Who may not do it: {"requester": true, "earlier_actors": true or node ids, "actors": names}.';
comment on column bpm_core.task_version.approval_policy is 'How its approvals are decided, as approval_problem lets it through; null: one person, who may be anybody.';
comment on column bpm_core.task_version.jitter is 'Share of the backoff by which it is lengthened at random, 0 to 1.';

create table bpm_core.workflow_definition (
  tenant_id            text collate "C" not null default '',
  id                   uuid not null,
  code                 text collate "C" not null,
  published_version_id uuid,
  archived_at          timestamptz,
  created_at           timestamptz not null,
  primary key (tenant_id, id),
  unique (code, tenant_id)
);
create table bpm_core.workflow_version (
  tenant_id             text collate "C" not null default '',
  id                    uuid not null,
  definition_id         uuid not null,
  version               integer not null check (version > 0),
  status                bpm_core.version_status not null,
  content_hash          bytea not null,
  owner_role_version_id uuid not null,
  name                  text,
  graph                 jsonb not null,
  has_conditions        boolean not null default false,
  start_node_id         text collate "C",
  bpmn_xml              text,
  checksum              bytea,
  created_by            text not null,
  published_at          timestamptz not null,
  primary key (tenant_id, id),
  unique (definition_id, version, tenant_id),
  foreign key (tenant_id, definition_id) references bpm_core.workflow_definition,
  foreign key (tenant_id, owner_role_version_id) references bpm_core.role_version
);
alter table bpm_core.workflow_definition add foreign key (tenant_id, published_version_id) references bpm_core.workflow_version;
comment on table bpm_core.workflow_version is 'One compiled BPMN process. Pins exactly one owner role; graph is the validated task graph, the rows of workflow_node and workflow_flow are the same for the hot path.';
comment on column bpm_core.workflow_version.start_node_id is 'The plain start event at the root, so that a start need not look for it among the nodes; null: a call cannot start it.';

create table bpm_core.workflow_node (
  tenant_id           text collate "C" not null default '',
  workflow_version_id uuid not null,
  node_id             text collate "C" not null,
  kind                bpm_core.node_kind not null,
  element             text not null,
  name                text,
  scope_node_id       text collate "C",
  attached_to         text collate "C",
  interrupting        boolean not null default true,
  incoming            integer not null default 0,
  outgoing            integer not null default 0,
  task_type           text collate "C",
  error_code          text collate "C",
  message_name        text collate "C",
  correlation_path    text,
  timer_kind          text check (timer_kind in ('Duration', 'Date', 'Cycle', 'Cron')),
  timer_rule          text,
  expressions         jsonb not null default '{}' check (jsonb_typeof(expressions) = 'object'),
  attributes          jsonb not null default '{}',
  primary key (tenant_id, workflow_version_id, node_id),
  foreign key (tenant_id, workflow_version_id) references bpm_core.workflow_version
);
create index workflow_node_boundary on bpm_core.workflow_node (attached_to, workflow_version_id, tenant_id) where attached_to is not null;
create index workflow_node_inside on bpm_core.workflow_node (scope_node_id, workflow_version_id, tenant_id) where scope_node_id is not null;
comment on table bpm_core.workflow_node is 'One flow node of a version. node_id is the element''s id; nodes the compiler adds (an implicit split) carry the id of their element and a suffix.';
comment on column bpm_core.workflow_node.kind is 'Which enter_… function handles an arrival.';
comment on column bpm_core.workflow_node.element is 'Local name of the BPMN element, as drawn.';
comment on column bpm_core.workflow_node.scope_node_id is 'The sub-process around it; null at the root.';
comment on column bpm_core.workflow_node.attached_to is 'Host activity of a boundary event; of the start event of an event sub-process: the sub-process around that, on whose token it waits.';
comment on column bpm_core.workflow_node.incoming is 'Number of incoming sequence flows; a join fires with one token of each.';
comment on column bpm_core.workflow_node.error_code is 'Of an error boundary or error end: the code; null catches all. Of an escalation throw event: its code.';
comment on column bpm_core.workflow_node.message_name is 'Of a message or signal event: the name of what it waits for or throws.';
comment on column bpm_core.workflow_node.correlation_path is 'Dotted path into the variables that gives the correlation key; null: the business key.';
comment on column bpm_core.workflow_node.timer_rule is 'As drawn: ISO 8601 duration, date or repeating interval, or a cron rule, without quotes. Its time zone and catch-up policy, where said, are attributes time_zone and catch_up.';
comment on column bpm_core.workflow_node.expressions is 'Compiled expression trees by purpose (timer, correlation, collection, completion, input, output, …), for bpm_core.evaluate.';
comment on column bpm_core.workflow_node.attributes is 'What execution does not look at on every hop: assignee, groups, forms, documentation, extension attributes.';

create table bpm_core.workflow_flow (
  tenant_id           text collate "C" not null default '',
  workflow_version_id uuid not null,
  source_id           text collate "C" not null,
  ord                 integer not null,
  flow_id             text collate "C" not null,
  target_id           text collate "C" not null,
  target_kind         bpm_core.node_kind not null,
  condition           jsonpath,
  condition_constants jsonb not null default '{}',
  condition_source    text,
  is_default          boolean not null default false,
  name                text,
  condition_tree      jsonb,
  is_direct           boolean check (is_direct),
  primary key (tenant_id, workflow_version_id, source_id, ord),
  unique (flow_id, workflow_version_id, tenant_id),
  foreign key (tenant_id, workflow_version_id) references bpm_core.workflow_version,
  foreign key (tenant_id, workflow_version_id, source_id) references bpm_core.workflow_node,
  foreign key (tenant_id, workflow_version_id, target_id) references bpm_core.workflow_node,
  check (condition is null or condition_tree is null)
);
create index workflow_flow_target on bpm_core.workflow_flow (target_id, workflow_version_id, tenant_id);
comment on table bpm_core.workflow_flow is 'Sequence flows. ord is document order with the default flow last, so the first true one can be taken lazily; target_kind is copied from the target: one look-up per hop.';
comment on column bpm_core.workflow_flow.condition_tree is 'What jsonpath cannot say, for evaluate_condition; null is undecidable.';
comment on column bpm_core.workflow_flow.is_direct is 'Nothing is decided, evaluated, armed or joined when a token goes along it: see direct_flows; null: the general way.';
comment on column bpm_core.workflow_flow.condition is 'Strict jsonpath predicate; null: see condition_tree, and without that always true. Evaluated with jsonb_path_match(variables, condition, condition_constants, true); NULL is undecidable and becomes an incident.';

-- Only of versions with inclusive joins.
create table bpm_core.inclusive_flow (
  tenant_id           text collate "C" not null default '',
  workflow_version_id uuid not null,
  node_id             text collate "C" not null,
  flow_id             text collate "C" not null,
  place               integer not null,
  first_place         integer not null,
  flows               integer not null,
  primary key (tenant_id, workflow_version_id, node_id, flow_id),
  foreign key (tenant_id, workflow_version_id, node_id) references bpm_core.workflow_node
);
create table bpm_core.inclusive_reach (
  tenant_id           text collate "C" not null default '',
  workflow_version_id uuid not null,
  node_id             text collate "C" not null,
  reach               bit varying not null,
  primary key (tenant_id, workflow_version_id, node_id),
  foreign key (tenant_id, workflow_version_id, node_id) references bpm_core.workflow_node
);
comment on table bpm_core.inclusive_flow is 'The flows into inclusive joins, numbered within their scope so that those of one join are neighbours.';
comment on column bpm_core.inclusive_flow.node_id is 'The join.';
comment on column bpm_core.inclusive_flow.place is 'The bit of this flow in inclusive_reach.reach, from 0; first_place is that of the first flow into the same join, flows how many there are.';
comment on table bpm_core.inclusive_reach is 'Which flows into inclusive joins a token that stands at a node can still reach without passing the join itself; a node without a row reaches none.';

create table bpm_core.workflow_task_binding (
  tenant_id           text collate "C" not null default '',
  workflow_version_id uuid not null,
  node_id             text collate "C" not null,
  task_version_id     uuid not null,
  task_type           text collate "C" not null,
  max_attempts        integer not null check (max_attempts between 1 and 1000),
  lease               interval not null check (lease between interval '1 second' and interval '1 day'),
  priority_level      smallint not null default 1 check (priority_level between 0 and 2),
  assignee            text,
  candidate_groups    text[] not null default '{}',
  destination_code    text collate "C",
  expressions         jsonb,
  headers             jsonb,
  input_schema        jsonb,
  checks_result       bpm_core.only_true,
  approval            jsonb,
  needs_review        bpm_core.only_true,
  primary key (tenant_id, workflow_version_id, node_id),
  foreign key (tenant_id, workflow_version_id, node_id) references bpm_core.workflow_node,
  foreign key (tenant_id, task_version_id) references bpm_core.task_version
);
comment on table bpm_core.workflow_task_binding is 'Which task version a node is pinned to, with what the node overrides; max_attempts, lease and task_type are resolved here so that entering a task reads one row.';
comment on column bpm_core.workflow_task_binding.input_schema is 'A copy of its task version''s; null: there is none, which costs nothing.';
comment on column bpm_core.workflow_task_binding.checks_result is 'Its task version has a result schema; null: it has none.';
comment on column bpm_core.workflow_task_binding.approval is 'Of a gated node: how it is decided, of setting, task version and node put together; null: one person, who may be anybody.';
comment on column bpm_core.workflow_task_binding.needs_review is 'Results of its task version are reviewed; null: they are not.';
comment on column bpm_core.workflow_task_binding.priority_level is '0 high, 1 normal, 2 low; handed out in that order.';
comment on column bpm_core.workflow_task_binding.expressions is 'What depends on variables, compiled: inputs, outputs, assignee, groups, users, due, follow_up, priority; null: nothing does, which costs nothing.';
comment on column bpm_core.workflow_task_binding.headers is 'What the drawing tells the worker besides the variables, an object of texts.';
comment on column bpm_core.workflow_task_binding.destination_code is 'Send tasks: where the command goes; defaults to the task type.';

create table bpm_core.task_level (
  tenant_id      text collate "C" not null default '',
  task_type      text collate "C" not null,
  priority_level smallint not null check (priority_level between 0 and 2),
  primary key (tenant_id, task_type, priority_level)
);
comment on table bpm_core.task_level is 'Which priority levels tasks of a type can have, in any version ever stored: a claim looks into no others.';

create table bpm_core.process_definition (
  tenant_id            text collate "C" not null default '',
  id                   uuid not null,
  code                 text collate "C" not null,
  published_version_id uuid,
  archived_at          timestamptz,
  created_at           timestamptz not null,
  primary key (tenant_id, id),
  unique (code, tenant_id)
);
create table bpm_core.process_version (
  tenant_id                 text collate "C" not null default '',
  id                        uuid not null,
  definition_id             uuid not null,
  version                   integer not null check (version > 0),
  status                    bpm_core.version_status not null,
  content_hash              bytea not null,
  name                      text,
  first_workflow_version_id uuid not null,
  is_several                boolean not null,
  created_by                text not null,
  published_at              timestamptz not null,
  primary key (tenant_id, id),
  unique (definition_id, version, tenant_id),
  foreign key (tenant_id, definition_id) references bpm_core.process_definition
);
alter table bpm_core.process_definition add foreign key (tenant_id, published_version_id) references bpm_core.process_version;

comment on column bpm_core.process_version.first_workflow_version_id is 'Of its bindings, the one that begins first: what a start needs to know of them, so that it reads this row alone.';
comment on column bpm_core.process_version.is_several is 'Its bindings are more than the one called main that begins at once.';

create table bpm_core.process_workflow_binding (
  tenant_id           text collate "C" not null default '',
  process_version_id  uuid not null,
  binding_key         text collate "C" not null,
  workflow_version_id uuid not null,
  position            integer not null,
  depends_on          text[] not null default '{}',
  start_condition     jsonpath,
  start_tree          jsonb,
  start_source        text,
  primary key (tenant_id, process_version_id, binding_key),
  unique (process_version_id, position, tenant_id),
  foreign key (tenant_id, process_version_id) references bpm_core.process_version,
  foreign key (tenant_id, workflow_version_id) references bpm_core.workflow_version,
  check (start_condition is null or start_tree is null),
  check ((start_source is null) = (start_condition is null and start_tree is null))
);
comment on table bpm_core.process_workflow_binding is 'The workflow versions a process version runs; deploy_bpmn makes one, called main. Written with the version, never changed.';
comment on column bpm_core.process_workflow_binding.depends_on is 'The bindings that have to be completed (or skipped) before this one starts; none: it starts with the process.';
comment on column bpm_core.process_workflow_binding.start_condition is 'Strict jsonpath predicate over the variables of the process, as in workflow_flow; null: see start_tree, and without that always true. Undecidable is never false.';
comment on column bpm_core.process_workflow_binding.start_tree is 'What jsonpath cannot say, for evaluate_condition.';
comment on column bpm_core.process_workflow_binding.start_source is 'The condition as it was written.';

create table bpm_core.destination (
  tenant_id          text collate "C" not null default '',
  id                 uuid not null,
  code               text collate "C" not null,
  kind               text not null check (kind ~ '^[a-z][a-z0-9_.-]{0,49}$'),
  secret_ref         text,
  config             jsonb not null default '{}' check (jsonb_typeof(config) = 'object'),
  key_header         text not null default 'Idempotency-Key',
  key_retention      interval not null default interval '24 hours',
  conflict_means     text not null default 'Failed' check (conflict_means in ('Failed', 'Sent', 'Pending')),
  resend_allowed     boolean not null default false,
  server_error_safe  boolean not null default false,
  receipt_path       text,
  max_attempts       integer not null default 10 check (max_attempts between 1 and 1000),
  backoff            interval not null default interval '1 second',
  backoff_cap        interval not null default interval '5 minutes',
  lease              interval not null default interval '60 seconds',
  ordered            boolean not null default false,
  probe_url          text,
  absent_means       text not null default 'Unknown' check (absent_means in ('Unknown', 'Pending')),
  max_concurrent     integer check (max_concurrent between 1 and 1000),
  rate_limit         integer check (rate_limit between 1 and 1000),
  rate_period        interval not null default interval '1 second',
  breaker_threshold  integer default 20 check (breaker_threshold between 1 and 1000),
  breaker_delay      interval not null default interval '10 seconds',
  created_by         text not null,
  created_at         timestamptz not null,
  updated_at         timestamptz not null,
  primary key (tenant_id, id),
  unique (code, tenant_id)
);
comment on table bpm_core.destination is 'Where commands go and how the receiver behaves (its profile). Never a token or a password: secret_ref names where the driver finds it.';
comment on column bpm_core.destination.conflict_means is 'What HTTP 409 from this receiver says of our key: already done (Sent), in progress (Pending), or reused with another payload (Failed).';
comment on column bpm_core.destination.resend_allowed is 'The receiver honours the key: an Unknown command may be sent again within key_retention.';
comment on column bpm_core.destination.ordered is 'Commands of one business key (without one: of one process instance) leave one after the other: the next waits until the one before has ended.';
comment on column bpm_core.destination.probe_url is 'Where to ask whether a command arrived, {command_id} in it. Null: nowhere.';
comment on column bpm_core.destination.absent_means is 'What 404 to a probe proves: that the command never arrived and never will (Pending: it is sent), or nothing (Unknown).';
comment on column bpm_core.destination.max_concurrent is 'At most so many commands under a lease at once. This, the rate and the breaker hold as they are now, also for commands written before.';
comment on column bpm_core.destination.rate_limit is 'At most so many claims in any span of rate_period.';
comment on column bpm_core.destination.breaker_threshold is 'After so many failures in a row nothing is sent for breaker_delay, then one command to see. Null: never.';
comment on column bpm_core.destination.server_error_safe is '500, 502 and 504 from this receiver mean that nothing was stored.';

create table bpm_core.session_scope_link (
  tenant_id    text collate "C" not null default '',
  id           uuid not null,
  channel      text collate "C" not null check (length(channel) between 1 and 200),
  session_id   text collate "C" not null check (length(session_id) between 1 and 300),
  group_id     text collate "C" check (length(group_id) between 1 and 300),
  display_name text check (length(display_name) <= 300),
  created_at   timestamptz not null,
  updated_at   timestamptz not null,
  host_id      text collate "C" generated always as (nullif(tenant_id, '')) stored,
  primary key (tenant_id, id),
  unique (session_id, channel, tenant_id),
  foreign key (tenant_id) references bpm_core.tenant
);
comment on table bpm_core.session_scope_link is 'Which tenant a session of the host application (a chat, a mailbox, a shop) belongs to. Who people are stays the host''s business: attach_identity ties these columns to its tables.';
comment on column bpm_core.session_scope_link.display_name is 'A snapshot, for people who look at it.';
comment on column bpm_core.session_scope_link.host_id is 'The tenant as the host knows it; null: the tenant without a name.';

-- Working types of reader and compiler: arrays of these, no temporary tables, so that a file can be checked by a read-only caller.

create type bpm_core.bpmn_element as (
  pos        integer,
  parent     integer,
  space      text,
  tag        text,
  id         text,
  attributes jsonb,
  body       text
);
comment on type bpm_core.bpmn_element is
  'One XML element, in document order; what the reader hands to the compiler. space is bpmn, or the alias of an extension namespace (bpm, camunda, flowable, zeebe); attributes of extensions are keyed alias:name; body is the trimmed text of an element without children.';

create type bpm_core.finding as (
  severity text,
  code     text,
  message  text,
  node_id  text,
  flow_id  text,
  line     integer,
  hint     text
);
comment on type bpm_core.finding is 'One fault or warning about a BPMN file.';

create type bpm_core.draft_process as (
  pos        integer,
  process_id text,
  name       text,
  executable boolean,
  deployed   boolean,
  owner_role text
);

create type bpm_core.draft_node as (
  pos              integer,
  process_pos      integer,
  scope_pos        integer,
  scope_id         text,
  scope_tag        text,
  node_id          text,
  tag              text,
  name             text,
  attributes       jsonb,
  extensions       jsonb,
  event            text,
  definition       jsonb,
  default_ref      text,
  attached_to      text,
  interrupting     boolean,
  loop             text,
  lane             text,
  documentation    text,
  incoming         integer,
  outgoing         integer,
  conditional      integer,
  kind             bpm_core.node_kind,
  task_type        text,
  error_code       text,
  message_name     text,
  correlation_path text,
  timer_kind       text,
  timer_rule       text,
  timer_path       text,
  expressions      jsonb
);
comment on type bpm_core.draft_node is
  'A flow node on its way from the drawing to workflow_node. extensions holds the extension elements below it, keyed alias:tag; event the kind of its event definition (none, timer, …, several).';

create type bpm_core.draft_flow as (
  pos              integer,
  process_pos      integer,
  scope_pos        integer,
  flow_id          text,
  name             text,
  source_ref       text,
  target_ref       text,
  source_id        text,
  target_id        text,
  is_default       boolean,
  condition_source text,
  language         text,
  condition        jsonpath,
  problem          text,
  ord              integer,
  condition_tree   jsonb
);
comment on type bpm_core.draft_flow is 'A sequence flow on its way to workflow_flow. source_id and target_id are null when the reference leads nowhere in its scope.';

-- A node pinned to a task version that is not the published one of its type, with what it gets from there.
create type bpm_core.task_pin as (node_id text, task_version_id uuid, max_attempts integer, lease interval, input_schema jsonb, checks_result boolean);

-- A binding of a process on its way to process_workflow_binding; problem: what is wrong with its start condition.
create type bpm_core.draft_binding as (
  item                integer,
  binding_key         text,
  workflow            text,
  version             integer,
  position            integer,
  depends_on          text[],
  start_source        text,
  start_condition     jsonpath,
  start_tree          jsonb,
  problem             text,
  definition_id       uuid,
  archived            boolean,
  workflow_version_id uuid,
  starts              text[]
);

-- Whether a value meets a schema: fault says why not; unknown: because it could not be checked; steps: taken so far, which are bounded.
create type bpm_core.schema_verdict as (fault text, unknown boolean, steps integer);

create type bpm_core.expression_token as (
  kind  text,
  value text,
  at    integer
);
comment on type bpm_core.expression_token is 'One word of an expression: kind is name, string, number, end, or the operator itself in its canonical spelling; at is the character position in the source, from 1.';

create type bpm_core.expression_step as (
  tree    jsonb,
  next    integer,
  problem text,
  at      integer
);
comment on type bpm_core.expression_step is
  'What a parsing function gives back: the tree read and the token after it, or what is wrong and where. A tree is {op: path, path: [names]}, {op: value, value}, {op: and|or|if, args: […]}, {op: not|empty|defined, arg}, {op: eq|ne|lt|le|gt|ge, left, right}, {op: call, name, args: […]}, {op: list, args}, {op: context, keys, args}, {op: member, arg, name}, {op: index, arg, index, first}, {op: some|every|for|filter, var, list, body, weight} or {op: let, var, arg, body}. Only evaluate_tree and write_condition look into it.';

create type bpm_core.graph_index as (
  first_place integer[],
  last_place  integer[],
  targets     integer[],
  seeds       integer[]
);
comment on type bpm_core.graph_index is 'A graph over numbered nodes, for walks in PL/pgSQL (index_graph).';

create type bpm_core.cron as (
  seconds       integer[],
  minutes       integer[],
  hours         integer[],
  months        integer[],
  years         integer[],
  days          integer[],
  last_days     integer[],
  near_days     integer[],
  near_last     integer[],
  weekdays      integer[],
  nth_weekdays  integer[],
  last_weekdays integer[],
  either        boolean
);
comment on type bpm_core.cron is
  'A cron rule as sets (parse_cron). years null: every year; last_days and near_last count from the end of the month (0: the last day), near_days are the working days nearest to a day; weekdays from 0, Sunday; nth_weekdays hold weekday * 10 + n; either: a day matches by day of month or by weekday, not by both.';

-- from 40_flow/tables.sql
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

-- from 50_work/tables.sql
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

-- from 60_decision/tables.sql
-- Who allows it.

create type bpm_core.approval_status as enum ('Pending', 'Approved', 'Rejected', 'Expired', 'Cancelled');
create type bpm_core.approval_effect as enum ('Pending', 'Applied');

-- A decision whose effect is to be applied: standing says that the token still rests where it was asked for.
create type bpm_core.decided_approval as (
  approval_id uuid, status bpm_core.approval_status, token bpm_core.moving, standing boolean, decided_by text, note text);

create table bpm_core.approval_record (
  tenant_id            text collate "C" not null default '',
  id                   uuid not null,
  workflow_instance_id uuid not null,
  node_id              text collate "C" not null,
  token_id             uuid not null,
  visit                integer not null,
  task_type            text collate "C" not null,
  status               bpm_core.approval_status not null default 'Pending',
  effect               bpm_core.approval_effect not null default 'Pending',
  decided_by           text,
  decided_at           timestamptz,
  note                 text,
  expires_at           timestamptz,
  escalate_to          text,
  required_approvals   integer not null default 1 check (required_approvals > 0),
  excluded_actors      text[] not null default '{}',
  created_at           timestamptz not null,
  approvers            text[],
  veto                 boolean not null default true,
  exclude              text[] not null default '{}',
  remind_every         interval check (remind_every >= interval '1 second'),
  remind_at            timestamptz,
  reminded             integer not null default 0,
  escalate_at          timestamptz,
  escalated_at         timestamptz,
  due_at               timestamptz,
  approver_groups      text[],
  claimed_by           text[] not null default '{}',
  primary key (tenant_id, id),
  unique (workflow_instance_id, node_id, token_id, visit, tenant_id),
  foreign key (tenant_id, workflow_instance_id) references bpm_core.workflow_instance (tenant_id, id),
  check ((status in ('Approved', 'Rejected', 'Expired')) = (decided_by is not null and decided_at is not null)),
  check (effect = 'Pending' or status <> 'Pending'),
  check (due_at is not distinct from least(expires_at, remind_at, escalate_at)),
  check (status = 'Pending' or claimed_by = '{}'),
  check (cardinality(claimed_by) <= required_approvals)
) with (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.02);
create index approval_pending_effect on bpm_core.approval_record (tenant_id, decided_at, id)
  where effect = 'Pending' and status in ('Approved', 'Rejected', 'Expired');
create index approval_open on bpm_core.approval_record (tenant_id, created_at, id) where status = 'Pending';
create index approval_due on bpm_core.approval_record (tenant_id, due_at, id) where status = 'Pending' and due_at is not null;
comment on table bpm_core.approval_record is 'A decision taken once (status) and its effect (effect), which can be driven again. Before the decision no task exists.';
comment on column bpm_core.approval_record.visit is 'The visit of the token that asks; a later visit of the same node asks anew.';
comment on column bpm_core.approval_record.effect is 'Applied once the task is offered, the error raised, or the token found gone; of a Cancelled one it stays Pending and nobody looks.';

comment on column bpm_core.approval_record.approvers is 'Who alone may decide, beside approver_groups; both null: whoever is not excluded.';
comment on column bpm_core.approval_record.approver_groups is 'Whoever is in one of them may decide too. Who is, the caller says.';
comment on column bpm_core.approval_record.claimed_by is 'Who is at it, at most as many as it takes. A courtesy: it keeps nobody from deciding.';
comment on column bpm_core.approval_record.veto is 'One refusal refuses. Else it is refused when the approvals it takes can no longer come.';
comment on column bpm_core.approval_record.exclude is 'Who may not decide by their part in the process: requester, earlier_actors, delegates. Looked at whenever somebody decides.';
comment on column bpm_core.approval_record.excluded_actors is 'Who may not decide, by name.';
comment on column bpm_core.approval_record.escalated_at is 'Since when escalate_to may decide too.';
comment on column bpm_core.approval_record.due_at is 'When time does something next: the first of expires_at, remind_at and escalate_at.';

create table bpm_core.approval_vote (
  tenant_id    text collate "C" not null default '',
  approval_id  uuid not null,
  actor        text collate "C" not null,
  vote         text not null check (vote in ('Approve', 'Reject')),
  note         text,
  at           timestamptz not null,
  evidence_ids uuid[] not null default '{}',
  groups       text[] not null default '{}',
  primary key (tenant_id, approval_id, actor),
  foreign key (tenant_id, approval_id) references bpm_core.approval_record
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.1);
comment on table bpm_core.approval_vote is 'What each person said, once. One decision takes required_approvals of them.';
comment on column bpm_core.approval_vote.groups is 'Of the groups that were asked those the person was said to be in.';

create type bpm_core.review_state as enum ('Open', 'Decided', 'Superseded', 'Closed');

-- A result that waits for a review: the answer it came with, and the record.
create type bpm_core.reviewed as (task_id uuid, attempt integer, token_id uuid, instance_id uuid, variables jsonb, record jsonb, content_hash bytea);

create table bpm_core.review (
  tenant_id            text collate "C" not null default '',
  id                   uuid not null,
  workflow_instance_id uuid not null,
  token_id             uuid not null,
  task_instance_id     uuid not null,
  attempt              integer not null,
  content_hash         bytea not null,
  expected_version     integer not null,
  variables            jsonb not null,
  record               jsonb,
  state                bpm_core.review_state not null default 'Open',
  decision             text check (decision in ('Approve', 'Reject', 'Return')),
  actor                text,
  reason               text,
  decided_at           timestamptz,
  superseded_by        uuid,
  created_at           timestamptz not null,
  primary key (tenant_id, id),
  foreign key (tenant_id, task_instance_id, attempt) references bpm_core.result (tenant_id, task_instance_id, attempt),
  foreign key (tenant_id, superseded_by) references bpm_core.review,
  check ((state = 'Decided') = (decision is not null and actor is not null and decided_at is not null)),
  check ((state = 'Superseded') = (superseded_by is not null))
) with (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.02);
create unique index review_standing on bpm_core.review (task_instance_id, attempt, tenant_id) where state in ('Open', 'Decided');
create index review_of_result on bpm_core.review (task_instance_id, attempt);
create index review_of_instance on bpm_core.review (workflow_instance_id);
create index review_of_successor on bpm_core.review (superseded_by) where superseded_by is not null;
create index review_open on bpm_core.review (tenant_id, created_at, id) where state = 'Open';
alter table bpm_core.fact add foreign key (tenant_id, review_id) references bpm_core.review;
create index fact_of_review on bpm_core.fact (review_id) where review_id is not null;
comment on table bpm_core.review is 'Somebody looks at a result before it counts. Until then the token rests, and none of its variables, facts and evidence is taken.';
comment on column bpm_core.review.expected_version is 'The versions of the subjects its facts speak of, added up, when it was asked for: it grows when any of them moves. Then it is Superseded by another.';
comment on column bpm_core.review.content_hash is 'Of the answer, as the result has it.';
comment on column bpm_core.review.record is 'Evidence and facts the answer came with; written when it is approved.';

-- from 70_delivery/tables.sql
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

-- from 75_intake/tables.sql
-- What came in: events as their providers sent them, the rules that say what becomes of them, what was decided, and what each decision touched.

create type bpm_core.event_state as enum ('Pending', 'Dispatched', 'Ignored', 'Failed');

create table bpm_core.event (
  tenant_id         text collate "C" not null default '',
  id                uuid not null,
  channel           text collate "C" not null check (octet_length(channel) between 1 and 100),
  session_id        text collate "C" not null default '' check (octet_length(session_id) <= 200),
  thread_id         text collate "C" check (octet_length(thread_id) between 1 and 300),
  provider_event_id text collate "C" not null check (octet_length(provider_event_id) between 1 and 300),
  event_type        text collate "C" not null check (octet_length(event_type) between 1 and 200),
  payload           jsonb not null default '{}' check (jsonb_typeof(payload) = 'object'),
  content_hash      bytea not null check (length(content_hash) = 32),
  occurred_at       timestamptz not null,
  received_at       timestamptz not null,
  dispatch_state    bpm_core.event_state not null default 'Pending',
  reason            text,
  detail            jsonb,
  attempts          integer not null default 0 check (attempts >= 0),
  available_at      timestamptz not null,
  rules_version     bigint,
  decided_at        timestamptz,
  primary key (tenant_id, id),
  unique (provider_event_id, session_id, channel, tenant_id),
  check ((decided_at is not null) = (dispatch_state in ('Dispatched', 'Ignored'))),
  -- Nothing waits for ever without saying for what.
  constraint pending_is_due_or_waits check (dispatch_state <> 'Pending' or (available_at = 'infinity') = (rules_version is not null)),
  constraint waits_for_a_reason check (rules_version is null or (dispatch_state = 'Pending' and reason is not null)),
  constraint ends_with_a_reason check (dispatch_state not in ('Ignored', 'Failed') or reason is not null)
) with (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.1);
create index event_due on bpm_core.event (tenant_id, available_at, id) where dispatch_state = 'Pending';
-- Look-ups by key go by a hash with the tenant in it: with the tenant among the conditions a planner that takes the table for small walks the tenant, and
-- without it what other tenants call alike is read as well.
create index event_by_key on bpm_core.event (
  hashtextextended(tenant_id || chr(31) || channel || chr(31) || session_id || chr(31) || provider_event_id, 7526));
create index event_waiting on bpm_core.event (tenant_id, rules_version, id) where rules_version is not null;
create index event_open_in_thread on bpm_core.event (hashtextextended(tenant_id || chr(31) || session_id || chr(31) || thread_id, 7526), occurred_at, id)
  where dispatch_state = 'Pending' and thread_id is not null;
create index event_of_thread on bpm_core.event (thread_id, session_id, occurred_at) where thread_id is not null;
comment on table bpm_core.event is 'What a provider told us, once per key of its own. Accepted by insert-or-return; the row is the dispatch marker.';
comment on column bpm_core.event.session_id is 'The account, mailbox, shop or device it came over; empty where a channel has only one.';
comment on column bpm_core.event.thread_id is 'What events have to keep their order in; null: in nothing.';
comment on column bpm_core.event.content_hash is 'Over type, thread, payload and the hashes of its evidence: the same key with another content is a conflict.';
comment on column bpm_core.event.reason is 'Pending: what it waits for. Ignored, Failed: why.';
comment on column bpm_core.event.detail is 'What the reason rests on: the rules asked and the values they saw, the proposal, the error.';
comment on column bpm_core.event.available_at is 'When tick may look at it; infinity: when the rules change, or somebody decides.';
comment on column bpm_core.event.rules_version is 'Of one that waits for a decision: the rules it was last looked at with. Newer rules are tried on it.';

create table bpm_core.event_evidence (
  tenant_id   text collate "C" not null default '',
  event_id    uuid not null,
  evidence_id uuid not null,
  primary key (tenant_id, event_id, evidence_id),
  foreign key (tenant_id, event_id) references bpm_core.event,
  foreign key (tenant_id, evidence_id) references bpm_core.evidence
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.1);
create index event_evidence_of_evidence on bpm_core.event_evidence (evidence_id);
comment on table bpm_core.event_evidence is 'What came with an event and is kept elsewhere: metadata in evidence.';

create table bpm_core.event_process_instance (
  tenant_id           text collate "C" not null default '',
  event_id            uuid not null,
  process_instance_id uuid not null,
  how                 text not null check (how in ('Started', 'Correlated', 'Attached')),
  at                  timestamptz not null,
  primary key (tenant_id, event_id, process_instance_id, how),
  foreign key (tenant_id, event_id) references bpm_core.event,
  foreign key (tenant_id, process_instance_id) references bpm_core.process_instance
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.1);
create index event_process_instance_of_process on bpm_core.event_process_instance (process_instance_id);
comment on table bpm_core.event_process_instance is 'Which process instances an event started, reached with a message, or was attached to.';

create table bpm_core.task_event (
  tenant_id        text collate "C" not null default '',
  event_id         uuid not null,
  task_instance_id uuid not null,
  at               timestamptz not null,
  primary key (tenant_id, event_id, task_instance_id),
  foreign key (tenant_id, event_id) references bpm_core.event,
  foreign key (tenant_id, task_instance_id) references bpm_core.task_instance (tenant_id, id)
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.1);
create index task_event_of_task on bpm_core.task_event (task_instance_id);
comment on table bpm_core.task_event is 'Which tasks somebody attached an event to: what their worker should know of.';

create table bpm_core.routing_rule (
  tenant_id           text collate "C" not null default '',
  id                  uuid not null,
  code                text collate "C" not null check (length(code) between 1 and 200),
  event_type          text collate "C" not null check (octet_length(event_type) between 1 and 200),
  channel             text collate "C",
  priority            integer not null default 0,
  condition_source    text,
  condition           jsonpath,
  condition_tree      jsonb,
  action              text not null check (action in ('StartProcess', 'Correlate', 'Attach', 'Ignore', 'AskHuman', 'Outside')),
  process_code        text collate "C",
  business_key_path   text,
  business_key_tree   jsonb,
  message_name        text collate "C",
  correlation_path    text,
  correlation_tree    jsonb,
  message_ttl         interval not null default interval '1 hour' check (message_ttl between interval '0' and interval '365 days'),
  variables           jsonb check (jsonb_typeof(variables) = 'array'),
  reason              text,
  updated_by          text not null,
  created_at          timestamptz not null,
  updated_at          timestamptz not null,
  primary key (tenant_id, id),
  unique (code, tenant_id),
  check (num_nonnulls(condition, condition_tree) = num_nonnulls(condition_source)),
  check ((business_key_path is null) = (business_key_tree is null)),
  check ((correlation_path is null) = (correlation_tree is null)),
  check (action <> 'StartProcess' or process_code is not null),
  check (action <> 'Correlate' or (message_name is not null and num_nonnulls(correlation_path, business_key_path) > 0)),
  check (action <> 'Attach' or business_key_path is not null)
);
create index routing_rule_of_type on bpm_core.routing_rule (hashtextextended(tenant_id || chr(31) || event_type, 7526));
comment on table bpm_core.routing_rule is 'What becomes of events of a type: every rule of the highest priority at which any applies.';
comment on column bpm_core.routing_rule.event_type is 'A type, or the beginning of one with a star: order.created, order.*, *.';
comment on column bpm_core.routing_rule.condition is 'As of a flow: strict jsonpath, or condition_tree for evaluate_condition; over {payload, event}.';
comment on column bpm_core.routing_rule.variables is 'Mappings, compiled: [{target, source, tree}]; null: the payload itself.';

create table bpm_core.routing_state (
  tenant_id     text collate "C" primary key,
  rules_version bigint not null check (rules_version > 0)
);
comment on table bpm_core.routing_state is 'Grows with every change of a tenant''s rules. It says which waiting events have not been looked at with the current ones, and makes changes of rules wait for each other.';

create table bpm_core.routing_decision (
  tenant_id        text collate "C" not null default '',
  id               uuid not null,
  event_id         uuid not null,
  actions          jsonb not null check (jsonb_typeof(actions) = 'array' and actions <> '[]'),
  content_hash     bytea not null check (length(content_hash) = 32),
  proposal         jsonb,
  rules            text[],
  decided_by       text not null,
  reason           text,
  business_case_id uuid,
  decided_at       timestamptz not null,
  primary key (tenant_id, id),
  unique (event_id, tenant_id),
  foreign key (tenant_id, event_id) references bpm_core.event,
  foreign key (tenant_id, business_case_id) references bpm_core.business_case
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.1);
comment on table bpm_core.routing_decision is 'What was decided about an event, once; written with what it caused, in one transaction. Append-only.';
comment on column bpm_core.routing_decision.actions is '[{action, process_code, business_key, …}] with the values as they were found; variables are the payload where not said.';
comment on column bpm_core.routing_decision.proposal is 'What the rules proposed before somebody else decided.';
comment on column bpm_core.routing_decision.decided_by is 'rules, or who called dispatch_event.';

-- Letters about events have no instance.
alter table bpm_core.dead_letter add foreign key (tenant_id, event_id) references bpm_core.event;

-- One item of accept_events: what was given, the id drawn, the outcome if it is not simply accepted.
create type bpm_core.incoming_event as (
  item integer, id uuid, channel text, session_id text, thread_id text, provider_event_id text, event_type text, payload jsonb, occurred_at timestamptz,
  evidence jsonb, content_hash bytea, outcome bpm.outcome, message text);

-- What is to become of an event: actions; or the reason why it has to wait.
create type bpm_core.event_plan as (
  event bpm_core.event, reason text, detail jsonb, actions jsonb, rules text[], decided_by text, note text);

-- One action of a plan, read. n counts from 1 within its event.
create type bpm_core.event_action as (
  event_id uuid, n integer, action text, process_code text, version integer, business_key text, variables jsonb, message_name text, correlation_key text,
  ttl interval, instance_ids uuid[], task_ids uuid[]);

-- Why a plan cannot be carried out as it is.
create type bpm_core.event_refusal as (event_id uuid, reason text, message text, detail jsonb);

-- from 80_operation/tables.sql
-- Keeping it healthy: working types of the checks.

create type bpm_core.violation as (invariant text, tenant_id text, subject text, detail jsonb);
comment on type bpm_core.violation is 'One row that breaks an invariant: which, whose, what (kind and id), and the values seen.';

create type bpm_core.health_check as (name text, ok boolean, required boolean, detail jsonb);
comment on type bpm_core.health_check is 'One check of ready(): only a required one that fails makes the database not ready, the others are warnings.';

-- A foreign key that ties columns of ours to a table of the host; identity is the name of the constraint.
create type bpm_core.identity_tie as (
  identity text, bound_table regclass, columns text[], host_table regclass, host_columns text[], is_valid boolean);

create table bpm_core.removed_instance (
  tenant_id          text collate "C" not null default '',
  id                 uuid not null,
  process_version_id uuid not null,
  workflow_instances uuid[] not null,
  business_key       text collate "C",
  status             bpm_core.process_status not null check (status in ('Completed', 'Failed', 'Cancelled')),
  created_at         timestamptz not null,
  ended_at           timestamptz not null,
  removed_at         timestamptz not null,
  seq                bigint not null,
  audit_id           uuid not null,
  primary key (tenant_id, id)
) with (autovacuum_vacuum_insert_scale_factor = 0.1);
create index removed_instance_of_key on bpm_core.removed_instance (business_key) where business_key is not null;
comment on table bpm_core.removed_instance is 'What is left of a process instance that retention removed: that it was, how it ended, and when it went. Leaves itself when the last of its history has been dropped and no idempotency key speaks of it.';
comment on column bpm_core.removed_instance.process_version_id is 'No foreign key: the definition may be deleted once nothing runs on it any more.';
comment on column bpm_core.removed_instance.workflow_instances is 'Its workflow instances, those of calls included: under these ids its history is found as long as it is kept.';
comment on column bpm_core.removed_instance.seq is 'Of the sequence of history, so that a trail has one order.';
comment on column bpm_core.removed_instance.audit_id is 'The row of audit_event of the batch it went with: by whom, and how many rows of what.';

create table bpm_core.retention_pass (
  tenant_id   text collate "C" not null default '',
  kind        text collate "C" not null check (kind in ('instances', 'events', 'messages', 'signals', 'traces', 'history')),
  reached     uuid,
  began_at    timestamptz not null,
  removed     bigint not null default 0,
  kept        bigint not null default 0,
  reasons     jsonb not null default '{}' check (jsonb_typeof(reasons) = 'object'),
  oldest_kept uuid,
  done_at     timestamptz,
  primary key (tenant_id, kind)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);
comment on table bpm_core.retention_pass is 'Where retention stands in a tenant, and what it did: whoever removes holds the row. A pass goes once along the primary key, so that no call walks over the dead index entries of those before it.';
comment on column bpm_core.retention_pass.reached is 'The last one looked at; null: no pass is under way.';
comment on column bpm_core.retention_pass.reasons is 'Why what has had its time was kept: how many for each reason.';
comment on column bpm_core.retention_pass.done_at is 'When the last whole pass ended.';

-- A process instance that has had its time, with its workflow instances.
create type bpm_core.removable as (process_instance_id uuid, workflow_instances uuid[], reason text);
