-- Groups somebody is said to be in.
-- Raises:   BP422 more than 100, or one that is no name.
create or replace function bpm_core.check_groups(p_groups text[])
returns void
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  if cardinality(p_groups) > 100 or exists (select from unnest(p_groups) g(name) where not coalesce(bpm_core.is_name(g.name), false)) then
    perform bpm_core.fail('BP422', 'Groups are at most 100 names of 1 to 200 characters, without blanks around them.', jsonb_build_object('count', cardinality(p_groups)));
  end if;
end
$$;
