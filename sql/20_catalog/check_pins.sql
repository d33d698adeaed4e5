-- The shape of what publish_workflow is told about tasks: {"node": "task code"} or {"node": {"task": "code", "version": 2}}, at most 10,000.
-- Raises:   BP400.
create or replace function bpm_core.check_pins(p_tasks jsonb)
returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_bad text;
begin
  if jsonb_typeof(p_tasks) is distinct from 'object' then
    perform bpm_core.fail('BP400', 'p_tasks must be an object of node ids and tasks.');
  elsif (select count(*) from jsonb_object_keys(p_tasks)) > 10000 then
    perform bpm_core.fail('BP400', 'p_tasks has at most 10,000 nodes.');
  end if;
  select e.key into v_bad
    from jsonb_each(p_tasks) e
   where case jsonb_typeof(e.value)
           when 'string' then false
           when 'object' then e.value - '{task,version}'::text[] <> '{}' or jsonb_typeof(e.value -> 'task') is distinct from 'string'
                              or coalesce((e.value -> 'version')::text, 'null') !~ '^([0-9]{1,9}|null)$'
           else true end
   order by e.key
   limit 1;
  if v_bad is not null then
    perform bpm_core.fail('BP400', format('p_tasks, node %L: not of the form this call takes.', left(v_bad, 200)), jsonb_build_object('node_id', left(v_bad, 200)),
      'A task is its code, or {"task": code, "version": number}.');
  end if;
end
$$;
