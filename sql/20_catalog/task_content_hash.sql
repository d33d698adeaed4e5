-- The hash that proves a task version unchanged, over everything it says.
create or replace function bpm_core.task_content_hash(p_version bpm_core.task_version)
returns bytea
language sql stable
set search_path = pg_catalog, pg_temp
set intervalstyle = 'iso_8601'
as $$
  select sha256(convert_to((to_jsonb(p_version) - array['tenant_id', 'id', 'definition_id', 'version', 'status', 'content_hash', 'created_by', 'published_at'])::text, 'UTF8'))
$$;
