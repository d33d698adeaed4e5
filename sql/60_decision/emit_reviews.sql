-- Tells subscribers that somebody has to look at these results.
-- Writes:   event_outbox, where somebody is subscribed. The instances are locked.
create or replace function bpm_core.emit_reviews(p_tenant_id text, p_reviews uuid[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_instances uuid[];
  v_details   jsonb[];
begin
  select array_agg(r.workflow_instance_id order by r.id),
         array_agg(jsonb_build_object('review', r.id, 'node', t.node_id, 'task', r.task_instance_id, 'attempt', r.attempt, 'expected_version', r.expected_version) order by r.id)
    into v_instances, v_details
    from (select p_tenant_id as tenant_id, k.id from unnest(p_reviews) k(id) offset 0) k
   cross join lateral (select r.* from bpm_core.review r where r.tenant_id = k.tenant_id and r.id = k.id offset 0) r
   cross join lateral (select t.node_id from bpm_core.token t where t.tenant_id = r.tenant_id and t.id = r.token_id offset 0) t;
  perform bpm_core.emit_events(p_tenant_id, 'ReviewRequested', v_instances, v_details);
end
$$;
