-- The element of a frozen collection that belongs to one item.
-- Returns:  jsonb; null when there is no collection, or the items are not told theirs.
create or replace function bpm_core.loop_element(p_tenant_id text, p_host_id uuid, p_index integer, p_spec jsonb)
returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  if not p_spec ?& array['collection', 'element'] then
    return null;
  end if;
  return (
    select p.items -> (p_index % 1000)
      from bpm_core.multi_instance_part p
     where p.tenant_id = p_tenant_id and p.host_token_id = p_host_id and p.part = p_index / 1000);
end
$$;
