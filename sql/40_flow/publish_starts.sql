-- Moves what starts a process to another version, or closes it (p_to null: archived), under the lock of the definition. A wait for the same message or
-- signal keeps its age, a timer whose rule is the same its grid and what it has used up. Anything else begins now.
-- Writes:   subscription, timer. Locks: timer rows of start events; whoever fires them holds the lock of the definition, too.
create or replace function bpm_core.publish_starts(p_tenant_id text, p_definition_id uuid, p_from uuid, p_to uuid)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now      timestamptz := bpm_core.now();
  v_versions uuid[] := array(select v.id from bpm_core.process_version v where v.tenant_id = p_tenant_id and v.definition_id = p_definition_id);
  v_closed   bpm_core.subscription[];
  v_timers   bpm_core.timer[];
begin
  with open as materialized (
    select s.tenant_id, s.id
      from unnest(v_versions) v(id)
     cross join lateral (select s.tenant_id, s.id, s.state from bpm_core.subscription s where s.process_version_id = v.id offset 0) s
     where s.tenant_id = p_tenant_id and s.state = 'Open'),
  closed as (
    update bpm_core.subscription s set state = 'Closed' from open o where s.tenant_id = o.tenant_id and s.id = o.id
    returning s.*)
  select array_agg(c::bpm_core.subscription) into v_closed from closed c;
  -- How each start timer of the version before stands: what is scheduled, else its last row.
  v_timers := array(
    select distinct on (t.node_id) t::bpm_core.timer
      from (select t.* from bpm_core.timer t where t.process_version_id = p_from offset 0) t
     where t.tenant_id = p_tenant_id
     order by t.node_id, t.status = 'Scheduled' desc, t.id desc);
  with live as materialized (
    select t.tenant_id, t.id
      from unnest(v_versions) v(id)
     cross join lateral (select t.tenant_id, t.id, t.status from bpm_core.timer t where t.process_version_id = v.id offset 0) t
     where t.tenant_id = p_tenant_id and t.status in ('Scheduled', 'Held'))
  update bpm_core.timer t set status = 'Cancelled' from live l where t.tenant_id = l.tenant_id and t.id = l.id;
  insert into bpm_core.subscription (tenant_id, id, process_version_id, node_id, kind, name, created_at)
  select p_tenant_id, bpm_core.new_id(), p_to, n.node_id, k.kind, n.name,
         coalesce((select min(c.created_at) from unnest(v_closed) c where c.kind = k.kind and c.name = n.name), v_now)
    from bpm_core.start_nodes(p_tenant_id, p_to) n
   cross join lateral (select case n.kind when 'MessageStart' then 'Message' else 'Signal' end as kind) k
   where n.kind in ('MessageStart', 'SignalStart');
  perform bpm_core.schedule_starts(p_tenant_id, p_to, v_timers, v_now);
end
$$;
