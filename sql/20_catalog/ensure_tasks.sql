-- Publishes a task definition with the default policy for every task type that has none.
-- Returns:  nothing.
-- Writes:   task_definition, task_version.
-- Locks:    task_definition rows, in the order of their codes, so that two deploys of the same new types take turns.
create or replace function bpm_core.ensure_tasks(p_tenant_id text, p_types text[], p_actor text)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_draft bpm_core.task_version;
  v_type  text;
begin
  for v_type in
    select t.task_type
      from (select distinct u.task_type collate "C" as task_type from unnest(p_types) u (task_type)) t
     where t.task_type not in (select p.task_type from bpm_core.pinned_tasks(p_tenant_id, p_types) p)
     order by t.task_type
  loop
    v_draft := bpm_core.default_task_version(v_type);
    perform bpm_core.store_task_version(p_tenant_id, v_type, v_draft, p_actor);
  end loop;
end
$$;
