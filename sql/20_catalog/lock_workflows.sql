-- Makes the workflow definitions of these codes if absent and locks them, in the order of their codes: publishers of one code take turns and get
-- consecutive versions. After those of processes, before those of roles and tasks.
-- Writes:   workflow_definition. Locks: its rows, until the transaction ends.
create or replace function bpm_core.lock_workflows(p_tenant_id text, p_codes text[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  insert into bpm_core.workflow_definition (tenant_id, id, code, created_at)
  select p_tenant_id, bpm_core.new_id(), c.code, bpm_core.now()
    from (select distinct u.code collate "C" as code from unnest(p_codes) u (code) order by 1) c
  on conflict (tenant_id, code) do nothing;
  perform 1
    from bpm_core.workflow_definition d
   where d.tenant_id = p_tenant_id and d.code = any (p_codes)
   order by d.code
     for no key update;
end
$$;
