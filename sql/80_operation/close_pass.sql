-- Writes down how far a pass of retention has come. p_reached null: it is at its end.
-- Writes:   retention_pass.
create or replace function bpm_core.close_pass(p_pass bpm_core.retention_pass, p_reached uuid, p_removed integer, p_reasons text[], p_oldest_kept uuid, p_now timestamptz)
returns bpm_core.retention_pass
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  r_pass bpm_core.retention_pass;
begin
  update bpm_core.retention_pass r
     set reached = p_reached,
         began_at = p_pass.began_at,
         removed = p_pass.removed + p_removed,
         kept = p_pass.kept + cardinality(p_reasons),
         reasons = p_pass.reasons || (
           select coalesce(jsonb_object_agg(w.reason, coalesce((p_pass.reasons ->> w.reason)::bigint, 0) + w.times), '{}')
             from (select w.reason, count(*) as times from unnest(p_reasons) w(reason) group by w.reason) w),
         oldest_kept = coalesce(p_pass.oldest_kept, p_oldest_kept),
         done_at = case when p_reached is null then p_now else r.done_at end
   where r.tenant_id = p_pass.tenant_id and r.kind = p_pass.kind
  returning r.* into r_pass;
  return r_pass;
end
$$;
