-- The open scopes of these hosts.
-- Returns:  uuid[].
create or replace function bpm_core.scopes_hosted(p_hosts bpm_core.moving[])
returns uuid[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  return array(
    select s.id
      from unnest(p_hosts) h
     cross join lateral (select s.tenant_id, s.id, s.state from bpm_core.scope s where s.host_token_id = h.token_id offset 0) s
     where s.tenant_id = h.tenant_id and s.state = 'Open');
end
$$;
