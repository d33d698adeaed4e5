-- Locks every workflow instance of one process, those too that began while the others were waited for; once all are held none can begin.
-- Raises:   BP404 there is no such process. 55P03 one has just begun and somebody holds it: repeat the call.
-- Locks:    workflow_instance.
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
begin
  if not exists (select from bpm_core.process_instance p where p.tenant_id = p_tenant_id and p.id = p_process_instance_id) then
    perform bpm_core.fail('BP404', format('There is no process instance %s.', p_process_instance_id));
  end if;
  loop
    v_more := array(
      select w.id
        from bpm_core.workflow_instance w
       where w.tenant_id = p_tenant_id and w.process_instance_id = p_process_instance_id and w.id <> all (v_locked));
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
