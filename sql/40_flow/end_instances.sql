-- What follows from workflow instances having ended: their history row; where it is the only binding, the end of the process; where it is one of several,
-- the process hears of it, where it was called, its caller does.
-- The instances carry their final status already.
-- p_tokens, p_nodes: the last token of each and where it ended, where that is still to be told, too.
-- Writes: history_event, process_instance, inbox.
create or replace function bpm_core.end_instances(p_tenant_id text, p_instances uuid[], p_status bpm_core.workflow_status, p_at timestamptz,
                                                  p_detail jsonb default null, p_tokens uuid[] default null, p_nodes text[] default null)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_called  uuid[];
  v_several uuid[];
  v_emits   boolean;
begin
  with ended as materialized (
    select w.*
      from (select p_tenant_id as tenant_id, e.* from unnest(p_instances) e(id) offset 0) e
     cross join lateral (select w.tenant_id, w.id, w.process_instance_id, w.ends_process, w.parent_token_id from bpm_core.workflow_instance w
                          where w.tenant_id = e.tenant_id and w.id = e.id offset 0) w),
  noted as (
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, from_state, to_state, detail)
    select p_tenant_id, e.id, p_at, k.kind, k.token_id, k.node_id, k.from_state, p_status::text, k.detail
      from unnest(p_instances, p_tokens, p_nodes) e(id, token_id, node_id)
     cross join lateral (values
       ('TokenCompleted'::bpm_core.history_kind, e.token_id, e.node_id, null, null),
       (('Instance' || p_status)::bpm_core.history_kind, null, null, 'Running', p_detail)) k(kind, token_id, node_id, from_state, detail)
     where k.from_state is not null or e.token_id is not null),
  -- Shared parents come after tasks and tokens in the lock order, each class once and sorted.
  process as materialized (
    select p.tenant_id, p.id
      from (select distinct e.tenant_id, e.process_instance_id as id from ended e where e.ends_process order by e.process_instance_id offset 0) k
     cross join lateral (select p.tenant_id, p.id from bpm_core.process_instance p where p.tenant_id = k.tenant_id and p.id = k.id for no key update) p),
  closed as (
    update bpm_core.process_instance p
       set status = p_status::text::bpm_core.process_status, version = p.version + 1, updated_at = p_at, ended_at = p_at
      from process k
     where p.tenant_id = k.tenant_id and p.id = k.id)
  select array_agg(e.id) filter (where e.parent_token_id is not null), array_agg(e.id) filter (where not e.ends_process and e.parent_token_id is null),
         exists (select from bpm_core.event_stream s where s.tenant_id = p_tenant_id)
    into v_called, v_several, v_emits
    from ended e;
  if v_emits then
    perform bpm_core.emit_events(p_tenant_id, 'Instance' || p_status, p_instances, array_fill(p_detail, array[cardinality(p_instances)]));
  end if;
  if v_called is not null then
    perform bpm_core.tell_callers(p_tenant_id, v_called, p_status, p_detail);
  end if;
  if v_several is not null then
    perform bpm_core.tell_processes(p_tenant_id, v_several, p_status);
  end if;
end
$$;
