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
