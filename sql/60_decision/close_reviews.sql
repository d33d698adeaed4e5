-- Closes the open reviews of tokens that are taken off their node, or end with their instance. Their results stay as they are: never accepted.
-- Writes:   review, history_event. The instances are locked.
create or replace function bpm_core.close_reviews(p_hosts bpm_core.moving[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  with open as materialized (
    select r.tenant_id, r.id, r.workflow_instance_id, r.token_id, h.node_id
      from unnest(p_hosts) h
     cross join lateral (select r.tenant_id, r.id, r.workflow_instance_id, r.token_id, r.state from bpm_core.review r
                          where r.workflow_instance_id = h.instance_id offset 0) r
     where r.tenant_id = h.tenant_id and r.token_id = h.token_id and r.state = 'Open'),
  closed as (
    update bpm_core.review r
       set state = 'Closed'
      from open o
     where r.tenant_id = o.tenant_id and r.id = o.id)
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, from_state, to_state, detail)
  select o.tenant_id, o.workflow_instance_id, bpm_core.now(), 'ReviewClosed', o.token_id, o.node_id, 'Open', 'Closed', jsonb_build_object('review', o.id)
    from open o;
end
$$;
