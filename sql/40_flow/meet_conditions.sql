-- Asks the conditions that are waited for in these instances, and lets those that are true take effect; of one token only one, an interrupting one first.
-- One that cannot be decided, since its variables are not there yet, is not true yet. That of a boundary event that does not interrupt takes effect each
-- time it turns true.
-- Returns:  moving[], leaving. Writes: subscription, history_event, and what leave_waits writes. The instances are locked.
create or replace function bpm_core.meet_conditions(p_tenant_id text, p_instances uuid[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_met bpm_core.subscription[];
begin
  with judged as materialized (
    select s::bpm_core.subscription as wait, n.interrupting, n.interrupting and n.element <> 'startEvent' as takes_host, s.last_met,
           coalesce(bpm_core.evaluate_condition(n.expressions -> 'condition', v.variables), false) as met
      from (select distinct i.id from unnest(p_instances) i(id) offset 0) i
     -- Its state is looked at outside: asked inside, it would offer the index of all that is open.
     cross join lateral (select s.* from bpm_core.subscription s where s.workflow_instance_id = i.id and s.kind = 'Conditional' offset 0) s
     cross join lateral (select w.workflow_version_id from bpm_core.workflow_instance w
                          where w.tenant_id = s.tenant_id and w.id = s.workflow_instance_id and w.status = 'Running' offset 0) w
     cross join lateral (select n.interrupting, n.element, n.expressions from bpm_core.workflow_node n
                          where n.tenant_id = s.tenant_id and n.workflow_version_id = w.workflow_version_id and n.node_id = s.node_id offset 0) n
     cross join lateral (select t.scope_id, t.state from bpm_core.token t where t.tenant_id = s.tenant_id and t.id = s.token_id offset 0) t
     cross join lateral bpm_core.token_variables(s.tenant_id, s.workflow_instance_id, t.scope_id) v
     where s.tenant_id = p_tenant_id and s.state = 'Open' and t.state = 'Waiting'),
  ranked as materialized (
    select j.*, j.met and (j.interrupting or not j.last_met) as effective,
           row_number() over (partition by (j.wait).token_id, j.met and (j.interrupting or not j.last_met)
                              order by j.interrupting desc, (j.wait).created_at, (j.wait).id) as turn
      from judged j),
  turned as (
    -- One that has to wait for its turn is not yet met: it is asked again when the first has taken effect.
    update bpm_core.subscription s
       set last_met = r.met
      from ranked r
     where s.tenant_id = (r.wait).tenant_id and s.id = (r.wait).id and not r.interrupting and s.last_met <> r.met
       and (not r.met or r.effective and r.turn = 1)),
  effective as materialized (
    select r.* from ranked r where r.effective and r.turn = 1),
  consumed as (
    update bpm_core.subscription s
       set state = 'Consumed'
      from effective e
     where s.tenant_id = (e.wait).tenant_id and s.id = (e.wait).id and e.interrupting),
  noted as (
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, detail)
    select p_tenant_id, (e.wait).workflow_instance_id, bpm_core.now(), 'ConditionMet', (e.wait).token_id, (e.wait).node_id,
           jsonb_build_object('subscription', (e.wait).id) || case when e.takes_host then '{}'::jsonb else '{"interrupting": false}' end
      from effective e)
  select array_agg(e.wait) into v_met from effective e;
  return bpm_core.leave_waits(v_met);
end
$$;
