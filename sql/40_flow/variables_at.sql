-- The variables of a workflow instance as they were after the row p_upto of its history (null: as they are), made of the patches history has. Those
-- that a sub-process kept for itself are not among them.
-- Returns:  jsonb.
create or replace function bpm_core.variables_at(p_tenant_id text, p_instance_id uuid, p_upto bigint)
returns jsonb
language sql stable
as $$
  select bpm_core.jsonb_merge(bpm_core.patch_of(h.kind, h.detail) order by h.seq)
    from bpm_core.history_event h
   where h.tenant_id = p_tenant_id and h.workflow_instance_id = p_instance_id and (p_upto is null or h.seq <= p_upto) and h.detail ? 'variables'
$$;
