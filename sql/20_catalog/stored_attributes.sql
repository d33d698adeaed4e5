-- What of a node goes into workflow_node.attributes: what execution does not look at on every hop.
create or replace function bpm_core.stored_attributes(p_node bpm_core.draft_node)
returns jsonb
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select jsonb_strip_nulls(jsonb_build_object(
    'documentation', (p_node).documentation,
    'lane', (p_node).lane,
    'timer_path', (p_node).timer_path,
    'await', (p_node).attributes ->> 'bpm:await',
    'assignee', coalesce(bpm_core.vendor_attribute((p_node).attributes, 'assignee'), (p_node).extensions #>> '{zeebe:assignmentDefinition,assignee}'),
    'candidate_groups', coalesce(bpm_core.vendor_attribute((p_node).attributes, 'candidateGroups'), (p_node).extensions #>> '{zeebe:assignmentDefinition,candidateGroups}'),
    'candidate_users', coalesce(bpm_core.vendor_attribute((p_node).attributes, 'candidateUsers'), (p_node).extensions #>> '{zeebe:assignmentDefinition,candidateUsers}'),
    'due_date', coalesce(bpm_core.vendor_attribute((p_node).attributes, 'dueDate'), (p_node).extensions #>> '{zeebe:taskSchedule,dueDate}'),
    'follow_up_date', coalesce(bpm_core.vendor_attribute((p_node).attributes, 'followUpDate'), (p_node).extensions #>> '{zeebe:taskSchedule,followUpDate}'),
    'form_key', coalesce(bpm_core.vendor_attribute((p_node).attributes, 'formKey'), bpm_core.vendor_attribute((p_node).attributes, 'formRef'),
                         (p_node).extensions #>> '{zeebe:formDefinition,formId}', (p_node).extensions #>> '{zeebe:formDefinition,formKey}'),
    'extension_attributes', (select jsonb_object_agg(a.key, a.value) from jsonb_each((p_node).attributes) a where a.key like '%:%'),
    'extension_elements', nullif((p_node).extensions, '{}')))
$$;
