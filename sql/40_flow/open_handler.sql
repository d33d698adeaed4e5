-- Begins the handler of one record in a scope of its own, hosted by the thrower, that declares the snapshot: the handler sees what the activity left.
-- Returns:  moving[], the token born, leaving the event that begins the handler.
-- Writes:   scope, compensation_record, history_event, token, workflow_instance (live_tokens).
create or replace function bpm_core.open_handler(p_record bpm_core.compensation_record, p_thrower bpm_core.moving)
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now   timestamptz := bpm_core.now();
  v_scope uuid := bpm_core.new_id();
  v_born  bpm_core.moving[];
begin
  insert into bpm_core.scope (tenant_id, id, workflow_instance_id, parent_scope_id, node_id, host_token_id, variables, is_copy)
  values (p_record.tenant_id, v_scope, p_record.workflow_instance_id, nullif(p_thrower.scope_id, bpm_core.root_scope()), p_thrower.node_id,
          p_thrower.token_id, p_record.snapshot, true);
  update bpm_core.compensation_record r
     set handler_scope_id = v_scope
   where r.tenant_id = p_record.tenant_id and r.id = p_record.id;
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, detail)
  values (p_record.tenant_id, p_record.workflow_instance_id, v_now, 'ScopeOpened', p_thrower.token_id, p_thrower.node_id, jsonb_build_object('scope', v_scope)),
         (p_record.tenant_id, p_record.workflow_instance_id, v_now, 'CompensationStarted', p_thrower.token_id, p_record.node_id,
          jsonb_build_object('record', p_record.id, 'position', p_record.position, 'handler', p_record.handler_ref, 'scope', v_scope, 'visit', (
            select t.visit from bpm_core.token t where t.tenant_id = p_thrower.tenant_id and t.id = p_thrower.token_id)));
  if exists (select from bpm_core.workflow_node n
              where n.tenant_id = p_thrower.tenant_id and n.workflow_version_id = p_thrower.version_id and n.node_id = p_record.event_id
                and n.element = 'startEvent') then
    v_born := bpm_core.start_event_subs(array[row(p_thrower.tenant_id, p_thrower.instance_id, p_thrower.version_id, p_thrower.scope_id,
                                                  p_thrower.token_id, p_record.event_id, null, null)::bpm_core.moving], false);
  else
    v_born := bpm_core.bear_tokens(array[row(p_thrower.tenant_id, p_thrower.instance_id, p_thrower.version_id, v_scope,
                                             p_thrower.token_id, p_record.event_id, null, null)::bpm_core.moving]);
  end if;
  update bpm_core.token t
     set mode = 'Compensation', steps = h.steps
    from (select b.tenant_id, b.token_id from unnest(v_born) b) b
   cross join lateral (select k.steps from bpm_core.token k where k.tenant_id = b.tenant_id and k.id = p_thrower.token_id offset 0) h
   where t.tenant_id = b.tenant_id and t.id = b.token_id;
  return v_born;
end
$$;
