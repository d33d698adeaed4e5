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
