-- The variables of a process instance as its steps see them: those of the process, over them those of its workflows.
-- p_form: json, or text: then each value is a text in wire form, as encode_variables writes it.
-- Returns:  jsonb object.
-- Raises:   BP400 no such form. BP403, BP404.
create or replace function bpm.get_variables(p_process_instance_id uuid, p_form text default 'json', p_tenant_id text default '')
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
  select p.variables || w.variables into v_variables
    from bpm_core.process_instance p
    join bpm_core.workflow_instance w on w.tenant_id = p.tenant_id and w.id = v_workflows[1]
   where p.tenant_id = p_tenant_id and p.id = p_process_instance_id;
  return case p_form when 'text' then bpm_core.encode_variables(v_variables) else v_variables end;
end
$$;
