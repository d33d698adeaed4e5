-- Reads the actions of plans. Variables that are not said are the payload; instances to attach to are looked up: those given, or those of the business
-- case that have not ended (of one process, if said), at most 1,000.
-- Returns:  event_action[], in the order of the plans.
create or replace function bpm_core.read_actions(p_tenant_id text, p_plans bpm_core.event_plan[])
returns bpm_core.event_action[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  return array(
    select row((p.event).id, x.n, x.item ->> 'action', x.item ->> 'process_code', (x.item ->> 'version')::integer, x.item ->> 'business_key',
               coalesce(x.item -> 'variables', (p.event).payload), x.item ->> 'message_name', coalesce(x.item ->> 'correlation_key', x.item ->> 'business_key'),
               coalesce((x.item ->> 'ttl_seconds')::numeric, 3600) * interval '1 second',
               case when x.item ->> 'action' <> 'Attach' then null
                    when x.item ? 'process_instance_ids' then array(select i.id::uuid from jsonb_array_elements_text(x.item -> 'process_instance_ids') i(id))
                    when x.item ? 'business_key' then bpm_core.open_instances_of(p_tenant_id, x.item ->> 'business_key', x.item ->> 'process_code')
                    else '{}'::uuid[] end,
               array(select i.id::uuid from jsonb_array_elements_text(x.item -> 'task_ids') i(id)))::bpm_core.event_action
      from unnest(p_plans) with ordinality p(event, reason, detail, actions, rules, decided_by, note, o)
     cross join lateral jsonb_array_elements(p.actions) with ordinality x(item, n)
     order by p.o, x.n);
end
$$;
