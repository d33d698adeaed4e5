-- Fires these rounds of inclusive joins and begins the next ones, with the surplus over the same flows if there is any.
-- Until they come to rest the survivors are Executing, on no flow: a join that is looked at meanwhile must not take them for waiting.
-- Returns:  moving[], the survivors, leaving. Writes: inclusive_join, token, and what fire_joins writes.
create or replace function bpm_core.next_inclusive_rounds(p_rounds bpm_core.parallel_join[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_leaving bpm_core.moving[];
begin
  insert into bpm_core.parallel_join select r.* from unnest(p_rounds) r;
  v_leaving := bpm_core.fire_joins(p_rounds);
  update bpm_core.inclusive_join j
     set round = r.round + 1, waiting = j.waiting - r.joined, blocked_by = null, filled = coalesce(x.filled, j.filled # j.filled)
    from (select r.*, w.workflow_version_id
            from unnest(p_rounds) r
           cross join lateral (select w.workflow_version_id from bpm_core.workflow_instance w
                                where w.tenant_id = r.tenant_id and w.id = r.workflow_instance_id offset 0) w offset 0) r
   cross join lateral (
     select bit_or(set_bit(repeat('0', p.flows)::bit varying, p.place - p.first_place, 1)) as filled
       from bpm_core.inclusive_flow p
      cross join lateral (select from bpm_core.parallel_join_arrival a
                           where a.tenant_id = r.tenant_id and a.workflow_instance_id = r.workflow_instance_id and a.scope_id = r.scope_id
                             and a.node_id = r.node_id and a.flow_id = p.flow_id and a.round = r.round + 1 offset 0) a
      where p.tenant_id = r.tenant_id and p.workflow_version_id = r.workflow_version_id and p.node_id = r.node_id) x
   where j.tenant_id = r.tenant_id and j.workflow_instance_id = r.workflow_instance_id and j.scope_id = r.scope_id and j.node_id = r.node_id;
  update bpm_core.token t
     set state = 'Executing', via_flow_id = null, version = t.version + 1
    from unnest(v_leaving) l
   where t.tenant_id = l.tenant_id and t.id = l.token_id;
  return v_leaving;
end
$$;
