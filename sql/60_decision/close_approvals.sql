-- Closes the open approvals of tokens that are taken off their node, or end with their instance.
-- Writes:   approval_record, history_event. The instances are locked.
create or replace function bpm_core.close_approvals(p_tenant_id text, p_tokens uuid[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  with open as materialized (
    select a.tenant_id, a.id
      from unnest(p_tokens) k(id)
     cross join lateral (select t.workflow_instance_id from bpm_core.token t where t.tenant_id = p_tenant_id and t.id = k.id offset 0) t
     cross join lateral (select a.tenant_id, a.id, a.token_id, a.status from bpm_core.approval_record a
                          where a.workflow_instance_id = t.workflow_instance_id offset 0) a
     where a.tenant_id = p_tenant_id and a.token_id = k.id and a.status = 'Pending'),
  closed as (
    update bpm_core.approval_record a
       set status = 'Cancelled', claimed_by = '{}'
      from open o
     where a.tenant_id = o.tenant_id and a.id = o.id
    returning a.tenant_id, a.workflow_instance_id, a.token_id, a.node_id, a.id)
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, from_state, to_state, detail)
  select c.tenant_id, c.workflow_instance_id, bpm_core.now(), 'ApprovalClosed', c.token_id, c.node_id, 'Pending', 'Cancelled',
         jsonb_build_object('approval', c.id)
    from closed c;
end
$$;
