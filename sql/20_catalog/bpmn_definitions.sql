-- What stands beside the processes and is referred to: messages, errors, signals, escalations.
-- Returns:  one row per such element with an id.
create or replace function bpm_core.bpmn_definitions(p_elements bpm_core.bpmn_element[])
returns table (id text, tag text, name text, attributes jsonb, extensions jsonb)
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select distinct on (e.id) e.id, e.tag, nullif(btrim(e.attributes ->> 'name'), ''), e.attributes, coalesce(x.extensions, '{}')
    from unnest(p_elements) e
    left join bpm_core.bpmn_extensions(p_elements) x on x.owner_pos = e.pos
   where e.space = 'bpmn' and e.parent = 0 and e.tag in ('message', 'error', 'signal', 'escalation') and e.id is not null
   order by e.id, e.pos
$$;
