-- Raises an error of the BP class. The one place where the engine raises on purpose.
-- Raises:   p_code (five characters, BP and three digits that echo HTTP), with machine-readable detail and a hint what to do next.
create or replace function bpm_core.fail(p_code text, p_message text, p_detail jsonb default null, p_hint text default null)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  raise exception using
    errcode = p_code,
    message = p_message,
    detail  = coalesce(p_detail::text, ''),
    hint    = coalesce(p_hint, '');
end
$$;
