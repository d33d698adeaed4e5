-- One page of a pass of retention, whatever it removes.
-- Returns:  pass as it is now, removed, rows of each table.
-- Writes:   what it removes, audit_event, retention_pass.
create or replace function bpm_core.remove_page(
  p_pass bpm_core.retention_pass, p_limit integer, p_cutoff timestamptz, p_actor text, p_now timestamptz,
  out pass bpm_core.retention_pass, out removed integer, out rows jsonb)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_tenant text := p_pass.tenant_id;
  v_next   uuid;
  v_why    text[] := '{}'::text[];
  v_oldest uuid;
begin
  case p_pass.kind
    when 'instances' then
      select i.next, i.removed, i.reasons, i.oldest_kept, i.rows into v_next, removed, v_why, v_oldest, rows
        from bpm_core.remove_instances(v_tenant, p_pass.reached, p_limit, p_actor, p_now) i;
    when 'events' then
      select e.next, e.removed, e.reasons, e.oldest_kept into v_next, removed, v_why, v_oldest
        from bpm_core.remove_events(v_tenant, p_pass.reached, p_limit, p_cutoff) e;
    when 'messages' then
      select m.next, m.removed into v_next, removed from bpm_core.remove_messages(v_tenant, p_pass.reached, p_limit, p_cutoff) m;
    when 'signals' then
      select s.next, s.removed into v_next, removed from bpm_core.remove_signals(v_tenant, p_pass.reached, p_limit, p_cutoff) s;
    when 'traces' then
      select t.next, t.removed into v_next, removed from bpm_core.remove_traces(v_tenant, p_pass.reached, p_limit, p_cutoff) t;
  end case;
  rows := coalesce(rows, '{}');
  if removed > 0 and p_pass.kind <> 'instances' then
    perform bpm_core.write_audit(v_tenant, p_actor, 'Remove' || initcap(p_pass.kind), 'retention', p_pass.kind, null, null,
                                 jsonb_build_object('removed', removed, 'until', p_cutoff));
  end if;
  pass := bpm_core.close_pass(p_pass, v_next, removed, v_why, v_oldest, p_now);
end
$$;
