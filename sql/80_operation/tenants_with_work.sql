-- The tenants a runner of this caller should look after next: those it is granted as worker, that are not suspended, and for which something is ready
-- or due within p_within. In the order of their ids, so that whoever goes on behind the last one, and begins again when fewer than p_limit come, goes
-- round all of them: none waits for longer than one round, however much another one has to do.
-- p_idle: those that have nothing to do as well. Ready tasks of types nobody serves count too.
-- Returns:  setof text, at most p_limit tenant ids behind p_after (null: from the first one), sorted.
-- Raises:   BP422 limit out of 1..10000, p_within out of 0..1 day.
create or replace function bpm.tenants_with_work(
  p_limit integer default 1000, p_after text default null, p_within interval default interval '0', p_idle boolean default false)
returns setof text
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_role    constant text := bpm_core.caller();
  v_left    integer := p_limit;
  v_found   integer;
  v_reached text := p_after;
  v_page    text[];
begin
  if p_limit is null or p_limit not between 1 and 10000 then
    perform bpm_core.fail('BP422', 'The limit must be 1 to 10000.', jsonb_build_object('limit', p_limit));
  elsif p_within is null or p_within not between interval '0' and interval '1 day' then
    perform bpm_core.fail('BP422', 'What falls due can be looked for within 0 to 1 day.', jsonb_build_object('within', p_within));
  end if;
  if p_idle then
    return query
    select g.tenant_id
      from bpm_core.granted_tenants(v_role, 'worker') g(tenant_id)
      join bpm_core.tenant t on t.tenant_id = g.tenant_id and t.state = 'Active'
     where p_after is null or g.tenant_id collate "C" > p_after
     order by g.tenant_id collate "C"
     limit p_limit;
    return;
  end if;
  loop
    select d.tenants, d.reached into v_page, v_reached from bpm_core.tenants_due(v_reached, p_limit, bpm_core.now() + p_within) d;
    return query
    select t.tenant_id
      from unnest(v_page) with ordinality d(tenant_id, n)
     cross join lateral (select t.tenant_id from bpm_core.tenant t where t.tenant_id = d.tenant_id and t.state = 'Active' offset 0) t
     where bpm_core.is_granted(v_role, t.tenant_id, 'worker')
     order by d.n
     limit v_left;
    get diagnostics v_found = row_count;
    v_left := v_left - v_found;
    exit when v_left = 0 or v_reached is null;
  end loop;
end
$$;
