-- Why a process that is there cannot be started by a call: it has no plain start event.
-- Returns:  text that names the start events it has; null when there is no such process, no such version, or it is archived.
create or replace function bpm_core.start_refusal(p_tenant_id text, p_code text, p_version integer)
returns text
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select format('Process %L has no plain start event; it is started by %s.', p_code,
           string_agg(case s.kind when 'MessageStart' then format('the message %L', s.name) when 'SignalStart' then format('the signal %L', s.name)
                                  else format('the timer %s', s.node_id) end, ', ' order by s.node_id))
    from bpm_core.process_definition d
    join bpm_core.process_version v
      on v.tenant_id = d.tenant_id and v.definition_id = d.id
     and case when p_version is null then v.id = d.published_version_id else v.version = p_version and v.status = 'Published' end
   cross join lateral bpm_core.start_nodes(p_tenant_id, v.id) s
   where d.tenant_id = p_tenant_id and d.code = p_code and d.archived_at is null
  having count(*) > 0
$$;
