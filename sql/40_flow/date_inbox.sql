-- Says when inbox rows may be applied. Row by row: joined to a table that is mostly empty they would be found by walking it, and a plan made so
-- would stay when it is full.
-- Writes:   inbox. The instances are locked.
create or replace function bpm_core.date_inbox(p_tenant_id text, p_rows uuid[], p_at timestamptz)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_id uuid;
begin
  foreach v_id in array p_rows loop
    update bpm_core.inbox i set available_at = p_at where i.tenant_id = p_tenant_id and i.id = v_id;
  end loop;
end
$$;
