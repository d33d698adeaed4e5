-- Opens message waits under the locks of their keys: of tokens at a catch event, of hosts with boundary events, of tokens at an event-based
-- gateway; a message that arrived earlier is on its way at once, through the inbox. A wait without a key to correlate by is an incident on its
-- token, a key that another call holds parks the token, for tick; what such a token offered already is closed.
-- Writes:   subscription, message, inbox, history_event; token, incident, and what close_waits writes.
create or replace function bpm_core.open_waits(p_waits bpm_core.moving[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_waits   bpm_core.subscription[];
  v_keyless bpm_core.trouble[];
  v_busy    bigint[];
begin
  with wait as materialized (
    select r::bpm_core.moving as token, t.visit, t.node_id as host_node_id, n.message_name, n.correlation_path,
           case when n.correlation_path is null then p.business_key
                else bpm_core.correlation_key(n.correlation_path, n.correlation, coalesce(w.inputs, p.variables) || w.variables || case when r.scope_id = bpm_core.root_scope() then '{}'
                                                               else bpm_core.scope_variables(r.tenant_id, r.scope_id) end) end as correlation_key
      from unnest(p_waits) r
     cross join lateral (select t.visit, t.state, t.node_id from bpm_core.token t where t.tenant_id = r.tenant_id and t.id = r.token_id offset 0) t
     cross join lateral (select n.message_name, n.correlation_path, n.element, n.expressions -> 'correlation' as correlation from bpm_core.workflow_node n
                          where n.tenant_id = r.tenant_id and n.workflow_version_id = r.version_id and n.node_id = r.node_id offset 0) n
     cross join lateral (select w.process_instance_id, w.inputs, w.variables from bpm_core.workflow_instance w
                          where w.tenant_id = r.tenant_id and w.id = r.instance_id offset 0) w
     cross join lateral (select p.business_key, p.variables from bpm_core.process_instance p
                          where p.tenant_id = r.tenant_id and p.id = w.process_instance_id offset 0) p
     -- An interrupting event sub-process may have begun in the same command: the others there are not waited for any more.
     where t.state = 'Waiting' and not (n.element = 'startEvent' and bpm_core.starts_closed(r.tenant_id, r.token_id, r.version_id)))
  select array_agg(row((w.token).tenant_id, bpm_core.new_id(), (w.token).instance_id, null, (w.token).token_id, w.visit, (w.token).node_id, 'Message',
                       w.message_name, w.correlation_key, 'Open', null, false, null)::bpm_core.subscription) filter (where w.correlation_key is not null),
         array_agg(row(row((w.token).tenant_id, (w.token).instance_id, (w.token).version_id, (w.token).scope_id, (w.token).token_id, w.host_node_id,
                           (w.token).flow_id, (w.token).kind)::bpm_core.moving, 'CorrelationKeyMissing',
                       format('Message %s at %s: %s gives no key to correlate by.', w.message_name, (w.token).node_id,
                              coalesce('the expression ' || w.correlation_path, 'the instance has no business key and that')),
                       jsonb_build_object('message', w.message_name, 'path', w.correlation_path))::bpm_core.trouble)
           filter (where w.correlation_key is null)
    into v_waits, v_keyless
    from wait w;
  if v_keyless is not null then
    perform bpm_core.close_waits(array(select x.token from unnest(v_keyless) x));
    perform bpm_core.open_incidents(v_keyless);
    v_waits := array(select w from unnest(v_waits) w where w.token_id <> all (array(select (x.token).token_id from unnest(v_keyless) x)));
  end if;
  v_busy := bpm_core.try_message_keys(array(select bpm_core.message_key_hash(w.tenant_id, w.name, w.correlation_key) from unnest(v_waits) w));
  if v_busy <> '{}' then
    v_waits := bpm_core.park_waits(v_waits, v_busy);
  end if;
  perform bpm_core.open_subscriptions(v_waits);
end
$$;
