-- Records whose handler threw something that is caught outside of it are Failed: it is neither done nor done again. What else its thrower had taken stays
-- Pending.
-- p_thrown_at: the token in the handler; p_host: where it is caught. Writes: compensation_record, history_event.
create or replace function bpm_core.fail_compensations(p_thrown_at bpm_core.moving, p_host bpm_core.moving)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_scope uuid := p_thrown_at.scope_id;
  r_scope record;
begin
  while v_scope not in (p_host.scope_id, bpm_core.root_scope()) loop
    select s.is_copy, s.parent_scope_id into r_scope from bpm_core.scope s where s.tenant_id = p_thrown_at.tenant_id and s.id = v_scope;
    if r_scope.is_copy then
      with failed as (
        update bpm_core.compensation_record r
           set status = 'Failed', ended_at = bpm_core.now()
          from (select c.tenant_id, c.id from bpm_core.compensation_record c where c.handler_scope_id = v_scope offset 0) c
         where r.tenant_id = c.tenant_id and r.id = c.id
        returning r.tenant_id, r.workflow_instance_id, r.id, r.node_id, r.position, r.thrower_token_id)
      insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, detail)
      select f.tenant_id, f.workflow_instance_id, bpm_core.now(), 'CompensationFailed', f.thrower_token_id, f.node_id,
             jsonb_build_object('record', f.id, 'position', f.position, 'visit', t.visit)
        from failed f
       cross join lateral (select t.visit from bpm_core.token t where t.tenant_id = f.tenant_id and t.id = f.thrower_token_id offset 0) t;
    end if;
    v_scope := coalesce(r_scope.parent_scope_id, bpm_core.root_scope());
  end loop;
end
$$;
