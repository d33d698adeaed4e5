-- KIND item end: an item of a multi-instance, or a turn of a loop, is over. Sequentially the next one begins; the last one, or a completion condition
-- that is true, lets the host go on, and what then still runs is closed. A condition that cannot be decided is an incident of the item that asked it: it stays
-- at its end and asks again when the incident is resolved.
-- Returns:  moving[], the tokens of the next items and the hosts that go on.
-- Writes:   token, scope, workflow_instance, multi_instance, history_event, incident, and what close_scopes, open_items and finish_loops write.
create or replace function bpm_core.enter_item_ends(p_arriving bpm_core.moving[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_items  bpm_core.item_end[] := bpm_core.judge_items(p_arriving);
  v_hosts  bpm_core.loop_state[];
  v_closed uuid[];
  v_alive  uuid[];
begin
  if exists (select from unnest(v_items) i where (i.trouble).code is not null) then
    perform bpm_core.open_incidents(array(select i.trouble from unnest(v_items) i where (i.trouble).code is not null));
    -- Judged again, since the counters the others saw had those in them.
    return bpm_core.enter_item_ends(array(select i.token from unnest(v_items) i where (i.trouble).code is null));
  elsif cardinality(v_items) = 0 then
    return '{}'::bpm_core.moving[];
  end if;
  perform bpm_core.complete_items(v_items);
  v_hosts := bpm_core.count_items(v_items);
  v_closed := array(select (h.host).token_id from unnest(v_hosts) h where h.ends and h.created > h.done);
  if cardinality(v_closed) > 0 then
    perform bpm_core.close_scopes((p_arriving[1]).tenant_id, v_closed);
    -- What was closed may have held others of these hosts.
    v_alive := array(select a.token_id from unnest(bpm_core.drop_dead(array(select h.host from unnest(v_hosts) h))) a);
    v_hosts := array(select h from unnest(v_hosts) h where (h.host).token_id = any (v_alive));
  end if;
  return bpm_core.open_items(array(
           select row(h.host, h.visit, h.steps, h.done, h.total,
                      bpm_core.loop_variables(h.spec, h.declared, h.done, bpm_core.loop_element((h.host).tenant_id, (h.host).token_id, h.done, h.spec)))::bpm_core.loop_item
             from unnest(v_hosts) h where not h.ends and h.mode <> 'Parallel'))
         || bpm_core.finish_loops(array(select h from unnest(v_hosts) h where h.ends));
end
$$;
