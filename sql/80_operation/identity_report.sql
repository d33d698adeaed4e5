-- What is tied to tables of the host (attach_identity), and which values have no row there: what the host has to complete before the tie can be validated.
-- p_limit: how many of the values are named.
-- Returns:  one row per tie: identity, bound_table, columns, host_table, host_columns, is_valid, missing (different values; 100,001: more than 100,000), samples (jsonb
--           array of arrays, in order of columns).
-- Raises:   BP403. BP422 limit (0..1,000); row level security of the host hides rows.
create or replace function bpm.identity_report(p_limit integer default 20, p_tenant_id text default '')
returns table (identity text, bound_table text, columns text[], host_table text, host_columns text[], is_valid boolean, missing integer, samples jsonb)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform bpm_core.enter_identity(p_tenant_id);
  if p_limit is null or p_limit not between 0 and 1000 then
    perform bpm_core.fail('BP422', format('The limit must be 0 to 1000, not %s.', coalesce(p_limit::text, 'null')), jsonb_build_object('limit', p_limit));
  end if;
  return query
  select t.identity, t.bound_table::text, array_replace(t.columns, 'host_id', 'tenant_id'), t.host_table::text, t.host_columns, t.is_valid, m.missing, m.samples
    from bpm_core.identity_ties() t
   cross join lateral bpm_core.missing_at_host(t, p_limit) m
   order by t.identity;
end
$$;
