-- Under the instance locks: what called instances and their callers have to tell each other.
-- Writes:   as the functions of each kind.
create or replace function bpm_core.apply_calls(p_tenant_id text, p_rows bpm_core.inbox[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  r_kind record;
begin
  for r_kind in select r.kind, array_agg(r) as some from unnest(p_rows) r group by r.kind order by r.kind loop
    case r_kind.kind
      when 'CallEnded' then
        perform bpm_core.apply_call_ends(p_tenant_id, r_kind.some);
      when 'CallFailed' then
        perform bpm_core.apply_call_failures(p_tenant_id, r_kind.some);
      when 'CallEscalated' then
        perform bpm_core.apply_call_escalations(p_tenant_id, r_kind.some);
      when 'Cancel' then
        perform bpm_core.cancel_called(p_tenant_id, r_kind.some);
    end case;
  end loop;
end
$$;
