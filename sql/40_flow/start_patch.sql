-- What the output mappings of a message start event make of a message's payload.
-- Returns:  jsonb object.
-- Raises:   BP422 one cannot be evaluated: nothing is started, and the sender is told.
create or replace function bpm_core.start_patch(p_outputs jsonb, p_payload jsonb)
returns jsonb
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  r_mapped record;
begin
  select m.mapped, m.problem, m.detail into r_mapped from bpm_core.map_values(p_outputs, p_payload) m;
  if r_mapped.problem is not null then
    perform bpm_core.fail('BP422', r_mapped.problem || ': ' || (r_mapped.detail)::text, r_mapped.detail);
  end if;
  return r_mapped.mapped;
end
$$;
