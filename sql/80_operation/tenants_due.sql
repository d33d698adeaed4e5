-- One page of the tenants that have work, in the order of their ids: hops from tenant to tenant along each picker's index, at most p_limit hops in each.
-- Ready tasks count whatever their time, since the index has their types before it; all else counts when it falls due by p_until.
-- Returns:  one row: tenants[], sorted, and reached: up to where the page goes. What lies behind it is for the next page; null: that was the last.
create or replace function bpm_core.tenants_due(p_after text, p_limit integer, p_until timestamptz, out tenants text[], out reached text)
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  with recursive hop as (
    -- Each index starts behind p_after; null stands before the tenant without a name.
    select k.picker, n.tenant_id, n.due_at, 1 as hops
      from unnest(array['tasks', 'leases', 'timers', 'inbox', 'tokens', 'messages', 'commands', 'sending', 'unknown', 'probes', 'streams', 'events', 'rules', 'approvals', 'decisions']) k(picker)
     cross join lateral bpm_core.next_tenant(k.picker, p_after) n
    union all
    select h.picker, n.tenant_id, n.due_at, h.hops + 1
      from hop h
     cross join lateral bpm_core.next_tenant(h.picker, h.tenant_id) n
     where h.hops < p_limit),
  cut as (
    select min(l.last_one) as reached
      from (select max(h.tenant_id) as last_one from hop h group by h.picker having max(h.hops) = p_limit) l)
  select coalesce(array_agg(distinct h.tenant_id order by h.tenant_id) filter (where h.due_at <= p_until), '{}'), min(c.reached)
    into tenants, reached
    from cut c
    left join hop h on c.reached is null or h.tenant_id <= c.reached;
end
$$;
