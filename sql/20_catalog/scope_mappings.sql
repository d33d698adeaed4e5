-- The input and output mappings of a sub-process, compiled, as its node keeps them.
-- Returns:  jsonb {inputs, outputs}, without those that are not drawn.
create or replace function bpm_core.scope_mappings(p_extensions jsonb)
returns jsonb
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  if not p_extensions ? 'mappings' then
    return '{}'::jsonb;
  end if;
  return jsonb_strip_nulls(jsonb_build_object(
    'inputs', (select m.mappings from bpm_core.drawn_mappings(p_extensions, 'in') m),
    'outputs', (select m.mappings from bpm_core.drawn_mappings(p_extensions, 'out') m)));
end
$$;
