-- The variables of a process instance as its steps see them: those of the process, over them those of its workflow. Of a process of several workflows those of
-- the process alone, which is what its next workflows and their start conditions see; p_workflow_instance_id names one of them, or a called one, instead.
-- p_form: json, or text: then each value is a text in wire form, as encode_variables writes it.
-- Returns:  jsonb object.
-- Raises:   BP400 no such form. BP403, BP404 no such process instance, or no such workflow instance in it.
create or replace function bpm.get_variables(p_process_instance_id uuid, p_workflow_instance_id uuid default null, p_form text default 'json',
                                              p_tenant_id text default '')
returns jsonb
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_workflows uuid[];
  v_variables jsonb;
begin
  perform bpm_core.enter_call(p_tenant_id, 'reader');
  if p_form is null or p_form not in ('json', 'text') then
    perform bpm_core.fail('BP400', format('p_form is json or text, not %L.', p_form));
  end if;
  v_workflows := bpm_core.workflows_of(p_tenant_id, p_process_instance_id);
  if p_workflow_instance_id <> all (v_workflows) then
    perform bpm_core.fail('BP404', format('There is no workflow instance %s in process instance %s.', p_workflow_instance_id, p_process_instance_id), null,
      'The view bpm.workflow lists them.');
  end if;
  select case when p_workflow_instance_id is null and p.ended_bindings is not null then p.variables
              else coalesce(w.inputs, p.variables) || w.variables end into v_variables
    from bpm_core.process_instance p
    join bpm_core.workflow_instance w on w.tenant_id = p.tenant_id and w.id = coalesce(p_workflow_instance_id, v_workflows[1])
   where p.tenant_id = p_tenant_id and p.id = p_process_instance_id;
  return case p_form when 'text' then bpm_core.encode_variables(v_variables) else v_variables end;
end
$$;
