-- Under the lock: what waits at inclusive joins in the terms of the new version: the places of their flows may be others there. What could block them
-- is looked for anew.
-- Writes:   inclusive_join.
create or replace function bpm_core.migrate_joins(p_tenant_id text, p_instance_id uuid, p_to uuid)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  update bpm_core.inclusive_join j
     set blocked_by = null,
         filled = (
           select bit_or(set_bit(repeat('0', f.flows)::bit varying, f.place - f.first_place, (a.flow_id is not null)::integer))
             from bpm_core.inclusive_flow f
             left join bpm_core.parallel_join_arrival a
               on a.tenant_id = j.tenant_id and a.workflow_instance_id = j.workflow_instance_id and a.scope_id = j.scope_id and a.node_id = j.node_id
              and a.flow_id = f.flow_id and a.round = j.round
            where f.tenant_id = j.tenant_id and f.workflow_version_id = p_to and f.node_id = j.node_id)
   where j.tenant_id = p_tenant_id and j.workflow_instance_id = p_instance_id and j.waiting > 0;
end
$$;
