-- Attributes and elements of our own namespace, or of one that looks like it, that mean nothing where they stand. A fault and not a
-- warning: an approval that was asked for with a slip of the pen and dropped would be worse than a refusal.
create or replace function bpm_core.find_own_misused(p_elements bpm_core.bpmn_element[])
returns setof bpm_core.finding
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select bpm_core.fault('UnsupportedElement',
           format('%s has the attribute %s, which %s.', bpm_core.element_label(e.tag, coalesce(e.id, ''), e.attributes ->> 'name'), replace(a.name, 'bpm?', 'bpm'),
                  case when a.name like 'bpm?:%' then 'is not in the namespace urn:pgbpm:bpmn:1' else 'means nothing there' end),
           case when e.tag <> 'sequenceFlow' then e.id end, case when e.tag = 'sequenceFlow' then e.id end,
           case when a.name like 'bpm?:%' then 'Bind the prefix to urn:pgbpm:bpmn:1.'
                else coalesce('Understood there: ' || nullif(array_to_string(bpm_core.own_attributes(e.tag), ', '), '') || '.', 'No attribute of this namespace is understood there.') end)
    from unnest(p_elements) e
   cross join lateral jsonb_object_keys(e.attributes) a (name)
   where (a.name like 'bpm:%' or a.name like 'bpm?:%') and a.name <> 'bpm:await'
     and (a.name like 'bpm?:%' or a.name <> all (bpm_core.own_attributes(e.tag)))
  union all
  select bpm_core.fault('UnsupportedElement', format('%s is no element of the namespace urn:pgbpm:bpmn:1.', bpm_core.element_label('bpm:' || e.tag, coalesce(e.id, ''), null)),
           o.id, null, 'It has attributes only.')
    from unnest(p_elements) e
    join unnest(p_elements) h on h.pos = e.parent
    left join unnest(p_elements) o on o.pos = h.parent
   where e.space in ('bpm', 'bpm?')
$$;
