-- The bindings that could never start, because they wait for each other, or for such. References to unknown keys are not counted.
-- Returns:  text[], their keys.
create or replace function bpm_core.waiting_in_circles(p_drafts bpm_core.draft_binding[])
returns text[]
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_left text[] := array(select b.binding_key from unnest(p_drafts) b);
  v_next text[];
begin
  loop
    v_next := array(select b.binding_key from unnest(p_drafts) b where b.binding_key = any (v_left) and b.depends_on && v_left);
    exit when cardinality(v_next) = cardinality(v_left);
    v_left := v_next;
  end loop;
  return v_left;
end
$$;
