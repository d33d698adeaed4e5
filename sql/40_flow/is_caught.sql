-- Whether somebody catches an error thrown at a token: in its instance, or where that was called.
create or replace function bpm_core.is_caught(p_token bpm_core.moving, p_code text)
returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  return (bpm_core.find_catch(p_token, 'ErrorBoundary', p_code)).node_id is not null or bpm_core.is_caught_by_caller(p_token, 'ErrorBoundary', p_code);
end
$$;
