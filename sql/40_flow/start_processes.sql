-- Starts processes, each pinned to one version. Commits nothing: start inside your own business transaction.
-- p_items: [{"code", "variables": {…}, "business_key", "idempotency_key", "version"}], at most 1,000.
-- Returns:  one row per item: item (from 1), process_instance_id, workflow_instance_id, status, is_new (false: the answer of an earlier start
--           with the same idempotency key), outcome (Done, NotFound, Rejected, Conflict; WrongState: it has no plain start event), message (why not).
-- Raises:   BP400 ill-formed items, BP403, BP429.
-- Writes:   idempotency_key, business_case, process_instance, workflow_instance, token, history_event, and what the first nodes write.
-- Source:   kernel design, 2.2; runtime design, idempotency by trigger key.
create or replace function bpm.start_processes(p_items jsonb, p_actor text default null, p_tenant_id text default '')
returns table (item integer, process_instance_id uuid, workflow_instance_id uuid, status text, is_new boolean, outcome bpm.outcome, message text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set lock_timeout = '10s'
as $$
declare
  v_actor  text;
  v_now    timestamptz;
  v_starts bpm_core.start[];
  v_moved  boolean;
begin
  if not bpm_core.enter_call(p_tenant_id, 'worker') then
    return;
  end if;
  v_actor := bpm_core.acting_as(p_tenant_id, p_actor);
  v_starts := bpm_core.parse_starts(p_tenant_id, p_items);
  v_now := bpm_core.now();
  if jsonb_path_exists(p_items, '$[*].idempotency_key ? (@ != null)') then
    v_starts := bpm_core.settle_start_keys(p_tenant_id, v_starts, v_now);
  end if;
  v_moved := bpm_core.begin_starts(p_tenant_id, v_starts, v_actor, v_now);
  if cardinality(v_starts) = 1 and v_starts[1].outcome is null and not v_moved and v_starts[1].is_several is not true then
    item := 1;
    process_instance_id := v_starts[1].process_instance_id;
    workflow_instance_id := v_starts[1].workflow_instance_id;
    status := 'Running';
    is_new := true;
    outcome := 'Done';
    return next;
    return;
  end if;
  return query
  select s.item, case when coalesce(s.outcome, 'Done') = 'Done' then s.process_instance_id end,
         case when coalesce(s.outcome, 'Done') = 'Done' then s.workflow_instance_id end,
         coalesce(p.status, case when s.outcome = 'Done' then bpm_core.last_status(s.tenant_id, s.process_instance_id) end)::text, s.outcome is null, coalesce(s.outcome, 'Done'), s.message
    from (select p_tenant_id as tenant_id, s.* from unnest(v_starts) s offset 0) s
    left join bpm_core.process_instance p
      on p.tenant_id = s.tenant_id and p.id = s.process_instance_id
   order by s.item;
end
$$;
