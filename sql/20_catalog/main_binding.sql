-- The one binding of a process that is deployed as one file: its workflow, called main.
create or replace function bpm_core.main_binding(p_workflow_version_id uuid)
returns bpm_core.process_workflow_binding[]
language sql immutable
set search_path = pg_catalog, pg_temp
as $$ select array[row(null, null, 'main', p_workflow_version_id, 1, '{}', null, null, null)::bpm_core.process_workflow_binding] $$;
