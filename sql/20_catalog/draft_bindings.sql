-- Reads the bindings of publish_process, checked for shape: looks up the workflow versions, compiles the start conditions.
-- Returns:  draft_binding[], in the order given; starts are the kinds of the start events at the root of the workflow.
create or replace function bpm_core.draft_bindings(p_tenant_id text, p_bindings jsonb)
returns bpm_core.draft_binding[]
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select array_agg(row(
           i.n, btrim(i.item ->> 'binding_key'), btrim(i.item ->> 'workflow'), (i.item ->> 'version')::integer, coalesce((i.item ->> 'position')::integer, i.n),
           array(select jsonb_array_elements_text(coalesce(nullif(i.item -> 'depends_on', 'null'), '[]'))), s.source, c.condition, c.tree, c.problem,
           d.id, d.archived_at is not null, v.id,
           array(select n.kind::text
                   from bpm_core.workflow_node n
                  where n.tenant_id = p_tenant_id and n.workflow_version_id = v.id and n.scope_node_id is null and n.element = 'startEvent'
                    and n.kind in ('StartEvent', 'MessageStart', 'TimerStart', 'SignalStart')))::bpm_core.draft_binding order by i.n)
    from jsonb_array_elements(p_bindings) with ordinality i(item, n)
   cross join lateral (select nullif(btrim(i.item ->> 'start_condition'), '') as source) s
    left join lateral (select x.* from bpm_core.compile_condition(s.source, null) x where s.source is not null) c on true
    left join bpm_core.workflow_definition d on d.tenant_id = p_tenant_id and d.code = btrim(i.item ->> 'workflow')
    left join bpm_core.workflow_version v
      on v.tenant_id = p_tenant_id and v.definition_id = d.id
     and case when i.item ->> 'version' is null then v.id = d.published_version_id else v.version = (i.item ->> 'version')::integer end
$$;
