-- Opens the message waits of tokens that came to rest at a catch event, under the locks of their keys; a message that arrived earlier
-- is on its way at once, through the inbox. No key to correlate by is an incident. A key that another call holds parks the token, for tick.
-- Writes:   subscription, message, inbox, history_event; token, incident.
create or replace function bpm_core.open_waits(p_resting bpm_core.moving[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now      timestamptz;
  v_waits    bpm_core.subscription[];
  v_keyless  bpm_core.trouble[];
  v_busy     bigint[];
begin
  if cardinality(p_resting) = 0 then
    return;
  end if;
  with wait as materialized (
    select r::bpm_core.moving as token, t.visit, n.message_name, n.correlation_path,
           case when n.correlation_path is null then p.business_key
                else bpm_core.correlation_key(n.correlation_path, p.variables || w.variables) end as correlation_key
      from unnest(p_resting) r
     cross join lateral (select t.visit, t.state, t.node_id from bpm_core.token t where t.tenant_id = r.tenant_id and t.id = r.token_id offset 0) t
     cross join lateral (select n.message_name, n.correlation_path from bpm_core.workflow_node n
                          where n.tenant_id = r.tenant_id and n.workflow_version_id = r.version_id and n.node_id = r.node_id offset 0) n
     cross join lateral (select w.process_instance_id, w.variables from bpm_core.workflow_instance w
                          where w.tenant_id = r.tenant_id and w.id = r.instance_id offset 0) w
     cross join lateral (select p.business_key, p.variables from bpm_core.process_instance p
                          where p.tenant_id = r.tenant_id and p.id = w.process_instance_id offset 0) p
     where t.state = 'Waiting' and t.node_id = r.node_id)
  select array_agg(row((w.token).tenant_id, bpm_core.new_id(), (w.token).instance_id, null, (w.token).token_id, w.visit, (w.token).node_id, 'Message',
                       w.message_name, w.correlation_key, 'Open', null)::bpm_core.subscription) filter (where w.correlation_key is not null),
         array_agg(row(w.token, 'CorrelationKeyMissing',
                       format('Message %s at %s: %s gives no key to correlate by.', w.message_name, (w.token).node_id,
                              coalesce('the expression ' || w.correlation_path, 'the instance has no business key and that')),
                       jsonb_build_object('message', w.message_name, 'path', w.correlation_path))::bpm_core.trouble)
           filter (where w.correlation_key is null)
    into v_waits, v_keyless
    from wait w;
  perform bpm_core.open_incidents(v_keyless);
  if v_waits is null then
    return;
  end if;
  v_busy := bpm_core.try_message_keys(array(select bpm_core.message_key_hash(w.tenant_id, w.name, w.correlation_key) from unnest(v_waits) w));
  if v_busy <> '{}' then
    v_waits := bpm_core.park_waits(p_resting, v_waits, v_busy);
  end if;
  v_now := bpm_core.now();
  insert into bpm_core.subscription (tenant_id, id, workflow_instance_id, token_id, visit, node_id, kind, name, correlation_key, created_at)
  select w.tenant_id, w.id, w.workflow_instance_id, w.token_id, w.visit, w.node_id, w.kind, w.name, w.correlation_key, v_now
    from unnest(v_waits) w;
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, to_state, detail)
  select w.tenant_id, w.workflow_instance_id, v_now, 'MessageAwaited', w.token_id, w.node_id, 'Waiting',
         jsonb_build_object('subscription', w.id, 'name', w.name, 'correlation_key', w.correlation_key)
    from unnest(v_waits) w;
  perform bpm_core.match_buffered(v_waits, v_now);
end
$$;
