-- Fires the inclusive joins that wait for nothing any more: in each of these scopes every join with a token at one flow at least, if no live token of
-- the scope can come over an empty flow, but for those that can come over a filled one as well (BPMN 2.0, 13.3.3). Asked when nothing moves. All that may
-- fire do, each once: what they send on has to come to rest before the next round.
-- One token that blocks is remembered, and the others are looked at only when that one no longer does. It is picked by the random end of its id:
-- whatever the order in which n branches end, they are all looked at about ln(n) times.
-- p_touched: tokens whose instance and scope something moved or ended in. Returns: moving[], the survivors, leaving.
-- Writes:   inclusive_join, and what fire_joins and next_inclusive_rounds write.
create or replace function bpm_core.fire_inclusive_joins(p_touched bpm_core.moving[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_rounds bpm_core.parallel_join[];
begin
  with pending as materialized (
    select j.*, w.workflow_version_id, f.first_place
      from (select distinct m.tenant_id, m.instance_id, m.scope_id from unnest(p_touched) m offset 0) d
     cross join lateral (select j.* from bpm_core.inclusive_join j
                          where j.tenant_id = d.tenant_id and j.workflow_instance_id = d.instance_id and j.scope_id = d.scope_id offset 0) j
     cross join lateral (select w.workflow_version_id from bpm_core.workflow_instance w
                          where w.tenant_id = d.tenant_id and w.id = d.instance_id offset 0) w
     cross join lateral (select p.first_place from bpm_core.inclusive_flow p
                          where p.tenant_id = d.tenant_id and p.workflow_version_id = w.workflow_version_id and p.node_id = j.node_id limit 1) f
     where j.waiting > 0
       and not exists (
         select
           from (select t.node_id, t.via_flow_id, t.state, t.scope_id from bpm_core.token t
                  where t.tenant_id = j.tenant_id and t.id = j.blocked_by offset 0) t
          cross join lateral bpm_core.token_reach(j.tenant_id, w.workflow_version_id, j.node_id, f.first_place, j.filled, t.node_id, t.via_flow_id) r
          where t.state in ('Ready', 'Executing', 'Waiting', 'Failed') and (t.state <> 'Waiting' or t.node_id <> j.node_id)
            and t.scope_id = j.scope_id and bpm_core.blocks_join(r.bits, j.filled))),
  seen as materialized (
    select p.*, s.here, s.blocker
      from pending p
     cross join lateral (
       select count(*) filter (where t.state = 'Waiting' and t.node_id = p.node_id) as here,
              (array_agg(t.id order by right(t.id::text, 12))
                 filter (where (t.state <> 'Waiting' or t.node_id <> p.node_id) and bpm_core.blocks_join(r.bits, p.filled)))[1] as blocker
         from (select t.tenant_id, t.id, t.node_id, t.via_flow_id, t.state from bpm_core.token t
                where p.scope_id = '00000000-0000-0000-0000-000000000000' and t.workflow_instance_id = p.workflow_instance_id
                  and t.scope_id = p.scope_id
               union all
               select t.tenant_id, t.id, t.node_id, t.via_flow_id, t.state from bpm_core.token t
                where p.scope_id <> '00000000-0000-0000-0000-000000000000' and t.scope_id = p.scope_id
                  and t.scope_id <> '00000000-0000-0000-0000-000000000000'
               offset 0) t
        cross join lateral bpm_core.token_reach(p.tenant_id, p.workflow_version_id, p.node_id, p.first_place, p.filled, t.node_id, t.via_flow_id) r
        where t.tenant_id = p.tenant_id and t.state in ('Ready', 'Executing', 'Waiting', 'Failed')) s),
  kept as (
    -- Each is there: by key, whatever the statistics say (as in count_items). None of its tokens is live: the scope was ended.
    insert into bpm_core.inclusive_join as j (tenant_id, workflow_instance_id, scope_id, node_id, round, waiting, filled, blocked_by)
    select s.tenant_id, s.workflow_instance_id, s.scope_id, s.node_id, s.round, case when s.here = 0 then 0 else s.waiting end, s.filled, s.blocker
      from seen s
     where s.blocker is not null or s.here = 0
        on conflict (tenant_id, workflow_instance_id, scope_id, node_id) do update
       set blocked_by = excluded.blocked_by, waiting = excluded.waiting)
  select array_agg(row(s.tenant_id, s.workflow_instance_id, s.scope_id, s.node_id, s.round, null, bit_count(s.filled), bit_count(s.filled), null)::bpm_core.parallel_join)
    into v_rounds
    from seen s
   where s.blocker is null and s.here > 0;
  if v_rounds is null then
    return '{}'::bpm_core.moving[];
  end if;
  return bpm_core.next_inclusive_rounds(v_rounds);
end
$$;
