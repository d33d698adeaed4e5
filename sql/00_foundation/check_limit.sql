-- How many rows one call may ask for.
-- Raises:   BP422 not 1 to 1000.
create or replace function bpm_core.check_limit(p_limit integer)
returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_limit is null or p_limit not between 1 and 1000 then
    perform bpm_core.fail('BP422', format('The limit must be 1 to 1000, not %s.', coalesce(p_limit::text, 'null')), jsonb_build_object('limit', p_limit));
  end if;
end
$$;
