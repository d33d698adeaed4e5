-- What the output mappings of an event make of a message's payload.
-- Returns:  jsonb object.
-- Raises:   BP422 one cannot be evaluated: the message stays in the inbox, and becomes an incident when that does not pass.
create or replace function bpm_core.message_patch(p_tenant_id text, p_instance_id uuid, p_scope_id uuid, p_outputs jsonb, p_payload jsonb)
returns jsonb
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  r_mapped record;
begin
  select m.mapped, m.problem, m.detail
    into r_mapped
    from bpm_core.token_variables(p_tenant_id, p_instance_id, p_scope_id) v
   cross join lateral bpm_core.map_values(p_outputs, v.variables || p_payload) m;
  if r_mapped.problem is not null then
    perform bpm_core.fail('BP422', r_mapped.problem || ': ' || (r_mapped.detail)::text, r_mapped.detail);
  end if;
  return r_mapped.mapped;
end
$$;
