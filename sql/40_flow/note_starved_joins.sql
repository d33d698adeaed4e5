-- Opens an incident where a join waits for tokens that nobody can bring any more: every live token of its scope waits at a join. Inclusive joins among
-- them wait for each other, or for a parallel one. Not a silent stop. The tokens keep their place; moving or cancelling them is for a person.
-- Once per scope while it is open.
-- p_joining: tokens whose instance and scope is looked at. Writes: incident, history_event.
create or replace function bpm_core.note_starved_joins(p_joining bpm_core.moving[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now timestamptz := bpm_core.now();
begin
  with recursive around as (
    select distinct m.tenant_id, m.instance_id, m.scope_id from unnest(p_joining) m
    union
    -- An event sub-process that ends may leave the scope around it with nothing but what waits at joins.
    select a.tenant_id, a.instance_id, coalesce(s.parent_scope_id, bpm_core.root_scope())
      from around a
     cross join lateral (select s.parent_scope_id from bpm_core.scope s where s.tenant_id = a.tenant_id and s.id = a.scope_id offset 0) s
     where a.scope_id <> bpm_core.root_scope()),
  starved as materialized (
    select d.tenant_id, d.instance_id, d.scope_id, bpm_core.new_id() as incident_id, j.joins
      from around d
     cross join lateral (select w.status, w.live_tokens from bpm_core.workflow_instance w
                          where w.tenant_id = d.tenant_id and w.id = d.instance_id offset 0) w
      left join lateral (select s.live_tokens from bpm_core.scope s where s.tenant_id = d.tenant_id and s.id = d.scope_id offset 0) s on true
     cross join lateral (
       select coalesce(sum(x.joined), 0) as waiting,
              jsonb_agg(jsonb_build_object('node', x.node_id, 'round', x.round, 'expected', x.expected, 'joined', x.joined)) as joins
         from (select j.node_id, j.round, j.expected, j.joined from bpm_core.parallel_join j
                where j.tenant_id = d.tenant_id and j.workflow_instance_id = d.instance_id and j.scope_id = d.scope_id and j.fired_at is null
               union all
               select i.node_id, i.round, length(i.filled), i.waiting from bpm_core.inclusive_join i
                where i.tenant_id = d.tenant_id and i.workflow_instance_id = d.instance_id and i.scope_id = d.scope_id and i.waiting > 0) x) j
     -- At the root the counter is that of the whole instance: a token inside a sub-process has its host at the root, which waits at no join.
     where w.status = 'Running' and j.waiting > 0 and j.waiting = coalesce(s.live_tokens, w.live_tokens)
       and not exists (select from (select o.state, o.code, o.detail from bpm_core.incident o where o.workflow_instance_id = d.instance_id offset 0) o
                        where o.state = 'Open' and o.code = 'JoinStarved' and o.detail ->> 'scope' = d.scope_id::text)),
  opened as (
    insert into bpm_core.incident (tenant_id, id, workflow_instance_id, node_id, code, message, detail, created_at)
    select s.tenant_id, s.incident_id, s.instance_id, s.joins -> 0 ->> 'node', 'JoinStarved',
           format('Join %s waits for a token that nobody can bring any more.', s.joins -> 0 ->> 'node'),
           jsonb_build_object('joins', s.joins, 'scope', s.scope_id), v_now
      from starved s)
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, node_id, detail)
  select s.tenant_id, s.instance_id, v_now, 'IncidentOpened', s.joins -> 0 ->> 'node', jsonb_build_object('incident', s.incident_id, 'code', 'JoinStarved')
    from starved s;
end
$$;
