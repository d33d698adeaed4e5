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
