-- The same page of tenants as tenants_with_work, each with its weight, and whether its turn comes in this round. A caller that counts its rounds (p_round: 0, 1,
-- 2, …) and claims one batch in each tenant in_turn gives all of them batches in proportion to their weights, relative to the heaviest of the page: a
-- tenant of weight 1 beside one of 10 has every tenth round, and both every round while they are alone.
-- Returns:  rows (tenant_id, weight, in_turn), sorted by tenant_id; page on as with tenants_with_work, with all rows, not only those in turn.
-- Raises:   BP422 as tenants_with_work; p_round negative.
create or replace function bpm.tenants_in_turn(
  p_round bigint, p_limit integer default 1000, p_after text default null, p_within interval default interval '0', p_idle boolean default false)
returns table (tenant_id text, weight integer, in_turn boolean)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  if p_round is null or p_round < 0 then
    perform bpm_core.fail('BP422', 'Rounds are counted from 0.', jsonb_build_object('round', p_round));
  end if;
  -- In turn whenever another whole share has come together; in round 0 everybody.
  return query
  select p.tenant_id, p.weight, p.n = 0 or div(p.n * p.weight, p.heaviest) > div((p.n - 1) * p.weight, p.heaviest)
    from (select t.tenant_id, t.weight, max(t.weight) over () as heaviest, p_round::numeric as n, d.place
            from bpm.tenants_with_work(p_limit, p_after, p_within, p_idle) with ordinality d(id, place)
           cross join lateral (select t.tenant_id, t.weight from bpm_core.tenant t where t.tenant_id = d.id offset 0) t) p
   order by p.place;
end
$$;
