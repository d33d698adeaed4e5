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
declare
  v_host uuid;
begin
  -- One by one: the table is often empty, and a join planned then walks all of it later.
  for v_host in
    select m.host_token_id
      from unnest(p_hosts) k(id)
     cross join lateral (select m.host_token_id from bpm_core.multi_instance m where m.tenant_id = p_tenant_id and m.host_token_id = k.id offset 0) m
  loop
    delete from bpm_core.multi_instance m where m.tenant_id = p_tenant_id and m.host_token_id = v_host;
    delete from bpm_core.multi_instance_part p where p.tenant_id = p_tenant_id and p.host_token_id = v_host;
  end loop;
end
$$;
