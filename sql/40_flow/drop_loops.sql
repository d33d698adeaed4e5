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
  delete from bpm_core.multi_instance m
   using (select p_tenant_id as tenant_id, k.id from unnest(p_hosts) k(id) offset 0) k
   where m.tenant_id = k.tenant_id and m.host_token_id = k.id;
  if found then
    delete from bpm_core.multi_instance_part p
     using (select p_tenant_id as tenant_id, k.id from unnest(p_hosts) k(id) offset 0) k
     where p.tenant_id = k.tenant_id and p.host_token_id = k.id;
  end if;
end
$$;
