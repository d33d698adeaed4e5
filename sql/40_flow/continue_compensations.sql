-- What follows when handlers have ended: their records are Completed, and the next handler of each thrower begins, or the thrower moves on.
-- p_throwers: the hosts of the scopes that ended, in the order of p_scopes. Returns: moving[], leaving. Writes: compensation_record, history_event, what
-- run_compensation writes.
create or replace function bpm_core.continue_compensations(p_throwers bpm_core.moving[], p_scopes uuid[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_leaving bpm_core.moving[] := '{}'::bpm_core.moving[];
  v_thrower bpm_core.moving;
  r_record  record;
begin
  for v_n in 1 .. cardinality(p_throwers) loop
    v_thrower := p_throwers[v_n];
    update bpm_core.compensation_record r
       set status = 'Completed', ended_at = bpm_core.now()
      from (select c.tenant_id, c.id from bpm_core.compensation_record c where c.handler_scope_id = p_scopes[v_n] offset 0) c
     where r.tenant_id = c.tenant_id and r.id = c.id
    returning r.id, r.node_id, r.position into r_record;
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, detail)
    values (v_thrower.tenant_id, v_thrower.instance_id, bpm_core.now(), 'CompensationCompleted', v_thrower.token_id, r_record.node_id,
            jsonb_build_object('record', r_record.id, 'position', r_record.position, 'visit', (
              select t.visit from bpm_core.token t where t.tenant_id = v_thrower.tenant_id and t.id = v_thrower.token_id)));
    v_leaving := v_leaving || bpm_core.run_compensation(v_thrower, r_record.position);
  end loop;
  return v_leaving;
end
$$;
