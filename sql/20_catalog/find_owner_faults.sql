-- Processes that name an owner role which is not there to own them.
create or replace function bpm_core.find_owner_faults(p_processes bpm_core.draft_process[], p_tenant_id text)
returns setof bpm_core.finding
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select bpm_core.fault('UnknownReference', format('Process "%s" is owned by the role %s, which is not published.', p.process_id, p.owner_role), p.process_id, null,
           'Publish it with bpm.publish_role.')
    from unnest(p_processes) p
   where p.deployed and p.owner_role <> 'default'
     and not exists (select from bpm_core.role_definition d
                      where d.tenant_id = p_tenant_id and d.code = p.owner_role and d.published_version_id is not null and d.archived_at is null)
$$;
