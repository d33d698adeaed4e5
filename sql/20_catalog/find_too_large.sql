-- Ids, codes and names that become keys and are longer than a key may be.
create or replace function bpm_core.find_too_large(p_processes bpm_core.draft_process[], p_nodes bpm_core.draft_node[], p_flows bpm_core.draft_flow[])
returns setof bpm_core.finding
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select bpm_core.fault('TooLarge', format('The %s "%s…" has %s characters; the limit is 200.', x.what, left(x.value, 40), length(x.value)),
           case when x.what not like '%id' then left(x.node_id, 200) end, null, 'Shorten it.')
    from (select 'process id' as what, p.process_id as value, null as node_id from unnest(p_processes) p where p.deployed
          union all select 'flow id', f.flow_id, null from unnest(p_flows) f
          union all
          select v.what, v.value, n.node_id
            from unnest(p_nodes) n
           cross join lateral (values ('node id', n.node_id), ('task type', n.task_type), ('message name', n.message_name), ('error code', n.error_code),
                                      ('destination', n.attributes ->> 'bpm:destination'),
                                      ('assignee', bpm_core.vendor_attribute(n.attributes, 'assignee'))) v (what, value)) x
   where length(x.value) > 200
$$;
