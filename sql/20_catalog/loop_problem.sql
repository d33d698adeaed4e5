-- What is wrong about loop characteristics before their expressions are looked at.
-- p_spec: as in drawn_loop, with the texts as drawn. Returns: problem, to be read behind the name of the activity, and hint; null: nothing.
create or replace function bpm_core.loop_problem(p_tag text, p_spec jsonb, p_extensions jsonb, out problem text, out hint text)
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_name text := (select n.name from unnest(array['element', 'into', 'counter']) k(key) cross join lateral (select p_spec ->> k.key as name) n
                   where n.name ~ '[$#]\{|^\s*=' limit 1);
begin
  if p_tag = 'standardLoopCharacteristics' then
    if p_spec ->> 'maximum' !~ '^[1-9][0-9]{0,8}$' then
      problem := format('its loopMaximum %s is no number from 1 on', quote_literal(left(p_spec ->> 'maximum', 50)));
    elsif not p_spec ?| array['while', 'maximum'] then
      problem := 'it is a loop with neither a condition nor a maximum, and would never end';
      hint := 'Give it a loopCondition, which goes on while it is true, or a loopMaximum.';
    end if;
  elsif not p_spec ?| array['collection', 'cardinality'] then
    problem := 'it is multi-instance, but says neither over what nor how often';
    hint := 'Give it a collection (bpm:collection="items", camunda:collection, zeebe:loopCharacteristics) or a loopCardinality.';
  elsif p_spec ?& array['collection', 'cardinality'] then
    problem := 'it is multi-instance over a collection and by a number; which of them counts is not said';
    hint := 'Remove one.';
  elsif p_spec ? 'into' <> p_spec ? 'output' then
    problem := 'its output collection and its output element belong together, and one of them is missing';
  elsif p_extensions ? 'flowable:variableAggregation' then
    problem := 'its variable aggregation is not executed';
    hint := 'Use bpm:outputCollection and bpm:outputElement.';
  elsif v_name is not null then
    problem := format('%s must be the name of a variable', quote_literal(left(v_name, 200)));
  end if;
end
$$;
