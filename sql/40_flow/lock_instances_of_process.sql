-- Locks every workflow instance of one process, those too that began while the others were waited for; once all are held none can begin. A process of
-- several is locked right behind them, since the workflows that depend on others begin under its lock: whoever holds it waits for no instance.
-- Raises:   BP404 there is no such process. 55P03 one has just begun and somebody holds it: repeat the call.
-- Locks:    workflow_instance; of a process of several then process_instance.
create or replace function bpm_core.lock_instances_of_process(p_tenant_id text, p_process_instance_id uuid)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_locked uuid[] := array[]::uuid[];
  v_more   uuid[];
  v_wide   boolean;
begin
  select p.ended_bindings is not null into v_wide from bpm_core.process_instance p where p.tenant_id = p_tenant_id and p.id = p_process_instance_id;
  if not found then
    perform bpm_core.fail('BP404', format('There is no process instance %s.', p_process_instance_id));
  end if;
  loop
    v_more := array(
      select w.id
        from (select w.tenant_id, w.id from bpm_core.workflow_instance w where w.process_instance_id = p_process_instance_id offset 0) w
       where w.tenant_id = p_tenant_id and w.id <> all (v_locked));
    if cardinality(v_more) = 0 and v_wide then
      perform from bpm_core.process_instance p where p.tenant_id = p_tenant_id and p.id = p_process_instance_id for no key update;
      v_wide := false;
      continue;
    end if;
    exit when cardinality(v_more) = 0;
    -- Locks are waited for once (law 1); a later one is only tried.
    if v_locked = '{}' then
      perform bpm_core.lock_instances(p_tenant_id, v_more);
    elsif cardinality(bpm_core.try_lock_instances(p_tenant_id, v_more)) < cardinality(v_more) then
      perform bpm_core.fail('55P03', format('A workflow of process instance %s has just begun and is held by another call.', p_process_instance_id));
    end if;
    v_locked := v_locked || v_more;
  end loop;
end
$$;
