-- What of a node goes into workflow_node.attributes: what execution does not look at on every hop.
create or replace function bpm_core.stored_attributes(p_attributes jsonb, p_extensions jsonb, p_lane text, p_documentation text, p_timer_path text)
returns jsonb
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  -- Mappings, headers and scripts are stored compiled.
  v_drawn   jsonb := p_extensions - array['mappings', 'headers', 'script'];
  v_foreign jsonb := p_attributes - array['id', 'name', 'default', 'attachedToRef', 'cancelActivity', 'messageRef'];
  v_own     jsonb := jsonb_strip_nulls(jsonb_build_object('documentation', p_documentation, 'lane', p_lane, 'timer_path', p_timer_path));
begin
  if v_foreign = '{}' and v_drawn = '{}' then
    return v_own;
  end if;
  return v_own || jsonb_strip_nulls(jsonb_build_object(
    'await', p_attributes ->> 'bpm:await',
    'assignee', coalesce(bpm_core.vendor_attribute(p_attributes, 'assignee'), p_extensions #>> '{zeebe:assignmentDefinition,assignee}'),
    'candidate_groups', coalesce(bpm_core.vendor_attribute(p_attributes, 'candidateGroups'), p_extensions #>> '{zeebe:assignmentDefinition,candidateGroups}'),
    'candidate_users', coalesce(bpm_core.vendor_attribute(p_attributes, 'candidateUsers'), p_extensions #>> '{zeebe:assignmentDefinition,candidateUsers}'),
    'due_date', coalesce(bpm_core.vendor_attribute(p_attributes, 'dueDate'), p_extensions #>> '{zeebe:taskSchedule,dueDate}'),
    'follow_up_date', coalesce(bpm_core.vendor_attribute(p_attributes, 'followUpDate'), p_extensions #>> '{zeebe:taskSchedule,followUpDate}'),
    'form_key', coalesce(bpm_core.vendor_attribute(p_attributes, 'formKey'), bpm_core.vendor_attribute(p_attributes, 'formRef'),
                         p_extensions #>> '{zeebe:formDefinition,formId}', p_extensions #>> '{zeebe:formDefinition,formKey}'),
    'drawn', nullif(v_foreign, '{}'),
    'extensions', nullif(v_drawn, '{}')));
end
$$;
