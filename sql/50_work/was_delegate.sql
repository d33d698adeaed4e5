-- Was a user task of this process, other than p_but, handed on to this person?
create or replace function bpm_core.was_delegate(p_tenant_id text, p_process_instance_id uuid, p_actor text, p_but uuid)
returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  return exists (
    select
      from (select w.tenant_id, w.id from bpm_core.workflow_instance w where w.process_instance_id = p_process_instance_id offset 0) w
     cross join lateral (select t.tenant_id, t.id, t.delegates from bpm_core.task_instance t where t.workflow_instance_id = w.id offset 0) t
     where w.tenant_id = p_tenant_id and t.tenant_id = p_tenant_id and p_actor = any (t.delegates) and t.id is distinct from p_but);
end
$$;
