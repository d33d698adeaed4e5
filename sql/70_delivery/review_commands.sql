-- Under the locks of their instances: goes on with commands whose review_at has come. Unknown ones are released to be sent again, as long as an
-- attempt ends within the receiver's memory of our key; released ones that nobody claimed in that time are Unknown for good.
-- Returns:  integer, how many.
-- Writes:   as move_commands.
create or replace function bpm_core.review_commands(p_tenant_id text, p_commands uuid[], p_now timestamptz)
returns integer
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_moves   bpm_core.command_move[];
  v_dropped integer;
begin
  -- A tick that came too late: the plan to send again is dropped, the state stays.
  update bpm_core.outbox o
     set review_at = null
    from (select p_tenant_id as tenant_id, i.id from unnest(p_commands) i(id) offset 0) i
   where o.tenant_id = i.tenant_id and o.id = i.id and o.state = 'Unknown' and o.review_at <= p_now
     and bpm_core.resend_until(o.first_sent_at, o.destination_snapshot) <= p_now;
  get diagnostics v_dropped = row_count;
  v_moves := array(
    select row(o.id, case when o.state = 'Unknown' then 'Pending' else 'Unknown' end, true, null, null, null,
               jsonb_build_object('reason', case when o.state = 'Unknown' then 'Resend' else 'RetentionOver' end),
               interval '0', null, o.attempt, null)::bpm_core.command_move
      from (select p_tenant_id as tenant_id, i.id from unnest(p_commands) i(id) offset 0) i
      join bpm_core.outbox o on o.tenant_id = i.tenant_id and o.id = i.id
     where o.state in ('Unknown', 'Pending') and o.review_at <= p_now);
  perform bpm_core.move_commands(p_tenant_id, v_moves);
  return cardinality(v_moves) + v_dropped;
end
$$;
