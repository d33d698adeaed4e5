-- The starts that actions ask for: versions found, ids drawn, each with the event as its cause. One that is refused carries its outcome.
-- Returns:  start[]; item is the place of its action in p_actions.
create or replace function bpm_core.event_starts(p_tenant_id text, p_actions bpm_core.event_action[])
returns bpm_core.start[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_places bigint[] := array(select a.place from unnest(p_actions) with ordinality a(event_id, n, action, process_code, version, business_key, variables, message_name,
                                correlation_key, ttl, instance_ids, task_ids, place) where a.action = 'StartProcess' order by a.place);
  v_starts bpm_core.start[] := array[]::bpm_core.start[];
  v_some   bpm_core.start[];
begin
  for v_from in 1 .. cardinality(v_places) by 1000 loop  -- as many as one call of start_processes takes
    v_some := bpm_core.parse_starts(p_tenant_id, (
      select jsonb_agg(jsonb_strip_nulls(jsonb_build_object('code', (p_actions[w.place]).process_code, 'version', (p_actions[w.place]).version,
                                                            'business_key', (p_actions[w.place]).business_key))
                       || jsonb_build_object('variables', bpm_core.shield_variables((p_actions[w.place]).variables)) order by w.place)
        from unnest(v_places[v_from : v_from + 999]) w(place)));
    for v_i in 1 .. cardinality(v_some) loop
      v_some[v_i].item := v_places[v_from + v_i - 1];
      v_some[v_i].cause := jsonb_build_object('event', (p_actions[v_some[v_i].item]).event_id);
    end loop;
    v_starts := v_starts || v_some;
  end loop;
  return v_starts;
end
$$;
