-- What keeps actions from being carried out: a process that cannot be started, nothing to attach to, a message key somebody else holds.
-- Returns:  event_refusal[], for each event the first. Reasons: Refused, NoInstance, Busy.
create or replace function bpm_core.refuse_actions(
  p_tenant_id text, p_actions bpm_core.event_action[], p_starts bpm_core.start[], p_busy bigint[])
returns bpm_core.event_refusal[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  return array(
    select distinct on (x.event_id) row(x.event_id, x.reason, x.message, x.detail)::bpm_core.event_refusal
      from (
        select (p_actions[s.item]).event_id, (p_actions[s.item]).n, 'Refused' as reason, s.message,
               jsonb_build_object('process_code', s.code, 'outcome', s.outcome, 'message', s.message) as detail
          from unnest(p_starts) s
         where s.outcome is not null
        union all
        select a.event_id, a.n, 'NoInstance', 'There is no instance to attach the event to.',
               jsonb_strip_nulls(jsonb_build_object('business_key', a.business_key, 'process_code', a.process_code, 'process_instance_ids', a.instance_ids))
          from unnest(p_actions) a
         where a.action = 'Attach'
           and (cardinality(a.instance_ids) + cardinality(a.task_ids) = 0 or exists (
             select from unnest(a.instance_ids) i(id)
              where not exists (select from (select p.tenant_id, p.id from bpm_core.process_instance p where p.tenant_id = p_tenant_id and p.id = i.id offset 0) p)))
        union all
        select a.event_id, a.n, 'NoInstance', 'There is no such task to attach the event to.', jsonb_build_object('task_ids', a.task_ids)
          from unnest(p_actions) a
         where exists (
           select from unnest(a.task_ids) i(id)
            where not exists (select from (select t.tenant_id, t.id from bpm_core.task_instance t where t.tenant_id = p_tenant_id and t.id = i.id offset 0) t))
        union all
        select a.event_id, a.n, 'Busy', 'Another call holds the key of the message.', jsonb_build_object('message_name', a.message_name, 'correlation_key', a.correlation_key)
          from unnest(p_actions) a
         where p_busy <> '{}' and a.message_name is not null
           and bpm_core.message_key_hash(p_tenant_id, a.message_name, a.correlation_key) = any (p_busy)) x
     order by x.event_id, x.n);
end
$$;
