-- Is the database fit to work, and what should somebody look at? Cheap: index probes and counts of at most 1,000 rows.
-- Returns:  jsonb {ready, checks: [{name, ok, required, detail}]}; ready is false only when a required check fails.
-- Raises:   BP403.
create or replace function bpm.ready(p_tenant_id text default '')
returns jsonb
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform bpm_core.enter_call(p_tenant_id, 'reader');
  return (
    select jsonb_build_object('ready', bool_and(c.ok or not c.required), 'checks', jsonb_agg(to_jsonb(c)))
      from (select u.* from bpm_core.upkeep_checks() u
            union all
            select b.* from bpm_core.backlog_checks(p_tenant_id) b
            union all
            select r.* from bpm_core.retention_check(p_tenant_id) r) c);
end
$$;
