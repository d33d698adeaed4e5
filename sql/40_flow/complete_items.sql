-- Ends the tokens of items at their end, and their scopes with them; the outputs stay with the scopes.
-- Writes:   token, scope, workflow_instance (live_tokens), history_event.
create or replace function bpm_core.complete_items(p_items bpm_core.item_end[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now timestamptz := bpm_core.now();
begin
  update bpm_core.token t
     set node_id = (i.token).node_id, via_flow_id = (i.token).flow_id, state = 'Completed', version = t.version + 1, updated_at = v_now
    from unnest(p_items) i
   where t.tenant_id = (i.token).tenant_id and t.id = (i.token).token_id;
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, to_state)
  select (i.token).tenant_id, (i.token).instance_id, v_now, 'TokenCompleted', (i.token).token_id, (i.token).node_id, 'Completed'
    from unnest(p_items) i;
  update bpm_core.workflow_instance w
     set live_tokens = w.live_tokens - d.fewer
    from (select (i.token).tenant_id, (i.token).instance_id, count(*)::integer as fewer from unnest(p_items) i group by 1, 2) d
   where w.tenant_id = d.tenant_id and w.id = d.instance_id;
  update bpm_core.scope s
     set state = 'Completed', live_tokens = s.live_tokens - 1, output = i.output
    from unnest(p_items) i
   where s.tenant_id = (i.token).tenant_id and s.id = (i.token).scope_id;
end
$$;
