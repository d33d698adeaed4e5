-- Publishes a task version, or an identical older one again.
-- Returns:  version number, its id, whether it is new, and whether it became the current one now.
-- Writes:   task_definition, task_version.
-- Locks:    the task_definition row: publishers of one task take turns.
create or replace function bpm_core.store_task_version(
  p_tenant_id text, p_code text, p_draft bpm_core.task_version, p_actor text, out version integer, out version_id uuid, out is_new boolean, out moved boolean)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_definition uuid;
  v_hash       bytea := bpm_core.task_content_hash(p_draft);
begin
  insert into bpm_core.task_definition (tenant_id, id, code, created_at)
  values (p_tenant_id, bpm_core.new_id(), p_code, bpm_core.now())
  on conflict (tenant_id, code) do nothing;
  perform 1 from bpm_core.task_definition d where d.tenant_id = p_tenant_id and d.code = p_code for no key update;
  v_definition := bpm_core.kept_definition(
    (select d.id from bpm_core.task_definition d where d.tenant_id = p_tenant_id and d.code = p_code), 'task', p_code);
  select v.version, v.id into version, version_id
    from bpm_core.task_version v
   where v.tenant_id = p_tenant_id and v.definition_id = v_definition and v.content_hash = v_hash
   order by v.version desc
   limit 1;
  is_new := version is null;
  if is_new then
    select coalesce(max(v.version), 0) + 1 into version
      from bpm_core.task_version v where v.tenant_id = p_tenant_id and v.definition_id = v_definition;
    version_id := bpm_core.new_id();
    p_draft.tenant_id := p_tenant_id;
    p_draft.id := version_id;
    p_draft.definition_id := v_definition;
    p_draft.version := version;
    p_draft.status := 'Published';
    p_draft.content_hash := v_hash;
    p_draft.created_by := p_actor;
    p_draft.published_at := bpm_core.now();
    insert into bpm_core.task_version select p_draft.*;
  end if;
  update bpm_core.task_definition d
     set published_version_id = version_id, archived_at = null
   where d.tenant_id = p_tenant_id and d.id = v_definition and (d.published_version_id is distinct from version_id or d.archived_at is not null);
  moved := found;
end
$$;
