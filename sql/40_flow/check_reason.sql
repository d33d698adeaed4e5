-- The reason an operator gives.
-- Raises:   BP422 too long.
create or replace function bpm_core.check_reason(p_reason text)
returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if length(p_reason) > 4000 then
    perform bpm_core.fail('BP422', format('The reason has %s characters; at most 4000.', length(p_reason)), jsonb_build_object('length', length(p_reason)));
  end if;
end
$$;
