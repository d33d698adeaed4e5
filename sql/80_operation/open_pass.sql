-- Goes on with a pass of retention, or begins the next. One at a time in a tenant: whoever comes second is told so and goes.
-- Returns:  retention_pass; null: somebody else is at it.
-- Writes:   retention_pass. Locks: its row, skip locked, to the end of the transaction.
create or replace function bpm_core.open_pass(p_tenant_id text, p_kind text, p_now timestamptz)
returns bpm_core.retention_pass
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  r_pass bpm_core.retention_pass;
begin
  if not exists (select from bpm_core.retention_pass r where r.tenant_id = p_tenant_id and r.kind = p_kind) then
    insert into bpm_core.retention_pass (tenant_id, kind, began_at) values (p_tenant_id, p_kind, p_now) on conflict do nothing;
  end if;
  select r.* into r_pass from bpm_core.retention_pass r where r.tenant_id = p_tenant_id and r.kind = p_kind for no key update skip locked;
  if r_pass.tenant_id is null then
    return null;
  elsif r_pass.reached is null then
    r_pass.reached := '00000000-0000-0000-0000-000000000000';
    r_pass.began_at := p_now;
    r_pass.removed := 0;
    r_pass.kept := 0;
    r_pass.reasons := '{}';
    r_pass.oldest_kept := null;
  end if;
  return r_pass;
end
$$;
