-- The events behind an event-based gateway, as they would be called in the other version.
-- Returns:  text[], sorted.
create or replace function bpm_core.gateway_events(p_tenant_id text, p_version_id uuid, p_node_id text, p_mapping jsonb)
returns text[]
language sql stable
as $$
  select array_agg(bpm_core.image_of(p_mapping, f.target_id) order by bpm_core.image_of(p_mapping, f.target_id))
    from bpm_core.workflow_flow f
   where f.tenant_id = p_tenant_id and f.workflow_version_id = p_version_id and f.source_id = p_node_id
$$;
