-- What a node wishes for its task in attributes that may be expressions, in whichever dialect.
-- Returns:  name, source; middle: of a priority, the number that means normal there.
create or replace function bpm_core.drawn_wishes(p_attributes jsonb, p_extensions jsonb)
returns table (name text, source text, middle integer)
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select w.name, w.source, w.middle
    from (values
      ('assignee', coalesce(bpm_core.vendor_attribute(p_attributes, 'assignee'), nullif(btrim(p_extensions #>> '{zeebe:assignmentDefinition,assignee}'), '')), null::integer),
      ('groups', coalesce(bpm_core.vendor_attribute(p_attributes, 'candidateGroups'), nullif(btrim(p_extensions #>> '{zeebe:assignmentDefinition,candidateGroups}'), '')), null),
      ('users', coalesce(bpm_core.vendor_attribute(p_attributes, 'candidateUsers'), nullif(btrim(p_extensions #>> '{zeebe:assignmentDefinition,candidateUsers}'), '')), null),
      ('due', coalesce(bpm_core.vendor_attribute(p_attributes, 'dueDate'), nullif(btrim(p_extensions #>> '{zeebe:taskSchedule,dueDate}'), '')), null),
      ('follow_up', coalesce(bpm_core.vendor_attribute(p_attributes, 'followUpDate'), nullif(btrim(p_extensions #>> '{zeebe:taskSchedule,followUpDate}'), '')), null),
      ('priority', coalesce(bpm_core.vendor_attribute(p_attributes, 'priority'), nullif(btrim(p_extensions #>> '{zeebe:priorityDefinition,priority}'), ''),
                            nullif(btrim(p_attributes ->> 'camunda:taskPriority'), '')),
       case when bpm_core.vendor_attribute(p_attributes, 'priority') is null and p_extensions #>> '{zeebe:priorityDefinition,priority}' is null then 0 else 50 end)) w(name, source, middle)
   where w.source is not null
$$;
