-- Under the locks of their targets: what workflows of several have to tell their process, and it them.
-- Writes:   as the functions of each kind.
create or replace function bpm_core.apply_siblings(p_tenant_id text, p_rows bpm_core.inbox[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_some bpm_core.inbox[];
begin
  v_some := array(select r from unnest(p_rows) r where r.kind = 'Recheck');
  if cardinality(v_some) > 0 then
    perform bpm_core.recheck_conditions(p_tenant_id, array(select r.target_id from unnest(v_some) r));
  end if;
  v_some := array(select r from unnest(p_rows) r where r.kind = 'WorkflowEnded' order by r.id);
  if cardinality(v_some) > 0 then
    perform bpm_core.apply_workflow_ends(p_tenant_id, v_some);
  end if;
end
$$;
