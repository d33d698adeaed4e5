-- Lets events wait, with the reason. For a person, a router or other rules: until then. For what may change by itself (a process not there
-- yet, nothing to attach to, an earlier event of the thread, a busy key): for a while that grows with their age.
-- Writes:   event.
create or replace function bpm_core.hold_events(p_tenant_id text, p_refusals bpm_core.event_refusal[], p_rules_version bigint, p_now timestamptz)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  update bpm_core.event e
     set reason = r.reason, detail = r.detail,
         rules_version = case when r.for_good then p_rules_version end,
         available_at = case when r.for_good then 'infinity'
                             when r.reason = 'Busy' then p_now + interval '1 second'
                             else p_now + least(greatest((p_now - e.received_at) / 2, interval '1 second'),
                                                case r.reason when 'Thread' then interval '1 minute' else interval '1 hour' end) end
    from (select p_tenant_id as tenant_id, r.event_id as id, r.reason, r.detail, r.reason not in ('Refused', 'NoInstance', 'Busy', 'Thread') as for_good
            from unnest(p_refusals) r
          offset 0) r
   where e.tenant_id = r.tenant_id and e.id = r.id;
end
$$;
