-- KIND multi-instance and standard loop: the token rests as the host of its items. What there is to do is decided once, here: the collection is frozen, and
-- one that is no list is an incident. Nothing to do: the token goes on at once. Boundary events are armed before the first item begins.
-- Returns:  moving[]: the message waits, the tokens of the first items, the hosts that go on.
-- Writes:   token, multi_instance, multi_instance_part, scope, workflow_instance, inbox, history_event; subscription, timer; incident.
create or replace function bpm_core.enter_multi_instances(p_arriving bpm_core.moving[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_plans bpm_core.loop_plan[];
  v_waits bpm_core.moving[];
begin
  perform bpm_core.host_tokens(p_arriving);
  v_plans := bpm_core.plan_loops(p_arriving);
  perform bpm_core.open_incidents(array(select p.trouble from unnest(v_plans) p where (p.trouble).code is not null));
  v_plans := array(select p from unnest(v_plans) p where (p.trouble).code is null);
  v_waits := bpm_core.arm_boundaries(array(select p.host from unnest(v_plans) p where p.total > 0));
  return v_waits || bpm_core.begin_loops(v_plans);
end
$$;
