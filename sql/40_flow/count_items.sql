-- Counts items that have ended, one row write per host however many they are, and says which hosts are through. Of a sequence that goes on the next item
-- is counted as begun.
-- Returns:  loop_state[]. Writes: multi_instance.
create or replace function bpm_core.count_items(p_items bpm_core.item_end[])
returns bpm_core.loop_state[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_hosts bpm_core.loop_state[];
begin
  v_hosts := array(
    select row(g.host, g.visit, g.steps, g.mode, g.spec, g.declared, g.total, g.created, g.done, g.bytes,
               g.done = g.total or g.verdict = (g.mode <> 'Loop'))::bpm_core.loop_state
      from (select (array_agg(i.host))[1] as host, min(i.visit) as visit, min(i.steps) as steps, min(i.mode) as mode, (array_agg(i.spec))[1] as spec,
                   (array_agg(i.declared))[1] as declared, min(i.total) as total, min(i.created) as created,
                   min(i.done) + count(*)::integer as done, coalesce(sum(octet_length(i.output::text) + 2), 0)::bigint as bytes, bool_or(i.verdict) as verdict
              from unnest(p_items) i
             group by (i.host).token_id) g);
  -- An upsert of rows that are there: found by their key whatever the statistics say. The table is often empty, and a join planned then walks all of it later.
  insert into bpm_core.multi_instance as m (tenant_id, host_token_id, workflow_instance_id, visit, node_id, mode, total, created, done, output_bytes, declared)
  select (h.host).tenant_id, (h.host).token_id, (h.host).instance_id, h.visit, (h.host).node_id, h.mode, h.total,
         h.created + case when h.ends or h.mode = 'Parallel' then 0 else 1 end, h.done, h.bytes, h.declared
    from unnest(v_hosts) h
      on conflict (tenant_id, host_token_id) do update
     set created = excluded.created, done = excluded.done, output_bytes = m.output_bytes + excluded.output_bytes;
  return v_hosts;
end
$$;
