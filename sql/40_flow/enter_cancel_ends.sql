-- KIND cancel end event. Lowered to three nodes: the event itself ends everything else in the transaction and what waits for it, a throw behind it compensates,
-- and a last node of this kind lets the host leave by its cancel boundary event.
-- Returns:  moving[], leaving. Writes: what complete_tokens, empty_scopes, close_events, bear_tokens, close_waits write.
create or replace function bpm_core.enter_cancel_ends(p_arriving bpm_core.moving[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_leaving  bpm_core.moving[] := '{}'::bpm_core.moving[];
  v_token    bpm_core.moving;
  v_host     bpm_core.moving;
  v_boundary text;
begin
  foreach v_token in array p_arriving loop
    continue when cardinality(bpm_core.drop_dead(array[v_token])) = 0;
    perform bpm_core.complete_tokens(array[v_token]);
    v_host := (
      select row(t.tenant_id, t.workflow_instance_id, v_token.version_id, t.scope_id, t.id, t.node_id, null, null)::bpm_core.moving
        from bpm_core.scope s
       cross join lateral (select t.* from bpm_core.token t where t.tenant_id = s.tenant_id and t.id = s.host_token_id offset 0) t
       where s.tenant_id = v_token.tenant_id and s.id = v_token.scope_id);
    if exists (select from bpm_core.workflow_flow f
                where f.tenant_id = v_token.tenant_id and f.workflow_version_id = v_token.version_id and f.source_id = v_token.node_id) then
      perform bpm_core.empty_scopes(v_token.tenant_id, array[v_token.scope_id]);
      -- Nothing outside may end it half way: it leaves by its cancel boundary, or by an error of a handler.
      perform bpm_core.close_events(v_token.tenant_id, array[v_host.token_id]);
      v_leaving := v_leaving || bpm_core.bear_tokens(array[v_token]);
      continue;
    end if;
    v_boundary := (select n.node_id from bpm_core.workflow_node n
                    where n.tenant_id = v_host.tenant_id and n.workflow_version_id = v_host.version_id and n.attached_to = v_host.node_id
                      and n.kind = 'CancelBoundary' limit 1);
    perform bpm_core.close_waits(array[v_host]);
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, detail)
    values (v_host.tenant_id, v_host.instance_id, bpm_core.now(), 'TransactionCancelled', v_host.token_id, v_boundary, jsonb_build_object('host', v_host.node_id));
    v_leaving := v_leaving || row(v_host.tenant_id, v_host.instance_id, v_host.version_id, v_host.scope_id, v_host.token_id, v_boundary,
                                  null, null)::bpm_core.moving;
  end loop;
  return v_leaving;
end
$$;
