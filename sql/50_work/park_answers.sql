-- Parks accepted answers of suspended instances in the inbox, one row for those of one call: kept and counted now, their tokens go on after
-- resume. What else waited on the tokens is closed: an answer that was accepted is not overtaken by a timer that came due meanwhile.
-- Returns:  accepted[], those of the other instances. Writes: inbox, and what close_events writes.
create or replace function bpm_core.park_answers(p_tenant_id text, p_accepted bpm_core.accepted[], p_suspended uuid[])
returns bpm_core.accepted[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  insert into bpm_core.inbox (tenant_id, id, target_kind, target_id, kind, payload, available_at)
  select p_tenant_id, bpm_core.inbox_id(p.instance_id), 'WorkflowInstance', p.instance_id, 'Answer', jsonb_build_object('answers', p.answers), 'infinity'
    from (select a.instance_id,
                 jsonb_agg(jsonb_build_object('task', a.task_id, 'token', a.token_id, 'variables', a.variables) order by a.item) as answers
            from unnest(p_accepted) a
           where a.instance_id = any (p_suspended)
           group by a.instance_id) p;
  perform bpm_core.close_events(p_tenant_id, array(select a.token_id from unnest(p_accepted) a where a.instance_id = any (p_suspended)));
  return array(select a from unnest(p_accepted) a where a.instance_id <> all (p_suspended) order by a.item);
end
$$;
