-- What the catalog shows: every version of every process of the caller's tenants.

create or replace view bpm.definition with (security_barrier) as
select d.tenant_id,
       d.code,
       v.version,
       v.status::text as status,
       v.name,
       coalesce(d.published_version_id = v.id, false) as is_current,
       v.created_by,
       v.published_at,
       encode(v.content_hash, 'hex') as content_hash,
       d.archived_at
  from bpm_core.process_definition d
  join bpm_core.process_version v on v.tenant_id = d.tenant_id and v.definition_id = d.id
 where d.tenant_id = any (array(select bpm_core.visible_tenants()));
comment on view bpm.definition is 'Deployed processes, one row per version; is_current is the one that starts without a version; archived_at: none of them does, until it is published again.';

create or replace view bpm.process_binding with (security_barrier) as
select d.tenant_id,
       d.code as process_code,
       v.version as process_version,
       b.position,
       b.binding_key,
       w.code as workflow_code,
       x.version as workflow_version,
       b.depends_on,
       b.start_source as start_condition
  from bpm_core.process_definition d
  join bpm_core.process_version v on v.tenant_id = d.tenant_id and v.definition_id = d.id
  join bpm_core.process_workflow_binding b on b.tenant_id = v.tenant_id and b.process_version_id = v.id
  join bpm_core.workflow_version x on x.tenant_id = b.tenant_id and x.id = b.workflow_version_id
  join bpm_core.workflow_definition w on w.tenant_id = x.tenant_id and w.id = x.definition_id
 where d.tenant_id = any (array(select bpm_core.visible_tenants()));
comment on view bpm.process_binding is 'Which workflow versions a process version runs, in which order and when.';

create or replace view bpm.workflow_version with (security_barrier) as
select d.tenant_id,
       d.code,
       v.version,
       v.name,
       coalesce(d.published_version_id = v.id, false) as is_current,
       o.code as owner_role,
       r.version as owner_role_version,
       v.created_by,
       v.published_at,
       encode(v.content_hash, 'hex') as content_hash,
       d.archived_at
  from bpm_core.workflow_definition d
  join bpm_core.workflow_version v on v.tenant_id = d.tenant_id and v.definition_id = d.id
  join bpm_core.role_version r on r.tenant_id = v.tenant_id and r.id = v.owner_role_version_id
  join bpm_core.role_definition o on o.tenant_id = r.tenant_id and o.id = r.definition_id
 where d.tenant_id = any (array(select bpm_core.visible_tenants()));
comment on view bpm.workflow_version is 'Workflows, one row per version, with the version of the role that owns it.';

create or replace view bpm.workflow_task with (security_barrier) as
select d.tenant_id,
       d.code as workflow_code,
       v.version as workflow_version,
       b.node_id,
       t.code as task_code,
       x.version as task_version,
       b.task_type,
       b.max_attempts,
       b.lease,
       b.priority_level
  from bpm_core.workflow_definition d
  join bpm_core.workflow_version v on v.tenant_id = d.tenant_id and v.definition_id = d.id
  join bpm_core.workflow_task_binding b on b.tenant_id = v.tenant_id and b.workflow_version_id = v.id
  join bpm_core.task_version x on x.tenant_id = b.tenant_id and x.id = b.task_version_id
  join bpm_core.task_definition t on t.tenant_id = x.tenant_id and t.id = x.definition_id
 where d.tenant_id = any (array(select bpm_core.visible_tenants()));
comment on view bpm.workflow_task is 'Which task version each node of a workflow version is pinned to, with what the node says otherwise.';

create or replace view bpm.task_version with (security_barrier) as
select d.tenant_id,
       d.code,
       v.version,
       coalesce(d.published_version_id = v.id, false) as is_current,
       v.task_type,
       v.executor_kind::text as executor_kind,
       v.max_attempts,
       v.backoff,
       v.backoff_factor,
       v.backoff_cap,
       v.jitter,
       v.lease,
       v.approval_required,
       v.input_schema,
       v.result_schema,
       v.exclusion_rule,
       v.created_by,
       v.published_at,
       d.archived_at
  from bpm_core.task_definition d
  join bpm_core.task_version v on v.tenant_id = d.tenant_id and v.definition_id = d.id
 where d.tenant_id = any (array(select bpm_core.visible_tenants()));
comment on view bpm.task_version is 'How tasks are executed, one row per version.';

create or replace view bpm.role_version with (security_barrier) as
select d.tenant_id,
       d.code,
       v.version,
       coalesce(d.published_version_id = v.id, false) as is_current,
       v.responsibilities,
       v.policy,
       v.capabilities,
       v.context_profile,
       v.created_by,
       v.published_at,
       d.archived_at
  from bpm_core.role_definition d
  join bpm_core.role_version v on v.tenant_id = d.tenant_id and v.definition_id = d.id
 where d.tenant_id = any (array(select bpm_core.visible_tenants()));
comment on view bpm.role_version is 'Who owns workflows, one row per version.';

create or replace view bpm.session_link with (security_barrier) as
select l.tenant_id,
       l.id as link_id,
       l.channel,
       l.session_id,
       l.group_id,
       l.display_name,
       l.created_at,
       l.updated_at
  from bpm_core.session_scope_link l
 where l.tenant_id = any (array(select bpm_core.visible_tenants()));
comment on view bpm.session_link is 'Which tenant a session of the host application belongs to.';
