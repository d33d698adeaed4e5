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
  v_hosts  bpm_core.loop_state[];
  v_tokens uuid[];
  v_done   integer[];
  v_bytes  bigint[];
  v_next   integer[];
begin
  v_hosts := array(
    select row(g.host, g.visit, g.steps, g.mode, g.spec, g.declared, g.total, g.created, g.done, g.bytes,
               g.done = g.total or g.verdict = (g.mode <> 'Loop'))::bpm_core.loop_state
      from (select (array_agg(i.host))[1] as host, min(i.visit) as visit, min(i.steps) as steps, min(i.mode) as mode, (array_agg(i.spec))[1] as spec,
                   (array_agg(i.declared))[1] as declared, min(i.total) as total, min(i.created) as created,
                   min(i.done) + count(*)::integer as done, coalesce(sum(octet_length(i.output::text) + 2), 0)::bigint as bytes, bool_or(i.verdict) as verdict
              from unnest(p_items) i
             group by (i.host).token_id) g);
  -- Not joined: the table is often empty, and a plan made then would walk all of it later.
  select array_agg((h.host).token_id), array_agg(h.done), array_agg(h.bytes), array_agg(case when h.ends or h.mode = 'Parallel' then 0 else 1 end)
    into v_tokens, v_done, v_bytes, v_next
    from unnest(v_hosts) h;
  update bpm_core.multi_instance m
     set done = v_done[array_position(v_tokens, m.host_token_id)], output_bytes = m.output_bytes + v_bytes[array_position(v_tokens, m.host_token_id)],
         created = m.created + v_next[array_position(v_tokens, m.host_token_id)]
   where m.tenant_id = ((p_items[1]).token).tenant_id and m.host_token_id = any (v_tokens);
  return v_hosts;
end
$$;
