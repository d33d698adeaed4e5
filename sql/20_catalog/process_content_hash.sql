-- The hash that proves a process version unchanged: its name, and what it binds and how.
create or replace function bpm_core.process_content_hash(p_name text, p_bindings bpm_core.process_workflow_binding[])
returns bytea
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select sha256(convert_to(jsonb_build_object('name', p_name, 'bindings', (
           select jsonb_agg(to_jsonb(b) - '{tenant_id,process_version_id}'::text[] order by b.position)
             from unnest(p_bindings) b))::text, 'UTF8'))
$$;
