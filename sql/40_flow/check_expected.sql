-- Are some variables what a caller expects? Missing and null are the same. Call it under the lock of the instance.
-- Raises:   BP409 names those that are not. BP422 p_expected is no object.
create or replace function bpm_core.check_expected(p_variables jsonb, p_expected jsonb)
returns void
language plpgsql immutable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_names text;
begin
  if p_expected is null then
    return;
  elsif jsonb_typeof(p_expected) <> 'object' then
    perform bpm_core.fail('BP422', format('p_expected must be a JSON object, not %s.', jsonb_typeof(p_expected)));
  end if;
  select string_agg(e.key, ', ' order by e.key) into v_names
    from jsonb_each(p_expected) e
   where coalesce(p_variables -> e.key, 'null') <> e.value;
  if v_names is not null then
    perform bpm_core.fail('BP409', format('Not as expected any more: %s. Nothing was changed.', v_names), null, 'Read the variables again.');
  end if;
end
$$;
