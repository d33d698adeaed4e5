-- Writes the decisions of plans, with the business cases they speak of, and marks the events. Of an event's business keys the first gives its case.
-- Writes:   business_case, routing_decision, event.
create or replace function bpm_core.record_decisions(
  p_tenant_id text, p_plans bpm_core.event_plan[], p_actions bpm_core.event_action[], p_now timestamptz)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  -- Those of starts are there by now.
  insert into bpm_core.business_case (tenant_id, id, business_key, created_at)
  select p_tenant_id, bpm_core.new_id(), k.business_key, p_now
    from (select distinct a.business_key from unnest(p_actions) a where a.business_key is not null and a.action <> 'StartProcess' order by 1) k
  on conflict do nothing;
  insert into bpm_core.routing_decision (tenant_id, id, event_id, actions, content_hash, proposal, rules, decided_by, reason, business_case_id, decided_at)
  select p.tenant_id, bpm_core.new_id(), p.id, p.actions, bpm_core.decision_hash(p.actions), p.proposal, p.rules, p.decided_by, p.note, c.id, p_now
    from (select p_tenant_id as tenant_id, (p.event).id as id, p.actions, (p.event).detail -> 'proposal' as proposal, p.rules, p.decided_by, p.note,
                 jsonb_path_query_first(p.actions, '$[*].business_key') #>> '{}' as business_key
            from unnest(p_plans) p
          offset 0) p
    left join lateral (select c.id from bpm_core.business_case c where c.business_key = p.business_key and c.tenant_id = p.tenant_id offset 0) c on true;
  update bpm_core.event e
     set dispatch_state = p.state, decided_at = p_now, reason = p.note, detail = null, rules_version = null
    from (select p_tenant_id as tenant_id, (p.event).id as id,
                 case when p.actions @? 'strict $[*] ? (@.action != "Ignore")' then 'Dispatched' else 'Ignored' end::bpm_core.event_state as state,
                 case when p.actions @? 'strict $[*] ? (@.action != "Ignore")' then null else coalesce(p.note, p.decided_by) end as note
            from unnest(p_plans) p
          offset 0) p
   where e.tenant_id = p.tenant_id and e.id = p.id;
end
$$;
