-- A path of names as jsonpath, every key quoted. Root is $, or @ inside a filter.
create or replace function bpm_core.write_path(p_root text, p_path jsonb)
returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_path text := p_root;
begin
  for v_i in 0 .. jsonb_array_length(p_path) - 1 loop
    v_path := v_path || '.' || (p_path -> v_i)::text;
  end loop;
  return v_path;
end
$$;
