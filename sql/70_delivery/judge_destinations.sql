-- What attempts say of their destinations: failures in a row open the breaker, an answer closes it. Healthy destinations are only read.
-- Attempts told of together count as one row only if none was answered: in which order they ended is not known.
-- A failure: nothing left, or nobody knows, or the receiver's error; not what was wrong with the one command (detail.local).
-- Writes:   destination_gate. Locks: destination_gate, in order, last of all.
create or replace function bpm_core.judge_destinations(p_tenant_id text, p_moves bpm_core.command_move[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  r_told record;
begin
  for r_told in
    with told as materialized (
      select o.destination_id, bool_or(m.reported not in ('NotSent', 'Unknown', 'ReceiverError')) as answered, count(*)::integer as reports,
             (array_agg(m.detail))[1] as last_error
        from (select p_tenant_id as tenant_id, m.* from unnest(p_moves) m offset 0) m
        join bpm_core.outbox o on o.tenant_id = m.tenant_id and o.id = m.outbox_id
       where m.reported is not null and m.detail -> 'local' is distinct from 'true'
       group by o.destination_id)
    select t.destination_id, t.answered, case when t.answered then 0 else t.reports end as failures,
           case when not t.answered then t.last_error end as last_error
      from told t
      left join lateral (select g.state, g.failures from bpm_core.destination_gate g
                          where g.tenant_id = p_tenant_id and g.destination_id = t.destination_id offset 0) g on true
     where not t.answered or g.failures > 0 or g.state <> 'Closed'
     order by t.destination_id
  loop
    perform bpm_core.turn_gate(p_tenant_id, r_told.destination_id, r_told.failures, r_told.answered, r_told.last_error);
  end loop;
end
$$;
