-- Has this person voted on an approval of this process, other than p_but?
create or replace function bpm_core.has_voted(p_tenant_id text, p_process_instance_id uuid, p_actor text, p_but uuid)
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
     cross join lateral (select a.tenant_id, a.id from bpm_core.approval_record a where a.workflow_instance_id = w.id offset 0) a
     cross join lateral (select v.actor from bpm_core.approval_vote v
                          where v.tenant_id = a.tenant_id and v.approval_id = a.id and v.actor = p_actor offset 0) v
     where w.tenant_id = p_tenant_id and a.tenant_id = p_tenant_id and a.id is distinct from p_but);
end
$$;
