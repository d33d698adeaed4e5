-- What follows where direct steps led to an end: the token's history row, and the end of its instance where it was the last one.
-- Writes:   history_event, and what end_instances writes.
create or replace function bpm_core.end_direct_steps(p_tenant_id text, p_steps bpm_core.step[], p_now timestamptz)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_going  bigint;
  v_ended  uuid[];
  v_tokens uuid[];
  v_nodes  text[];
begin
  select count(*) filter (where s.end_node is not null and not s.has_ended), array_agg(s.instance_id) filter (where s.has_ended),
         array_agg(s.token_id) filter (where s.has_ended), array_agg(s.end_node) filter (where s.has_ended)
    into v_going, v_ended, v_tokens, v_nodes
    from unnest(p_steps) s;
  if v_going > 0 then
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, to_state)
    select p_tenant_id, s.instance_id, p_now, 'TokenCompleted', s.token_id, s.end_node, 'Completed'
      from unnest(p_steps) s
     where s.end_node is not null and not s.has_ended;
  end if;
  if v_ended is not null then
    perform bpm_core.end_instances(p_tenant_id, v_ended, 'Completed', p_now, null, v_tokens, v_nodes);
  end if;
end
$$;
