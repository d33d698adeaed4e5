-- The reason a person gives for what must have one.
-- Raises:   BP422 missing, empty or over 4,000 characters.
create or replace function bpm_core.check_why(p_reason text)
returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if coalesce(length(btrim(p_reason)), 0) not between 1 and 4000 then
    perform bpm_core.fail('BP422', format('A reason of 1 to 4000 characters is needed; it has %s.', coalesce(length(btrim(p_reason)), 0)),
      jsonb_build_object('length', coalesce(length(btrim(p_reason)), 0)));
  end if;
end
$$;
