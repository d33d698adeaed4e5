-- Resolves the open incidents of tokens that are taken off their node by something else; the engine is the resolver.
-- That of a starved join names no token but a scope: it goes with the tokens that waited there. That of a workflow that has not begun goes with its instance,
-- for which p_hosts has a row without a token.
-- Writes:   incident, history_event.
create or replace function bpm_core.close_incidents(p_hosts bpm_core.moving[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now timestamptz := bpm_core.now();
begin
  with open as materialized (
    select i.tenant_id, i.id
      from unnest(p_hosts) h
     cross join lateral (select i.tenant_id, i.id, i.state, i.token_id, i.code, i.detail from bpm_core.incident i
                          where i.workflow_instance_id = h.instance_id offset 0) i
     where i.tenant_id = h.tenant_id and i.state = 'Open'
       and (i.token_id = h.token_id or i.token_id is null and i.code = 'JoinStarved' and i.detail ->> 'scope' = h.scope_id::text
            or h.token_id is null and i.code in ('StartUndecidable', 'WorkflowNotStartable'))),
  closed as (
    update bpm_core.incident i
       set state = 'Resolved', resolved_at = v_now, resolved_by = 'engine'
      from open o
     where i.tenant_id = o.tenant_id and i.id = o.id
    returning i.tenant_id, i.workflow_instance_id, i.id, i.token_id, i.node_id),
  letter as materialized (
    select d.tenant_id, d.id
      from closed c
     cross join lateral (select d.tenant_id, d.id, d.state from bpm_core.dead_letter d where d.incident_id = c.id offset 0) d
     where d.tenant_id = c.tenant_id and d.state = 'Open'),
  buried as (
    update bpm_core.dead_letter d
       set state = 'Discarded', closed_by = 'engine', closed_at = v_now
      from letter l
     where d.tenant_id = l.tenant_id and d.id = l.id)
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, actor, detail)
  select c.tenant_id, c.workflow_instance_id, v_now, 'IncidentResolved', c.token_id, c.node_id, 'engine',
         jsonb_build_object('incident', c.id, 'closed', true)
    from closed c;
end
$$;
