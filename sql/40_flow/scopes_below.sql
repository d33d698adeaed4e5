-- The open scopes inside these scopes, however deep.
-- Returns:  uuid[], without the given ones.
create or replace function bpm_core.scopes_below(p_tenant_id text, p_scopes uuid[])
returns uuid[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_below uuid[] := '{}'::uuid[];
  v_level uuid[] := p_scopes;
begin
  loop
    v_level := array(
      select s.id
        from unnest(v_level) k(id)
       cross join lateral (select s.tenant_id, s.id, s.state from bpm_core.scope s where s.parent_scope_id = k.id offset 0) s
       where s.tenant_id = p_tenant_id and s.state = 'Open');
    exit when cardinality(v_level) = 0;
    v_below := v_below || v_level;
  end loop;
  return v_below;
end
$$;
