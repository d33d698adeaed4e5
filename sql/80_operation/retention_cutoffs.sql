-- Until when must a process instance have ended to have had its time? As the settings retention.instance_days and retention.process_days say.
-- Returns:  one row: cutoff (null: kept for ever), by_version (process version -> cutoff or null, where the setting names the process), latest of all (null:
--           nothing is ever removed).
create or replace function bpm_core.retention_cutoffs(
  p_tenant_id text, p_now timestamptz, out cutoff timestamptz, out by_version jsonb, out latest timestamptz)
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  cutoff := p_now - make_interval(days => (bpm_core.setting_value('retention.instance_days', 'null') #>> '{}')::integer);
  select coalesce(jsonb_object_agg(v.id, p_now - make_interval(days => s.days)), '{}'), greatest(cutoff, max(p_now - make_interval(days => s.days)))
    into by_version, latest
    from (select p_tenant_id as tenant_id, s.key as code, s.value::integer as days
            from jsonb_each_text(bpm_core.setting_value('retention.process_days', '{}')) s offset 0) s
   cross join lateral (select d.id from bpm_core.process_definition d where d.tenant_id = s.tenant_id and d.code = s.code offset 0) d
   cross join lateral (select v.id from bpm_core.process_version v where v.tenant_id = s.tenant_id and v.definition_id = d.id offset 0) v;
end
$$;
