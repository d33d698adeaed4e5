-- Takes tokens that wait at joins, parallel or inclusive, out of the rounds they belong to; later ones over the same flow move up. The tokens are left
-- alone: the caller moves or ends them and then drives, so that joins are asked again. For repair by hand, so one by one.
-- p_tokens: node_id the join, flow_id the flow it came over. Writes: parallel_join_arrival, parallel_join, inclusive_join.
create or replace function bpm_core.leave_joins(p_tokens bpm_core.moving[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_token bpm_core.moving;
  v_round integer;
  v_last  integer;
begin
  foreach v_token in array coalesce(p_tokens, '{}'::bpm_core.moving[]) loop
    delete from bpm_core.parallel_join_arrival a
     where a.tenant_id = v_token.tenant_id and a.workflow_instance_id = v_token.instance_id and a.scope_id = v_token.scope_id
       and a.node_id = v_token.node_id and a.flow_id = v_token.flow_id and a.token_id = v_token.token_id
    returning a.round into v_round;
    continue when not found;
    v_last := v_round;
    loop
      update bpm_core.parallel_join_arrival a
         set round = v_last
       where a.tenant_id = v_token.tenant_id and a.workflow_instance_id = v_token.instance_id and a.scope_id = v_token.scope_id
         and a.node_id = v_token.node_id and a.flow_id = v_token.flow_id and a.round = v_last + 1;
      exit when not found;
      v_last := v_last + 1;
    end loop;
    -- The last round the flow had brought a token to has one less; of an inclusive join no round has a row before it fires.
    delete from bpm_core.parallel_join j
     where j.tenant_id = v_token.tenant_id and j.workflow_instance_id = v_token.instance_id and j.scope_id = v_token.scope_id
       and j.node_id = v_token.node_id and j.round = v_last and j.joined = 1;
    update bpm_core.parallel_join j
       set joined = j.joined - 1
     where j.tenant_id = v_token.tenant_id and j.workflow_instance_id = v_token.instance_id and j.scope_id = v_token.scope_id
       and j.node_id = v_token.node_id and j.round = v_last;
    update bpm_core.inclusive_join j
       set waiting = j.waiting - 1,
           filled = case when v_last > j.round then j.filled else set_bit(j.filled, p.place - j.first_place, 0) end
      from bpm_core.workflow_instance w
     cross join lateral (select f.place from bpm_core.inclusive_flow f
                          where f.tenant_id = w.tenant_id and f.workflow_version_id = w.workflow_version_id and f.node_id = v_token.node_id
                            and f.flow_id = v_token.flow_id offset 0) p
     where w.tenant_id = v_token.tenant_id and w.id = v_token.instance_id
       and j.tenant_id = v_token.tenant_id and j.workflow_instance_id = v_token.instance_id and j.scope_id = v_token.scope_id
       and j.node_id = v_token.node_id;
  end loop;
end
$$;
