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
declare
  r_open record;
begin
  -- Row by row: there are few, and a statement over a table that is nearly always empty would be planned for an empty one.
  for r_open in
    select r.tenant_id, r.id, r.workflow_instance_id, r.token_id, h.node_id
      from unnest(p_hosts) h
     cross join lateral (select r.tenant_id, r.id, r.workflow_instance_id, r.token_id, r.state from bpm_core.review r
                          where r.workflow_instance_id = h.instance_id offset 0) r
     where r.tenant_id = h.tenant_id and r.token_id = h.token_id and r.state = 'Open'
     order by r.id
  loop
    update bpm_core.review r set state = 'Closed' where r.tenant_id = r_open.tenant_id and r.id = r_open.id;
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, from_state, to_state, detail)
    values (r_open.tenant_id, r_open.workflow_instance_id, bpm_core.now(), 'ReviewClosed', r_open.token_id, r_open.node_id, 'Open', 'Closed',
            jsonb_build_object('review', r_open.id));
  end loop;
end
$$;
