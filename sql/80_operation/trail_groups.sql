-- For which groups somebody voted, in the words of the trail.
create or replace function bpm_core.trail_groups(p_detail jsonb)
returns text
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(' for group ' || (select string_agg(g.name, ', ' order by g.n) from jsonb_array_elements_text(p_detail -> 'groups') with ordinality g(name, n)), '')
$$;
