-- Asks the completion condition, or that of the loop, at the end of each item, in order of arrival, and takes its output. The conditions see what the item sees
-- and the counters as they are with it.
-- Returns:  item_end[]; with trouble (ConditionUndecidable, OutputUndecidable, OutputTooLarge) where the item cannot end.
create or replace function bpm_core.judge_items(p_arriving bpm_core.moving[])
returns bpm_core.item_end[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_limit bigint := (bpm_core.setting_value('engine.max_value_bytes', '262144'))::bigint;
begin
  return array(
    with item as materialized (
      select row(a.tenant_id, a.instance_id, a.version_id, a.scope_id, a.token_id, a.node_id, a.flow_id, a.kind)::bpm_core.moving as token,
             row(a.tenant_id, a.instance_id, a.version_id, h.scope_id, h.id, h.node_id, null, null)::bpm_core.moving as host, a.ordinality as ord,
             m.visit, case when m.mode = 'Loop' then x.steps else least(x.steps, h.steps + 1000) end as steps, m.mode, n.spec, m.declared, m.total, m.created,
             m.done as before, row_number() over (partition by h.id order by a.ordinality) as nth, m.output_bytes, s.variables as own
        from unnest(p_arriving) with ordinality a
       cross join lateral (select s.host_token_id, s.variables from bpm_core.scope s where s.tenant_id = a.tenant_id and s.id = a.scope_id offset 0) s
       cross join lateral (select t.steps from bpm_core.token t where t.tenant_id = a.tenant_id and t.id = a.token_id offset 0) x
       cross join lateral (select t.id, t.scope_id, t.node_id, t.steps from bpm_core.token t where t.tenant_id = a.tenant_id and t.id = s.host_token_id offset 0) h
       cross join lateral (select m.* from bpm_core.multi_instance m where m.tenant_id = a.tenant_id and m.host_token_id = h.id offset 0) m
       cross join lateral (select n.expressions -> 'loop' as spec from bpm_core.workflow_node n
                            where n.tenant_id = a.tenant_id and n.workflow_version_id = a.version_id and n.node_id = h.node_id offset 0) n),
    -- Of all variables only those asked for, and once per host: a large collection among them would be copied for every item.
    asked as materialized (
      select i.*, first_value(v.variables) over (partition by (i.host).token_id order by i.nth) || i.own as variables
        from item i
        left join lateral (
          select (select coalesce(jsonb_object_agg(k.name, v.variables -> k.name), '{}')
                    from jsonb_array_elements_text(i.spec -> 'names') k(name) where v.variables ? k.name) as variables
            from bpm_core.token_variables((i.host).tenant_id, (i.host).instance_id, (i.host).scope_id) v
           where i.nth = 1 and i.spec ?| array['until', 'while', 'output']) v on true),
    judged as materialized (
      select a.*,
             case when a.spec ? 'until' then bpm_core.evaluate_condition(a.spec #> '{until,tree}', a.variables || bpm_core.loop_counters(a.mode, a.total, a.before + a.nth))
                  when a.spec ? 'while' then bpm_core.evaluate_condition(a.spec #> '{while,tree}', a.variables || jsonb_build_object(a.spec ->> 'counter', a.before + a.nth))
                  else a.mode = 'Loop' end as verdict,
             case when a.spec ? 'output' then bpm_core.evaluate(a.spec #> '{output,tree}', a.variables) end as output
        from asked a),
    weighed as (
      select j.*, j.output_bytes + sum(octet_length(j.output::text) + 2) over (partition by (j.host).token_id order by j.ord) as bytes from judged j)
    select row(w.token, w.host, w.visit, w.steps, w.mode, w.spec, w.declared, w.total, w.created, w.before, w.verdict, w.output,
               bpm_core.item_trouble(w.token, w.spec, w.variables, w.verdict, w.output, w.bytes > v_limit, v_limit))::bpm_core.item_end
      from weighed w
     order by w.ord);
end
$$;
