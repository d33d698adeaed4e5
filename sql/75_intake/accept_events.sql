-- Accepts events as their providers sent them, each key (channel, session_id, provider_event_id) once; tick dispatches them by the rules.
-- Commit, then acknowledge to the provider; an error, a lost connection or a failed commit is never an acknowledgement: let the provider send again.
-- p_items: [{"channel", "provider_event_id", "type", "payload": {…}, "session_id", "thread_id", "occurred_at", "evidence": […]}], at most 1,000.
-- Returns:  one row per item: item (from 1), event_id, is_new (false: accepted before, the first answer), dispatch_state, outcome (Done; Conflict: the key was
--           used for another content; Rejected), message (why not).
-- Raises:   BP400 ill-formed items, BP403, BP429.
-- Writes:   event, evidence, event_evidence. Locks: the keys, by inserting them sorted; a concurrent caller with the same key is waited for.
-- Source:   tenant-scoped design, transaction cookbook, "Accept event".
create or replace function bpm.accept_events(p_items jsonb, p_tenant_id text default '')
returns table (item integer, event_id uuid, is_new boolean, dispatch_state text, outcome bpm.outcome, message text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set lock_timeout = '10s'
as $$
declare
  v_now    timestamptz := bpm_core.now();
  v_events bpm_core.incoming_event[];
  v_new    uuid[];
begin
  perform bpm_core.enter_call(p_tenant_id, 'worker');
  v_events := bpm_core.parse_events(p_items, v_now);
  v_new := bpm_core.insert_events(p_tenant_id, v_events, v_now);
  -- A statement after the insert, which may have waited for others with the same key: it sees what they committed.
  return query
  select i.item,
         case when i.outcome is null and e.content_hash = i.content_hash then e.id end,
         i.outcome is null and i.id = any (v_new),
         case when i.outcome is null and e.content_hash = i.content_hash then e.dispatch_state::text end,
         coalesce(i.outcome, case when e.content_hash = i.content_hash then 'Done' else 'Conflict' end::bpm.outcome),
         coalesce(i.message, case when e.content_hash <> i.content_hash
                                  then format('Event %s of channel %s was accepted with another content.', left(i.provider_event_id, 100), i.channel) end)
    from (select p_tenant_id as tenant_id, i.*,
                 hashtextextended(p_tenant_id || chr(31) || i.channel || chr(31) || i.session_id || chr(31) || i.provider_event_id, 7526) as key_hash
            from unnest(v_events) i
          offset 0) i
    left join lateral (
      select e.*
        from bpm_core.event e
       where hashtextextended(e.tenant_id || chr(31) || e.channel || chr(31) || e.session_id || chr(31) || e.provider_event_id, 7526) = i.key_hash
      offset 0) e
      on e.provider_event_id = i.provider_event_id and e.session_id = i.session_id and e.channel = i.channel and e.tenant_id = i.tenant_id
   order by i.item;
end
$$;
