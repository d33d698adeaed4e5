-- Writes domain events of one type, where somebody subscribed to it; where nobody ever did, one look-up that finds nothing. The instances are locked, or new.
-- p_details: one for each instance, or null.
-- Writes:   event_outbox.
create or replace function bpm_core.emit_events(p_tenant_id text, p_type text, p_instances uuid[], p_details jsonb[] default null)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now timestamptz;
begin
  perform from bpm_core.event_stream s where s.tenant_id = p_tenant_id;
  if not found then
    return;
  end if;
  v_now := bpm_core.now();
  insert into bpm_core.event_outbox (tenant_id, id, event_type, aggregate_id, process_code, payload, created_at)
  select e.tenant_id, e.event_id, p_type, e.id, d.code,
         jsonb_build_object('event_id', e.event_id, 'type', p_type, 'at', v_now, 'process_code', d.code, 'process_instance_id', w.process_instance_id,
                            'workflow_instance_id', e.id, 'business_key', p.business_key, 'detail', coalesce(p_details[e.n], '{}')),
         v_now
    from (select p_tenant_id as tenant_id, i.id, i.n, bpm_core.new_id() as event_id from unnest(p_instances) with ordinality i(id, n) offset 0) e
   cross join lateral (select w.process_instance_id from bpm_core.workflow_instance w where w.tenant_id = e.tenant_id and w.id = e.id offset 0) w
   cross join lateral (select p.business_key, p.process_version_id from bpm_core.process_instance p
                        where p.tenant_id = e.tenant_id and p.id = w.process_instance_id offset 0) p
   cross join lateral (select v.definition_id from bpm_core.process_version v where v.tenant_id = e.tenant_id and v.id = p.process_version_id offset 0) v
   cross join lateral (select d.code from bpm_core.process_definition d where d.tenant_id = e.tenant_id and d.id = v.definition_id offset 0) d
   where exists (
     select
       from bpm_core.event_subscription s
      where s.tenant_id = p_tenant_id and s.ended_at is null and (s.process_code is null or s.process_code = d.code)
        and (s.event_types is null or p_type = any (s.event_types)))
   order by e.n;
end
$$;
