-- Keeps the counters of the scopes that tokens were born in and ended in; those of the root are counted with their instance.
-- Returns:  uuid[], the scopes that have no live token left.
-- Writes:   scope.
create or replace function bpm_core.count_in_scopes(p_born bpm_core.moving[], p_ended bpm_core.moving[])
returns uuid[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_empty uuid[];
begin
  with change as materialized (
    select c.tenant_id, c.scope_id, sum(c.more)::integer as more
      from (select b.tenant_id, b.scope_id, 1 as more from unnest(p_born) b
            union all
            select e.tenant_id, e.scope_id, -1 from unnest(p_ended) e) c
     where c.scope_id <> bpm_core.root_scope()
     group by c.tenant_id, c.scope_id),
  counted as (
    update bpm_core.scope s
       set live_tokens = s.live_tokens + c.more
      from change c
     where s.tenant_id = c.tenant_id and s.id = c.scope_id
    returning s.id, s.live_tokens)
  select array_agg(c.id) filter (where c.live_tokens = 0) into v_empty
    from counted c;
  return coalesce(v_empty, '{}');
end
$$;
