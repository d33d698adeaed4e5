-- One process instance with everything that is open in it.
-- Returns:  jsonb {instance, workflows (all of them; of several those too that have not begun, without an id), tokens (live), tasks (open), loops (multi-instances and loops going on, with total, created, done), scopes (open, with what they declare), timers (due yet), waits (open), incidents (open), dead_letters (open),
--           approvals (undecided or not yet applied), commands, more}. Each list holds at most 1,000; more names those cut off.
-- Raises:   BP403, BP404.
create or replace function bpm.get_process(p_process_instance_id uuid, p_tenant_id text default '')
returns jsonb
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_limit     constant integer := 1000;
  v_workflows uuid[];
  v_list      jsonb;
  v_open      jsonb;
begin
  perform bpm_core.enter_call(p_tenant_id, 'reader');
  v_workflows := bpm_core.workflows_of(p_tenant_id, p_process_instance_id);
  v_list := bpm_core.list_workflows(p_tenant_id, p_process_instance_id, v_limit + 1);
  v_open := bpm_core.open_lists(p_tenant_id, v_workflows, v_limit);
  if jsonb_array_length(v_list) > v_limit then
    v_list := v_list - v_limit;
    v_open := jsonb_set(v_open, '{more}', v_open -> 'more' || '"workflows"');
  end if;
  return jsonb_build_object(
           'instance', (
             select to_jsonb(i) - 'tenant_id'
               from bpm.instance i
              where i.tenant_id = p_tenant_id and i.process_instance_id = p_process_instance_id),
           'workflows', v_list)
         || v_open;
end
$$;
