-- The message an element waits for, and its correlation key: on the element or the message (bpm:correlationKey), or Zeebe's subscription;
-- null is the business key. A dotted path is kept as such, which is quick; anything else as a tree.
-- Returns:  message_name, correlation_path (of a tree: its source), correlation (the tree), and problem: what is wrong with the key.
create or replace function bpm_core.drawn_message(
  p_attributes jsonb, p_message_id text, p_message_name text, p_message_attributes jsonb, p_message_extensions jsonb,
  out message_name text, out correlation_path text, out correlation jsonb, out problem text)
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_source text := coalesce(nullif(btrim(p_attributes ->> 'bpm:correlationKey'), ''), nullif(btrim(p_message_attributes ->> 'bpm:correlationKey'), ''),
                            nullif(btrim(p_message_extensions #>> '{zeebe:subscription,correlationKey}'), ''));
begin
  message_name := coalesce(p_message_name, p_message_id);
  if v_source is not null then
    correlation_path := bpm_core.expression_path(v_source);
    if correlation_path is null then
      select c.tree, format('The correlation key %s cannot be read: %s (position %s).', v_source, c.problem, c.at)
        into correlation, problem
        from bpm_core.compile_expression(v_source, v_source ~ '[$#]\{') c;
      problem := case when correlation is null then problem end;
      correlation_path := v_source;
    end if;
  end if;
end
$$;
