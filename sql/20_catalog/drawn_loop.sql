-- Compiles loop characteristics, in the words of the standard, of ours, and of Camunda 7, Flowable and Zeebe.
-- p_children: text or name of the elements inside, by tag. Returns: spec {mode Parallel|Sequential|Loop, base, counter, element, into, before, maximum, and
--           {tree, source} of collection, cardinality, until, while, output; names of what the last three ask}; or problem with hint.
create or replace function bpm_core.drawn_loop(p_tag text, p_attributes jsonb, p_children jsonb, p_extensions jsonb, out spec jsonb, out problem text, out hint text)
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_zeebe jsonb := p_extensions -> 'zeebe:loopCharacteristics';
  v_part  record;
  v_tree  jsonb;
begin
  if p_tag = 'standardLoopCharacteristics' then
    spec := jsonb_build_object('mode', 'Loop', 'base', 0, 'counter', 'loopCounter', 'maximum', nullif(btrim(p_attributes ->> 'loopMaximum'), ''),
      'before', case when lower(btrim(p_attributes ->> 'testBefore')) in ('true', '1') and p_children ? 'loopCondition' then true end,
      'while', nullif(btrim(p_children ->> 'loopCondition'), ''));
  else
    spec := jsonb_build_object(
      'mode', case when lower(btrim(p_attributes ->> 'isSequential')) in ('true', '1') then 'Sequential' else 'Parallel' end,
      'base', case when v_zeebe is null then 0 else 1 end, 'counter', coalesce(bpm_core.vendor_attribute(p_attributes, 'elementIndexVariable'), 'loopCounter'),
      'collection', coalesce(bpm_core.vendor_attribute(p_attributes, 'collection'), v_zeebe ->> 'inputCollection', p_children ->> 'loopDataInputRef'),
      'cardinality', nullif(btrim(p_children ->> 'loopCardinality'), ''), 'until', nullif(btrim(p_children ->> 'completionCondition'), ''),
      'element', coalesce(bpm_core.vendor_attribute(p_attributes, 'elementVariable'), nullif(btrim(v_zeebe ->> 'inputElement'), ''), p_children ->> 'inputDataItem'),
      'into', coalesce(bpm_core.vendor_attribute(p_attributes, 'outputCollection'), nullif(btrim(v_zeebe ->> 'outputCollection'), ''), p_children ->> 'loopDataOutputRef'),
      'output', coalesce(bpm_core.vendor_attribute(p_attributes, 'outputElement'), nullif(btrim(v_zeebe ->> 'outputElement'), ''), p_children ->> 'outputDataItem'));
  end if;
  spec := jsonb_strip_nulls(spec);
  select l.problem, l.hint into problem, hint from bpm_core.loop_problem(p_tag, spec, p_extensions) l;
  if problem is not null then
    return;
  end if;
  for v_part in
    select k.name, k.drawn, spec ->> k.name as source
      from (values ('collection', 'collection'), ('cardinality', 'loopCardinality'), ('until', 'completionCondition'), ('while', 'loopCondition'),
                   ('output', 'output element')) k(name, drawn)
     where spec ? k.name
  loop
    select e.tree, e.problem || coalesce(format(' (position %s)', e.at), '') into v_tree, problem from bpm_core.compile_expression(v_part.source, false) e;
    if problem is not null then
      problem := format('its %s %s cannot be read: %s', v_part.drawn, quote_literal(left(v_part.source, 200)), problem);
      return;
    end if;
    spec := spec || jsonb_build_object(v_part.name, jsonb_build_object('tree', v_tree, 'source', v_part.source));
  end loop;
  if spec ? 'output' then
    spec := jsonb_set(spec, '{output}', spec -> 'output' || bpm_core.output_names(spec #> '{output,tree}', array[spec ->> 'element', spec ->> 'counter']));
  end if;
  spec := spec || jsonb_build_object('names', bpm_core.output_names(jsonb_build_array(spec -> 'until', spec -> 'while', spec -> 'output'), '{}') -> 'names');
end
$$;
