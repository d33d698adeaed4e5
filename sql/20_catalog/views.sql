-- What the catalog shows: every version of every process of the caller's tenants.

create or replace view bpm.definition with (security_barrier) as
select d.tenant_id,
       d.code,
       v.version,
       v.status::text as status,
       v.name,
       d.published_version_id = v.id as is_current,
       v.created_by,
       v.published_at,
       encode(v.content_hash, 'hex') as content_hash
  from bpm_core.process_definition d
  join bpm_core.process_version v on v.tenant_id = d.tenant_id and v.definition_id = d.id
 where d.tenant_id = any (array(select bpm_core.visible_tenants()));
comment on view bpm.definition is 'Deployed processes, one row per version; is_current is the one that starts without a version.';

create or replace view bpm.session_link with (security_barrier) as
select l.tenant_id,
       l.id as link_id,
       l.channel,
       l.session_id,
       l.group_id,
       l.display_name,
       l.created_at,
       l.updated_at
  from bpm_core.session_scope_link l
 where l.tenant_id = any (array(select bpm_core.visible_tenants()));
comment on view bpm.session_link is 'Which tenant a session of the host application belongs to.';
