-- After a picker that holds these instances has waited in vain: those of them of whose open tasks somebody else holds none. A claim locks its tasks alone, and
-- where its transaction lasts, whoever would close such a task has to leave its instance for later and go on with the others.
-- Returns:  uuid[]. Locks: task_instance, skip locked.
create or replace function bpm_core.unheld_instances(p_tenant_id text, p_instances uuid[])
returns uuid[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  return array(
    select i.id
      from (select distinct k.id from unnest(p_instances) k(id) order by k.id offset 0) i
     cross join lateral (
       select count(*) as open, count(l.id) as ours
         from (select t.tenant_id, t.id, t.state from bpm_core.task_instance t where t.workflow_instance_id = i.id order by t.id offset 0) t
         left join lateral (select l.id from bpm_core.task_instance l where l.tenant_id = t.tenant_id and l.id = t.id for no key update skip locked) l on true
        where t.tenant_id = p_tenant_id and t.state in ('Ready', 'Executing', 'Held', 'Failed')) t
     where t.ours = t.open);
end
$$;
