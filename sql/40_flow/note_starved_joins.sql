-- Opens an incident where a join waits for tokens that nobody can bring any more: every live token of the instance waits at a join,
-- or around one.
-- Not a silent stop. The tokens keep their place; moving or cancelling them is for a person. Once per instance while it is open.
-- Writes:   incident, history_event.
create or replace function bpm_core.note_starved_joins(p_tenant_id text, p_instances uuid[])
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
  with starved as materialized (
    select w.id, bpm_core.new_id() as incident_id, j.joins
      from (select distinct p_tenant_id as tenant_id, i.id from unnest(p_instances) i(id)) d
     cross join lateral (select w.tenant_id, w.id, w.status, w.live_tokens from bpm_core.workflow_instance w
                          where w.tenant_id = d.tenant_id and w.id = d.id offset 0) w
     cross join lateral (
       select coalesce(sum(j.joined), 0) as waiting,
              jsonb_agg(jsonb_build_object('node', j.node_id, 'round', j.round, 'expected', j.expected, 'joined', j.joined)) as joins
         from bpm_core.parallel_join j
        where j.tenant_id = w.tenant_id and j.workflow_instance_id = w.id and j.fired_at is null) j
     where w.status = 'Running' and w.live_tokens > 0 and j.waiting > 0
       -- Hosts of scopes wait for what is inside.
       and w.live_tokens - (select count(distinct s.host_token_id) from (select s.state, s.host_token_id from bpm_core.scope s
                                                                          where s.workflow_instance_id = w.id offset 0) s where s.state = 'Open') = j.waiting
       and not exists (select from (select o.state, o.code from bpm_core.incident o where o.workflow_instance_id = w.id offset 0) o
                        where o.state = 'Open' and o.code = 'JoinStarved')),
  opened as (
    insert into bpm_core.incident (tenant_id, id, workflow_instance_id, node_id, code, message, detail, created_at)
    select p_tenant_id, s.incident_id, s.id, s.joins -> 0 ->> 'node', 'JoinStarved',
           format('Join %s waits for a token that nobody can bring any more.', s.joins -> 0 ->> 'node'), jsonb_build_object('joins', s.joins), v_now
      from starved s)
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, node_id, detail)
  select p_tenant_id, s.id, v_now, 'IncidentOpened', s.joins -> 0 ->> 'node', jsonb_build_object('incident', s.incident_id, 'code', 'JoinStarved')
    from starved s;
end
$$;
