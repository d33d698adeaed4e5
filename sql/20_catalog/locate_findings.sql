-- Gives findings their line in the file, by looking for the id they name (for a duplicate the last place, else the first), and sorts
-- them: faults first, then by line.
-- Returns:  finding[].
create or replace function bpm_core.locate_findings(p_xml text, p_findings bpm_core.finding[])
returns bpm_core.finding[]
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  with wanted as (select coalesce(f.flow_id, f.node_id) as id from unnest(p_findings) f),
  place as materialized (
    select btrim(m.found[1]) as id, min(l.ord) as first_line, max(l.ord) as last_line
      from string_to_table(p_xml, E'\n') with ordinality l (line, ord)
     cross join lateral regexp_matches(l.line, '(?:^|\s)id\s*=\s*["'']([^"'']*)["'']', 'g') m (found)
     where cardinality(p_findings) > 0 and l.line like '%id%'
     group by 1
  )
  select coalesce(array_agg(row(f.severity, f.code, f.message, f.node_id, f.flow_id,
                                coalesce(f.line, case f.code when 'DuplicateId' then p.last_line else p.first_line end), f.hint)::bpm_core.finding
                            order by f.severity, coalesce(f.line, p.first_line), f.ordinality), '{}')
    from unnest(p_findings) with ordinality f
    left join place p on p.id = coalesce(f.flow_id, f.node_id) and p.id in (select w.id from wanted w)
$$;
