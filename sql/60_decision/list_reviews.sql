-- Which results can this person look at: open reviews of results they did not give, and nothing bars them. Oldest first.
-- p_after: the last review of the page before.
-- Returns:  rows: review_id, process_instance_id, business_key, node_id, task_id, attempt, done_by, expected_version (hand it to decide_review), content_hash (hex),
--           output, variables, record (evidence and facts that would be written), created_at, reasons (of the worker who asked for it).
-- Raises:   BP403, BP422 limit not 1 to 1000.
create or replace function bpm.list_reviews(p_actor text default null, p_limit integer default 100, p_after uuid default null, p_tenant_id text default '')
returns table (review_id uuid, process_instance_id uuid, business_key text, node_id text, task_id uuid, attempt integer, done_by text, expected_version integer,
               content_hash text, output jsonb, variables jsonb, record jsonb, created_at timestamptz, reasons jsonb)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_actor text;
begin
  perform bpm_core.enter_call(p_tenant_id, 'reader');
  v_actor := bpm_core.acting_as(p_tenant_id, p_actor);
  perform bpm_core.check_limit(p_limit);
  return query
  select r.id, w.process_instance_id, p.business_key, k.node_id, r.task_instance_id, r.attempt, x.created_by, r.expected_version, encode(r.content_hash, 'hex'),
         x.output, r.variables, r.record, r.created_at, x.reasons
    from bpm_core.review r
   cross join lateral (select w.process_instance_id from bpm_core.workflow_instance w where w.tenant_id = r.tenant_id and w.id = r.workflow_instance_id offset 0) w
   cross join lateral (select p.business_key from bpm_core.process_instance p where p.tenant_id = r.tenant_id and p.id = w.process_instance_id offset 0) p
   cross join lateral (select k.node_id from bpm_core.token k where k.tenant_id = r.tenant_id and k.id = r.token_id offset 0) k
   cross join lateral (select x.created_by, x.output, x.reasons from bpm_core.result x
                        where x.tenant_id = r.tenant_id and x.task_instance_id = r.task_instance_id and x.attempt = r.attempt offset 0) x
   where r.state = 'Open' and r.tenant_id = p_tenant_id
     and (p_after is null or (r.created_at, r.id) > (select l.created_at, l.id from bpm_core.review l where l.tenant_id = p_tenant_id and l.id = p_after))
     and bpm_core.review_bar(r, v_actor) is null
   order by r.created_at, r.id
   limit p_limit;
end
$$;
