-- How a gated node is approved: what the node says over its task version over the setting engine.approval_policies. Read at deploy only.
-- Returns:  jsonb, null when nobody says anything.
create or replace function bpm_core.approval_policy(p_tenant_id text, p_task_version_id uuid, p_task_type text, p_attributes jsonb)
returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select nullif(
    coalesce(bpm_core.setting_value('engine.approval_policies', '{}') -> p_task_type, '{}')
    || coalesce((select v.approval_policy from bpm_core.task_version v where v.tenant_id = p_tenant_id and v.id = p_task_version_id), '{}')
    || bpm_core.drawn_approval(p_attributes), '{}')
$$;
