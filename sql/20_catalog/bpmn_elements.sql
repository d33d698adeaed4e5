-- Shreds a BPMN document into rows: everything below definitions but the diagram and what stands in namespaces we do not know.
-- xmltable has no element identity, so an attribute finds its element by counting (both come in document order), and a parent
-- is the last element one level up.
-- Returns:  bpmn_element[], in document order.
-- Raises:   what xmltable raises on malformed input; read_bpmn turns it into a fault.
create or replace function bpm_core.bpmn_elements(p_document xml)
returns bpm_core.bpmn_element[]
language plpgsql immutable
set search_path = pg_catalog, pg_temp
set extra_float_digits = 1
as $$
declare
  v_elements bpm_core.bpmn_element[] := array[]::bpm_core.bpmn_element[];
  v_above    integer[] := array[]::integer[];
  v_element  bpm_core.bpmn_element;
  r_row      record;
begin
  for r_row in
    with element as materialized (
      select x.*
        from xmltable(
               xmlnamespaces('http://www.omg.org/spec/BPMN/20100524/MODEL' as b, 'http://www.omg.org/spec/BPMN/20100524/DI' as d),
               '/b:definitions/descendant::*[not(ancestor-or-self::d:BPMNDiagram)]'
               passing p_document
               columns pos for ordinality, uri text path 'namespace-uri()', tag text path 'local-name()', depth integer path 'count(ancestor::*)',
                       attributes integer path 'count(@*)', body text path 'string(self::*[not(*)])') x
    ),
    attribute as materialized (
      select a.k, bpm_core.bpmn_namespace(a.uri) as space, a.name, a.value
        from xmltable(
               xmlnamespaces('http://www.omg.org/spec/BPMN/20100524/MODEL' as b, 'http://www.omg.org/spec/BPMN/20100524/DI' as d),
               '/b:definitions/descendant::*[not(ancestor-or-self::d:BPMNDiagram)]/@*'
               passing p_document
               columns k for ordinality, uri text path 'namespace-uri()', name text path 'local-name()', value text path 'string(.)') a
    ),
    slot as (
      select e.pos, row_number() over (order by e.pos, g.i) as k
        from element e cross join lateral generate_series(1, e.attributes) g (i)
    ),
    object as (
      select s.pos, jsonb_object_agg(case a.space when '' then a.name else a.space || ':' || a.name end, a.value) as attributes
        from slot s join attribute a on a.k = s.k
       where a.space is not null
       group by s.pos
    )
    select e.pos, e.depth, bpm_core.bpmn_namespace(e.uri) as space, e.tag, coalesce(o.attributes, '{}') as attributes, e.body
      from element e left join object o on o.pos = e.pos
     order by e.pos
  loop
    v_above[r_row.depth] := r_row.pos;
    if r_row.space <> '' then
      v_element := row(r_row.pos, case when r_row.depth > 1 then v_above[r_row.depth - 1] else 0 end, r_row.space, r_row.tag,
                       nullif(btrim(r_row.attributes ->> 'id'), ''), r_row.attributes, btrim(r_row.body, E' \t\r\n'));
      v_elements := v_elements || v_element;
    end if;
  end loop;
  return v_elements;
end
$$;
