-- Takes what these ended tokens had brought to joins out of the rounds that are collected. Their scope may stay open (an interrupting event
-- sub-process emptied it): without this the dead would count among those that wait.
-- p_ended: all live tokens of their scopes, where they stood and the flow they came over. Writes: parallel_join, inclusive_join, parallel_join_arrival.
create or replace function bpm_core.clear_joins(p_ended bpm_core.moving[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  with arrived as materialized (
    select a.tenant_id, a.workflow_instance_id, a.scope_id, a.node_id, a.flow_id, a.round
      from unnest(p_ended) e
     cross join lateral (select a.* from bpm_core.parallel_join_arrival a
                          where a.tenant_id = e.tenant_id and a.workflow_instance_id = e.instance_id and a.scope_id = e.scope_id
                            and a.node_id = e.node_id and a.flow_id = e.flow_id offset 0) a
     where a.token_id = e.token_id),
  rounds as (
    delete from bpm_core.parallel_join j
     using (select distinct a.tenant_id, a.workflow_instance_id, a.scope_id, a.node_id, a.round from arrived a) a
     where j.tenant_id = a.tenant_id and j.workflow_instance_id = a.workflow_instance_id and j.scope_id = a.scope_id and j.node_id = a.node_id
       and j.round = a.round and j.fired_at is null),
  collected as (
    delete from bpm_core.inclusive_join j
     using (select distinct a.tenant_id, a.workflow_instance_id, a.scope_id, a.node_id from arrived a) a
     where j.tenant_id = a.tenant_id and j.workflow_instance_id = a.workflow_instance_id and j.scope_id = a.scope_id and j.node_id = a.node_id)
  delete from bpm_core.parallel_join_arrival r
   using arrived a
   where r.tenant_id = a.tenant_id and r.workflow_instance_id = a.workflow_instance_id and r.scope_id = a.scope_id and r.node_id = a.node_id
     and r.flow_id = a.flow_id and r.round = a.round;
end
$$;
