-- Stores the events that stand, unless their key is known, with the evidence they bring. Of several with one key the first counts.
-- Returns:  uuid[], those that are new.
-- Writes:   event, evidence, event_evidence.
create or replace function bpm_core.insert_events(p_tenant_id text, p_events bpm_core.incoming_event[], p_now timestamptz)
returns uuid[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_new      uuid[];
  v_evidence bpm_core.incoming_event[];
begin
  with stored as (
    insert into bpm_core.event (tenant_id, id, channel, session_id, thread_id, provider_event_id, event_type, payload, content_hash, occurred_at, received_at, available_at)
    select distinct on (i.channel, i.session_id, i.provider_event_id)
           p_tenant_id, i.id, i.channel, i.session_id, i.thread_id, i.provider_event_id, i.event_type, i.payload, i.content_hash, i.occurred_at, p_now, p_now
      from unnest(p_events) i
     where i.outcome is null
     order by i.channel, i.session_id, i.provider_event_id, i.item
    on conflict do nothing
    returning id)
  select coalesce(array_agg(s.id), '{}') into v_new from stored s;
  v_evidence := array(select i from unnest(p_events) i where i.evidence is not null and i.outcome is null and i.id = any (v_new));
  if cardinality(v_evidence) > 0 then
    perform bpm_core.link_evidence(p_tenant_id, v_evidence);
  end if;
  if cardinality(v_new) > 0 then
    perform bpm_core.wake_sleepers('tick', p_tenant_id);
  end if;
  return v_new;
end
$$;
