-- Forgets what is kept for multi-instances and loops while they go on. Where these tokens are hosts of none: nothing.
-- Writes:   multi_instance, multi_instance_part.
create or replace function bpm_core.drop_loops(p_tenant_id text, p_hosts uuid[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  -- Not joined: the table is often empty, and a plan made then would walk all of it later.
  delete from bpm_core.multi_instance m where m.tenant_id = p_tenant_id and m.host_token_id = any (p_hosts);
  if found then
    delete from bpm_core.multi_instance_part p where p.tenant_id = p_tenant_id and p.host_token_id = any (p_hosts);
  end if;
end
$$;
