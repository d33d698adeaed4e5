-- The hop loop: groups arriving tokens by the kind of node they enter, hands each group to its kind, follows what moves on.
-- Kinds run in the order of bpm_core.node_kind: those that end an instance first, so that their victims leave the moving set.
-- What the kinds give back with a kind are message waits, of tokens that rest there; without one it moves on.
-- Inclusive joins, then conditions that are waited for, are looked at when nothing moves any more; what they send on goes on in the same loop.
-- A token that has hopped as often as the step budget allows is parked; tick goes on with it. So is everything once more is called than one
-- command should bear: what multiplies with every call (a process that calls itself twice) would never come to an end; or conditions were asked too
-- often: each round asks all that are waited for, and one that is always true brings more of them. Message waits of all hops are opened together at the
-- end, so that the keys are locked once and sorted.
create or replace function bpm_core.drive(p_arriving bpm_core.moving[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_step_budget constant integer := 1000;
  v_most_calls  constant integer := 2000;
  v_most_rounds constant integer := 100;
  v_arriving    bpm_core.moving[] := p_arriving;
  v_leaving     bpm_core.moving[];
  v_entered     bpm_core.moving[];
  v_waiting     bpm_core.moving[] := '{}'::bpm_core.moving[];
  v_joining     bpm_core.moving[] := '{}'::bpm_core.moving[];
  v_hops        integer := 0;
  v_calls       integer := 0;
  v_rounds      integer := 0;
  v_some_ended  boolean;
  v_inclusive   boolean;
  v_conditional boolean := bpm_core.has_conditions(p_arriving);
  v_touched     bpm_core.moving[] := '{}'::bpm_core.moving[];
  r_group       record;
begin
  v_inclusive := exists (
    select
      from (select distinct a.tenant_id, a.version_id from unnest(p_arriving) a offset 0) v
     cross join lateral (select from bpm_core.inclusive_flow f
                          where f.tenant_id = v.tenant_id and f.workflow_version_id = v.version_id limit 1) f);
  while cardinality(v_arriving) > 0 and v_hops < v_step_budget and v_calls <= v_most_calls and v_rounds < v_most_rounds loop
    v_hops := v_hops + 1;
    v_leaving := '{}'::bpm_core.moving[];
    v_some_ended := false;
    for r_group in
      select a.kind, array_agg(a) as arriving
        from unnest(v_arriving) a
       group by a.kind
       order by a.kind
    loop
      if v_some_ended then
        r_group.arriving := bpm_core.drop_dead(r_group.arriving);
        v_leaving := bpm_core.drop_dead(v_leaving);
      end if;
      v_entered := bpm_core.enter_nodes(r_group.kind, r_group.arriving);
      if bpm_core.holds_tokens(r_group.kind) then
        v_waiting := v_waiting || array(select e from unnest(v_entered) e where e.kind is not null);
        v_leaving := v_leaving || array(select e from unnest(v_entered) e where e.kind is null);
      else
        v_leaving := v_leaving || v_entered;
      end if;
      if r_group.kind = 'CallActivity' then
        v_calls := v_calls + cardinality(r_group.arriving);
      end if;
      if r_group.kind in ('ParallelJoin', 'InclusiveJoin', 'EndEvent', 'CompensationDone') then
        v_joining := v_joining || r_group.arriving;
      end if;
      v_inclusive := v_inclusive or r_group.kind = 'InclusiveJoin';
      v_conditional := v_conditional or (r_group.kind = 'CallActivity' and bpm_core.has_conditions(v_entered));
      v_some_ended := v_some_ended or r_group.kind in ('TerminateEnd', 'ErrorEnd', 'CancelEnd', 'EscalationThrow', 'ItemEnd');
    end loop;
    if v_some_ended then
      v_leaving := bpm_core.drop_dead(v_leaving);
    end if;
    if cardinality(v_waiting) > 0 then
      -- A host may leave in the command in which it came, and its waits with it.
      v_waiting := array(select w from unnest(v_waiting) w where not exists (select from unnest(v_leaving) l where l.token_id = w.token_id));
    end if;
    if v_inclusive or v_conditional then
      v_touched := array(select distinct on (m.instance_id, m.scope_id) m from unnest(v_touched || v_arriving) m order by m.instance_id, m.scope_id);
    end if;
    v_arriving := bpm_core.follow_flows(v_leaving);
    if v_inclusive and cardinality(v_arriving) = 0 then
      v_arriving := bpm_core.follow_flows(bpm_core.fire_inclusive_joins(v_touched));
    end if;
    if v_conditional and cardinality(v_arriving) = 0 then
      v_rounds := v_rounds + 1;
      v_leaving := bpm_core.meet_conditions((p_arriving[1]).tenant_id, array(select t.instance_id from unnest(v_touched) t));
      v_waiting := array(select w from unnest(v_waiting) w where not exists (select from unnest(v_leaving) l where l.token_id = w.token_id));
      v_arriving := bpm_core.follow_flows(v_leaving);
    end if;
  end loop;
  -- Asked here and not in the functions: a call costs its seven pinned settings even when there is nothing to do.
  if cardinality(v_arriving) > 0 then
    perform bpm_core.park_tokens(v_arriving, v_hops);
    if v_inclusive then
      perform bpm_core.park_tokens(bpm_core.follow_flows(bpm_core.fire_inclusive_joins(v_touched)), v_hops);
    end if;
  end if;
  if cardinality(v_waiting) > 0 then
    perform bpm_core.open_waits(v_waiting);
  end if;
  if cardinality(v_joining) > 0 then
    perform bpm_core.note_starved_joins(v_joining);
  end if;
end
$$;
