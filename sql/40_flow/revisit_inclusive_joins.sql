-- Asks all inclusive joins of an instance again, after something other than its tokens has changed: it goes on after a rest, or in another version.
-- Of a suspended instance nothing moves.
-- Writes:   what the paths ahead write. The instance is locked.
create or replace function bpm_core.revisit_inclusive_joins(p_tenant_id text, p_instance_id uuid)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  perform bpm_core.advance_isolated(bpm_core.fire_inclusive_joins(array(
    select row(j.tenant_id, j.workflow_instance_id, null, j.scope_id, null, null, null, null)::bpm_core.moving
      from bpm_core.workflow_instance w
     cross join lateral (select j.* from bpm_core.inclusive_join j where j.tenant_id = w.tenant_id and j.workflow_instance_id = w.id offset 0) j
     where w.tenant_id = p_tenant_id and w.id = p_instance_id and w.status = 'Running' and j.waiting > 0)));
end
$$;
