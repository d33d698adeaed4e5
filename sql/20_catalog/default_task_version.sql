-- A task version that says nothing but its type; bpm:user is the type of all user tasks, done by people.
create or replace function bpm_core.default_task_version(p_task_type text)
returns bpm_core.task_version
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_draft bpm_core.task_version;
begin
  v_draft.task_type := p_task_type;
  v_draft.executor_kind := (case when p_task_type = 'bpm:user' then 'Human' else 'Service' end)::bpm_core.executor_kind;
  v_draft.max_attempts := 3;
  v_draft.backoff := interval '1 second';
  v_draft.backoff_factor := 2;
  v_draft.backoff_cap := interval '5 minutes';
  v_draft.jitter := 0.1;
  v_draft.lease := interval '30 seconds';
  v_draft.approval_required := false;
  v_draft.review_required := false;
  return v_draft;
end
$$;
