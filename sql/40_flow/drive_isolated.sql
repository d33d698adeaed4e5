-- Drives arriving tokens inside the one subtransaction of a command (law 11): if it raises, half by half, and one that raises alone
-- becomes an incident where it arrived. What was accepted before (results, decisions) and the locks stay.
-- Raises:   what passes by itself or concerns the server, not the token: 40xxx, 55P03, 57xxx (cancelled, shut down), 53xxx (out of disk, memory),
--           58xxx (system error). The caller repeats the whole command.
create or replace function bpm_core.drive_isolated(p_arriving bpm_core.moving[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_count integer := coalesce(cardinality(p_arriving), 0);
  v_error text;
begin
  if v_count = 0 then
    return;
  end if;
  begin
    perform bpm_core.drive(p_arriving);
    return;
  exception
    when transaction_rollback or lock_not_available or operator_intervention or insufficient_resources or system_error then
      raise;
    when others then
      v_error := format('%s (%s)', sqlerrm, sqlstate);
  end;
  if v_count = 1 then
    perform bpm_core.open_incidents(array[row(p_arriving[1], 'AdvanceFailed', v_error, null)::bpm_core.trouble]);
    -- It stands somewhere else than before, so that an inclusive join may wait for it no longer.
    perform bpm_core.advance_isolated(bpm_core.fire_inclusive_joins(p_arriving));
  else
    -- Halving costs a logarithm of subtransactions when one token among many is bad.
    perform bpm_core.drive_isolated(p_arriving[ : v_count / 2]);
    perform bpm_core.drive_isolated(p_arriving[v_count / 2 + 1 : ]);
  end if;
end
$$;
