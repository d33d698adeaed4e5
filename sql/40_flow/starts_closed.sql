-- Whether an interrupting event sub-process has begun in the open scope of this host: no other one can begin there any more.
create or replace function bpm_core.starts_closed(p_tenant_id text, p_host_token_id uuid, p_version_id uuid)
returns boolean
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select exists (
    select
      from (select s.tenant_id, s.id, s.state from bpm_core.scope s where s.host_token_id = p_host_token_id offset 0) around
     cross join lateral (select c.node_id from bpm_core.scope c where c.parent_scope_id = around.id offset 0) begun
     cross join lateral (select n.element, n.attached_to, n.interrupting, n.kind from bpm_core.workflow_node n
                          where n.scope_node_id = begun.node_id and n.workflow_version_id = p_version_id and n.tenant_id = p_tenant_id offset 0) n
     where around.tenant_id = p_tenant_id and around.state = 'Open' and n.element = 'startEvent' and n.attached_to is not null
       -- An error ends what is around it, whatever the drawing says.
       and (n.interrupting or n.kind = 'ErrorBoundary'))
$$;
