-- Why a multi-instance or loop cannot begin, with the values seen.
-- p_needed: live tokens its instance would have with all items. Returns: trouble, codes InvalidCollection, TooManyInstances, ConditionUndecidable; null: it can.
create or replace function bpm_core.loop_trouble(p_host bpm_core.moving, p_spec jsonb, p_value jsonb, p_variables jsonb, p_total integer, p_needed numeric)
returns bpm_core.trouble
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_limit  constant integer := 150000;
  v_what   text := case when p_spec ? 'collection' then 'collection' when p_spec ? 'cardinality' then 'cardinality' else 'while' end;
  v_source text := p_spec #>> array[v_what, 'source'];
  v_gave   text := case when p_value is null then 'cannot be decided' else format('gives %s (%s)', left(p_value::text, 200), jsonb_typeof(p_value)) end;
  v_detail jsonb;
begin
  if p_total is not null and v_what = 'while' or p_total <= v_limit and coalesce(p_needed, 0) <= v_limit then
    return null;
  end if;
  v_detail := jsonb_build_object('node', p_host.node_id, 'expression', v_source, 'seen', bpm_core.describe_condition(v_source, p_variables));
  if v_what = 'while' then
    return row(p_host, 'ConditionUndecidable', format('Loop %s: the condition %s cannot be decided.', p_host.node_id, v_source), v_detail)::bpm_core.trouble;
  elsif p_total is null and not (v_what = 'cardinality' and jsonb_typeof(p_value) = 'number' and p_value::text !~ '^-|\.') then
    return row(p_host, 'InvalidCollection', format('Multi-instance %s: %s %s, which is no %s.', p_host.node_id, v_source, v_gave,
                 case v_what when 'collection' then 'list' else 'whole number from 0 on' end),
               v_detail || jsonb_build_object('type', coalesce(jsonb_typeof(p_value), 'undecidable')))::bpm_core.trouble;
  end if;
  return row(p_host, 'TooManyInstances', format('Multi-instance %s: %s items, and at most %s tokens may live in one instance.', p_host.node_id,
               coalesce(p_total::text, left(p_value::text, 50)), v_limit),
             v_detail - 'seen' || jsonb_build_object('total', coalesce(to_jsonb(p_total), p_value), 'tokens', p_needed, 'limit', v_limit))::bpm_core.trouble;
end
$$;
