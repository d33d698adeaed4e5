-- Asks for a review of each of these results. The tokens rest; what else waits on them goes on waiting.
-- Returns:  uuid[], the reviews. Writes: review, history_event; event_outbox where somebody is subscribed. The instances are locked.
create or replace function bpm_core.ask_reviews(p_tenant_id text, p_reviewed bpm_core.reviewed[])
returns uuid[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now timestamptz := bpm_core.now();
  v_ids uuid[];
begin
  with asked as (
    insert into bpm_core.review (tenant_id, id, workflow_instance_id, token_id, task_instance_id, attempt, content_hash, expected_version, variables, record, created_at)
    select p_tenant_id, bpm_core.new_id(), r.instance_id, r.token_id, r.task_id, r.attempt, r.content_hash, bpm_core.reviewed_version(p_tenant_id, r.record),
           r.variables, r.record, v_now
      from unnest(p_reviewed) r
    returning id, workflow_instance_id, token_id, task_instance_id, attempt, expected_version),
  noted as (
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, to_state, detail)
    select p_tenant_id, a.workflow_instance_id, v_now, 'ReviewRequested', a.token_id, t.node_id, 'Open',
           jsonb_build_object('review', a.id, 'task', a.task_instance_id, 'attempt', a.attempt, 'expected_version', a.expected_version)
      from asked a
     cross join lateral (select t.node_id from bpm_core.token t where t.tenant_id = p_tenant_id and t.id = a.token_id offset 0) t)
  select array_agg(a.id) into v_ids from asked a;
  perform bpm_core.emit_reviews(p_tenant_id, v_ids);
  return v_ids;
end
$$;
