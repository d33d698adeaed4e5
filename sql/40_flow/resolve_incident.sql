-- Drives a stopped token again after what stopped it was mended: a failed task gets fresh attempts, any other node is entered anew.
-- If nothing was mended the token stops again at once, with a new incident.
-- Returns:  one row: incident_id, outcome Done (also when it was resolved before).
-- Raises:   BP403, BP404, BP409 it stops a token and the instance is no longer running, or the incident belongs to a rejected approval, BP422 attempts out of 1..1000.
-- Writes:   incident, dead_letter, task_instance, token, history_event, audit_event, and what the path ahead writes.
create or replace function bpm.resolve_incident(p_incident_id uuid, p_attempts integer default 1, p_actor text default null, p_tenant_id text default '')
returns table (incident_id uuid, outcome bpm.outcome)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set lock_timeout = '10s'
as $$
declare
  v_actor    text;
  r_incident bpm_core.incident;
begin
  perform bpm_core.enter_call(p_tenant_id, 'operator');
  v_actor := bpm_core.acting_as(p_tenant_id, p_actor);
  if p_attempts is null or p_attempts not between 1 and 1000 then
    perform bpm_core.fail('BP422', 'Attempts must be 1 to 1000.', jsonb_build_object('attempts', p_attempts));
  end if;
  select i.* into r_incident from bpm_core.incident i where i.tenant_id = p_tenant_id and i.id = p_incident_id;
  if not found then
    perform bpm_core.fail('BP404', format('There is no incident %s.', p_incident_id));
  end if;
  perform bpm_core.lock_instances(p_tenant_id, array[r_incident.workflow_instance_id]);
  select i.* into r_incident from bpm_core.incident i where i.tenant_id = p_tenant_id and i.id = p_incident_id for no key update;
  if r_incident.state = 'Open' then
    -- One that stops no token (a command that failed after its token went on) may outlive its instance; resolving it is to have seen it.
    if r_incident.token_id is not null or r_incident.code in ('StartUndecidable', 'WorkflowNotStartable') then
      perform bpm_core.check_running(p_tenant_id, r_incident.workflow_instance_id);
    end if;
    perform bpm_core.drive_incident(r_incident, p_attempts, v_actor);
  end if;
  return query select p_incident_id, 'Done'::bpm.outcome;
end
$$;
