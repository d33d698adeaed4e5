-- Raises an error of the BP class. The one place where the engine raises on purpose.
-- Raises:   p_code (five characters, BP and three digits that echo HTTP), with machine-readable detail and a hint what to do next.
create or replace function bpm_core.fail(p_code text, p_message text, p_detail jsonb default null, p_hint text default null)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  -- An option that is null is an error of its own, and an empty one prints as an empty line.
  if p_detail is null and p_hint is null then
    raise exception using errcode = p_code, message = p_message;
  elsif p_hint is null then
    raise exception using errcode = p_code, message = p_message, detail = p_detail::text;
  elsif p_detail is null then
    raise exception using errcode = p_code, message = p_message, hint = p_hint;
  end if;
  raise exception using errcode = p_code, message = p_message, detail = p_detail::text, hint = p_hint;
end
$$;
