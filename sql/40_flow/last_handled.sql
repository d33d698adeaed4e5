-- The last candidate before the first that had to be skipped because somebody holds its instance: so far a picker's position may move.
-- p_found is in pick order. Returns: candidate; null fields when the very first was skipped.
create or replace function bpm_core.last_handled(p_found bpm_core.candidate[], p_locked uuid[])
returns bpm_core.candidate
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_last bpm_core.candidate;
  v_this bpm_core.candidate;
begin
  foreach v_this in array p_found loop
    exit when v_this.instance_id <> all (p_locked);
    v_last := v_this;
  end loop;
  return v_last;
end
$$;
