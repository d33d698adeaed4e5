-- As insert_cases, but nobody is waited for longer than a moment: a case may be made or closed in a transaction of the host that lasts. One by one only when
-- somebody is met.
-- Returns:  text[], the keys of cases that somebody else holds. Writes: business_case. Locks: those that are new; those that are closed; those that are open as
--           a start does.
create or replace function bpm_core.try_cases(p_tenant_id text, p_keys text[], p_now timestamptz)
returns text[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set lock_timeout = '20ms'
as $$
declare
  v_there  uuid[];
  v_closed uuid[];
  v_held   uuid[];
  v_busy   text[] := array[]::text[];
  v_key    text;
begin
  select array_agg(c.id), coalesce(array_agg(c.id) filter (where c.state = 'Closed'), '{}') into v_there, v_closed
    from (select p_tenant_id as tenant_id, k.key from unnest(p_keys) k(key) offset 0) k
   cross join lateral (select c.id, c.state from bpm_core.business_case c where c.business_key = k.key and c.tenant_id = k.tenant_id offset 0) c;
  if v_there is not null then
    v_held := array(
      select c.id
        from (select p_tenant_id as tenant_id, i.id from unnest(v_closed) i(id) order by i.id offset 0) i
       cross join lateral (select c.id from bpm_core.business_case c where c.tenant_id = i.tenant_id and c.id = i.id for no key update skip locked) c)
    || array(
      select c.id
        from (select p_tenant_id as tenant_id, i.id from unnest(v_there) i(id) where i.id <> all (v_closed) order by i.id offset 0) i
       cross join lateral (select c.id from bpm_core.business_case c where c.tenant_id = i.tenant_id and c.id = i.id for key share skip locked) c);
    v_busy := array(
      select c.business_key
        from (select p_tenant_id as tenant_id, i.id from unnest(v_there) i(id) where i.id <> all (v_held) offset 0) i
       cross join lateral (select c.business_key from bpm_core.business_case c where c.tenant_id = i.tenant_id and c.id = i.id offset 0) c);
  end if;
  begin
    perform bpm_core.insert_cases(p_tenant_id, p_keys, p_now);
    return v_busy;
  exception
    when lock_not_available then null;
  end;
  foreach v_key in array p_keys loop
    begin
      perform bpm_core.insert_cases(p_tenant_id, array[v_key], p_now);
    exception
      when lock_not_available then
        v_busy := v_busy || v_key;
    end;
  end loop;
  return v_busy;
end
$$;
