-- Ends multi-instances and loops all items of which have ended or are closed: the outputs are gathered in order, what waited beside the host is closed, and
-- the host goes on.
-- Returns:  moving[], the hosts, leaving. Writes: multi_instance, multi_instance_part, token, timer, subscription, history_event, and what keep_output writes.
create or replace function bpm_core.finish_loops(p_hosts bpm_core.loop_state[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now    timestamptz := bpm_core.now();
  v_tenant text := ((p_hosts[1]).host).tenant_id;
  v_hosts  uuid[];
  v_host   bpm_core.loop_state;
begin
  if coalesce(cardinality(p_hosts), 0) = 0 then
    return '{}'::bpm_core.moving[];
  end if;
  v_hosts := array(select (h.host).token_id from unnest(p_hosts) h);
  update bpm_core.token t
     set steps = h.steps
    from unnest(p_hosts) h
   where t.tenant_id = (h.host).tenant_id and t.id = (h.host).token_id and t.steps <> h.steps;
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, detail)
  select v_tenant, (h.host).instance_id, v_now, 'ScopeCompleted', (h.host).token_id, (h.host).node_id,
         jsonb_strip_nulls(jsonb_build_object('total', nullif(h.total, 2147483647), 'done', h.done))
    from unnest(p_hosts) h
   where not h.spec ? 'into';
  foreach v_host in array p_hosts loop
    continue when not v_host.spec ? 'into';
    perform bpm_core.keep_output(v_host, v_now);
  end loop;
  perform bpm_core.drop_loops(v_tenant, v_hosts);
  perform bpm_core.close_events(v_tenant, v_hosts);
  return array(
    select row((h.host).tenant_id, (h.host).instance_id, (h.host).version_id, (h.host).scope_id, (h.host).token_id, (h.host).node_id, null, null)::bpm_core.moving
      from unnest(p_hosts) h);
end
$$;
