-- Advances a set of tokens inside the one subtransaction of a command (law 11): if it raises, the tokens advance one by one,
-- and one that raises alone becomes an incident. What was accepted before (results, decisions) and the locks stay.
-- Raises:   40P01, 40001, 55P03 as they come: the caller repeats the whole command.
create or replace function bpm_core.advance_isolated(p_leaving bpm_core.moving[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_error text;
begin
  if cardinality(p_leaving) = 0 then
    return;
  end if;
  begin
    perform bpm_core.advance(p_leaving);
    return;
  exception
    when deadlock_detected or serialization_failure or lock_not_available or query_canceled then
      raise;
    when others then
      v_error := format('%s (%s)', sqlerrm, sqlstate);
  end;
  if cardinality(p_leaving) = 1 then
    perform bpm_core.open_incidents(array[row(p_leaving[1], 'AdvanceFailed', v_error, null)::bpm_core.trouble]);
    return;
  end if;
  -- Halve, so that one bad token among thousands costs a logarithm and not a subtransaction per token.
  perform bpm_core.advance_isolated(p_leaving[1 : cardinality(p_leaving) / 2]);
  perform bpm_core.advance_isolated(p_leaving[cardinality(p_leaving) / 2 + 1 : ]);
end
$$;
