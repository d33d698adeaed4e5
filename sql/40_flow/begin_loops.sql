-- Begins what plan_loops planned, at hosts that still wait: the first items, and a row in the inbox where more follow. Where there is nothing to do the host
-- goes on.
-- Returns:  moving[], the tokens of the items and the hosts that go on.
-- Writes:   multi_instance, multi_instance_part, inbox, history_event, and what open_items and finish_loops write.
create or replace function bpm_core.begin_loops(p_plans bpm_core.loop_plan[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now   timestamptz := bpm_core.now();
  v_plans bpm_core.loop_plan[];
begin
  v_plans := array(
    select p
      from unnest(p_plans) p
     cross join lateral (select t.state from bpm_core.token t where t.tenant_id = (p.host).tenant_id and t.id = (p.host).token_id offset 0) t
     where t.state = 'Waiting');
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, detail)
  select (p.host).tenant_id, (p.host).instance_id, v_now, 'ScopeOpened', (p.host).token_id, (p.host).node_id,
         jsonb_strip_nulls(jsonb_build_object('mode', p.mode, 'total', nullif(p.total, 2147483647)))
    from unnest(v_plans) p;
  insert into bpm_core.multi_instance (tenant_id, host_token_id, workflow_instance_id, visit, node_id, mode, total, created, declared)
  select (p.host).tenant_id, (p.host).token_id, (p.host).instance_id, p.visit, (p.host).node_id, p.mode, p.total, p.created, p.declared
    from unnest(v_plans) p
   where p.total > 0;
  insert into bpm_core.multi_instance_part (tenant_id, host_token_id, part, items)
  select (p.host).tenant_id, (p.host).token_id, e.part, e.items
    from unnest(v_plans) p
   cross join lateral (
     select (i.ord - 1) / 1000 as part, jsonb_agg(i.value order by i.ord) as items
       from jsonb_array_elements(p.items) with ordinality i(value, ord)
      where (i.ord - 1) / 1000 >= p.created / 1000
      group by (i.ord - 1) / 1000) e
   where p.created < p.total and p.items is not null;
  perform bpm_core.continue_later(array(select row(p.host, p.visit, null, p.mode, null, null, null, null, null, null)::bpm_core.loop_plan
                                          from unnest(v_plans) p where p.mode = 'Parallel' and p.created < p.total));
  return bpm_core.open_items(array(
           select row(p.host, p.visit, p.steps, e.index, p.total, bpm_core.loop_variables(p.spec, p.declared, e.index, e.value))::bpm_core.loop_item
             from unnest(v_plans) p
            cross join lateral (
              select (i.ord - 1)::integer as index, i.value from jsonb_array_elements(p.items) with ordinality i(value, ord) where i.ord <= p.created
              union all
              select g.i, null from generate_series(0, p.created - 1) g(i) where p.items is null) e))
         || bpm_core.finish_loops(array(
           select row(p.host, p.visit, p.steps, p.mode, p.spec, p.declared, 0, 0, 0, 0, true)::bpm_core.loop_state from unnest(v_plans) p where p.total = 0));
end
$$;
