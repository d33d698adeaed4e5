-- Why an item of a multi-instance or a turn of a loop cannot end.
-- Returns:  trouble, codes ConditionUndecidable, OutputUndecidable, OutputTooLarge; null: it can.
create or replace function bpm_core.item_trouble(
  p_token bpm_core.moving, p_spec jsonb, p_variables jsonb, p_verdict boolean, p_output jsonb, p_too_large boolean, p_limit bigint)
returns bpm_core.trouble
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_source text;
begin
  if p_verdict is null then
    v_source := coalesce(p_spec #>> '{until,source}', p_spec #>> '{while,source}');
    return row(p_token, 'ConditionUndecidable', format('%s: the condition %s cannot be decided.', p_token.node_id, v_source),
               jsonb_build_object('node', p_token.node_id, 'condition', v_source, 'seen', bpm_core.describe_condition(v_source, p_variables)))::bpm_core.trouble;
  elsif p_spec ? 'output' and p_output is null then
    v_source := p_spec #>> '{output,source}';
    return row(p_token, 'OutputUndecidable', format('%s: the output element %s cannot be decided.', p_token.node_id, v_source),
               jsonb_build_object('node', p_token.node_id, 'expression', v_source, 'seen', bpm_core.describe_condition(v_source, p_variables)))::bpm_core.trouble;
  elsif p_too_large then
    return row(p_token, 'OutputTooLarge', format('%s: with this item the list %s exceeds the limit of %s bytes for one value.', p_token.node_id, p_spec ->> 'into', p_limit),
               jsonb_build_object('node', p_token.node_id, 'variable', p_spec ->> 'into', 'limit', p_limit))::bpm_core.trouble;
  end if;
  return null;
end
$$;
