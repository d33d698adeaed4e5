-- KIND compensation mark: behind an activity that has a compensation handler. Writes down that the activity is completed, with the variables it leaves
-- behind (of a sub-process those declared inside too), and passes on. Positions grow in the order of completion.
-- Returns:  moving[], leaving. Writes: compensation_record, history_event.
create or replace function bpm_core.enter_compensation_marks(p_arriving bpm_core.moving[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now timestamptz := bpm_core.now();
begin
  with marked as materialized (
    select a.tenant_id, a.instance_id, a.scope_id, a.token_id, a.node_id, bpm_core.new_id() as record_id, n.mark, i.inner_id, v.variables,
           (l.position + row_number() over (partition by a.instance_id order by a.ord))::integer as position
      from unnest(p_arriving) with ordinality a(tenant_id, instance_id, version_id, scope_id, token_id, node_id, flow_id, kind, ord)
     cross join lateral (select n.attributes -> 'drawn' as mark from bpm_core.workflow_node n
                          where n.tenant_id = a.tenant_id and n.workflow_version_id = a.version_id and n.node_id = a.node_id offset 0) n
     cross join lateral (select coalesce(max(r.position), 0) as position from bpm_core.compensation_record r
                          where r.workflow_instance_id = a.instance_id offset 0) l
      left join lateral (select s.id as inner_id from (select s.id, s.node_id, s.state from bpm_core.scope s where s.host_token_id = a.token_id offset 0) s
                          where s.node_id = n.mark ->> 'activity' and s.state = 'Completed' order by s.id desc limit 1) i on true
     cross join lateral bpm_core.token_variables(a.tenant_id, a.instance_id, coalesce(i.inner_id, a.scope_id)) v),
  kept as (
    insert into bpm_core.compensation_record (
      tenant_id, id, workflow_instance_id, scope_id, inner_scope_id, node_id, event_id, handler_ref, position, snapshot, recorded_at)
    select m.tenant_id, m.record_id, m.instance_id, m.scope_id, m.inner_id, m.mark ->> 'activity', m.mark ->> 'event', m.mark ->> 'handler', m.position,
           m.variables, v_now
      from marked m)
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, detail)
  select m.tenant_id, m.instance_id, v_now, 'CompensationRecorded', m.token_id, m.node_id,
         jsonb_build_object('record', m.record_id, 'activity', m.mark -> 'activity', 'position', m.position)
    from marked m;
  return array(
    select row(a.tenant_id, a.instance_id, a.version_id, a.scope_id, a.token_id, a.node_id, null, null)::bpm_core.moving
      from unnest(p_arriving) a);
end
$$;
