-- Under the locks of it and all its workflows: a process of several ends as Cancelled at once, so that nothing begins any more. Its workflows are cancelled
-- by the caller.
-- Returns:  boolean, whether it did: false if it has only one workflow, or had ended. Writes: process_instance, history_event, inbox.
create or replace function bpm_core.cancel_several(p_tenant_id text, p_process_instance_id uuid, p_actor text)
returns boolean
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  if not exists (
       select from bpm_core.process_instance p
        where p.tenant_id = p_tenant_id and p.id = p_process_instance_id and p.ended_bindings is not null and p.status in ('Running', 'Suspended')) then
    return false;
  end if;
  perform bpm_core.end_processes(p_tenant_id, array[p_process_instance_id], array[bpm_core.first_workflow(p_tenant_id, p_process_instance_id)], 'Cancelled', bpm_core.now(), p_actor);
  perform bpm_core.free_inbox(p_tenant_id, p_process_instance_id, null);
  return true;
end
$$;
