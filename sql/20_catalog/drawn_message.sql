-- The message an element waits for, and the path of its correlation key: on the element or the message (bpm:correlationKey),
-- or Zeebe's subscription; null is the business key.
-- Returns:  message_name, correlation_path, and problem: what is wrong with the key.
create or replace function bpm_core.drawn_message(
  p_attributes jsonb, p_message_id text, p_message_name text, p_message_attributes jsonb, p_message_extensions jsonb,
  out message_name text, out correlation_path text, out problem text)
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
      problem := format('The correlation key %s is not a dotted path into the variables.', v_source);
    end if;
  end if;
end
$$;
