-- Cancels the open scopes of these hosts with everything inside, however deep. The hosts are left alone.
-- Writes:   as empty_scopes, cancel_scopes and drop_loops.
create or replace function bpm_core.close_scopes(p_tenant_id text, p_hosts uuid[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_scopes uuid[];
begin
  v_scopes := array(
    select s.id
      from unnest(p_hosts) k(id)
     cross join lateral (select s.tenant_id, s.id, s.state from bpm_core.scope s where s.host_token_id = k.id offset 0) s
     where s.tenant_id = p_tenant_id and s.state = 'Open');
  if cardinality(v_scopes) > 0 then
    perform bpm_core.empty_scopes(p_tenant_id, v_scopes);
    perform bpm_core.cancel_scopes(p_tenant_id, v_scopes);
  end if;
  perform bpm_core.drop_loops(p_tenant_id, p_hosts);
end
$$;
