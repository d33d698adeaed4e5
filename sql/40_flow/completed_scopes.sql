-- The given scopes, and those completed inside of them, however deep. Left out are what a sub-process undoes by a handler of its own, handlers themselves, and
-- the items of a loop that still goes on. p_whole: also what was interrupted inside, where something was completed before.
-- Returns:  uuid[].
create or replace function bpm_core.completed_scopes(p_tenant_id text, p_instance_id uuid, p_scopes uuid[], p_whole boolean)
returns uuid[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_scopes uuid[] := p_scopes;
  v_level  uuid[] := p_scopes;
begin
  while cardinality(v_level) > 0 loop
    v_level := array(
      select s.id
        from (select p.tenant_id, p.id, p.state, p.is_copy, p.node_id, p.host_token_id, p.visit
                from unnest(v_level) k(id)
               cross join lateral (select p.* from bpm_core.scope p where p.parent_scope_id = k.id offset 0) p
               union all
              select r.tenant_id, r.id, r.state, r.is_copy, r.node_id, r.host_token_id, r.visit
                from (select p.* from bpm_core.scope p where p.workflow_instance_id = p_instance_id offset 0) r
               where bpm_core.root_scope() = any (v_level) and r.parent_scope_id is null) s
       where s.tenant_id = p_tenant_id and not s.is_copy
         and (p_whole and s.state <> 'Open' or s.state = 'Completed' and (s.node_id !~ ':(multi|loop)$' or not exists (
                select from (select t.state, t.node_id, t.visit from bpm_core.token t where t.tenant_id = s.tenant_id and t.id = s.host_token_id offset 0) t
                 where t.state not in ('Completed', 'Terminated') and t.node_id = s.node_id and t.visit = s.visit)))
         and not exists (select from bpm_core.compensation_record r where r.inner_scope_id = s.id));
    v_scopes := v_scopes || v_level;
  end loop;
  return v_scopes;
end
$$;
