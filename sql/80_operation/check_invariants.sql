-- The engine audits itself: every invariant, every violating row. Reads whole tables; all in one snapshot, so that it may run beside work.
-- Without nested loops: everything is read anyway, and where statistics are missing the planner would walk the whole tenant once per row.
-- What it calls is PL/pgSQL: planning costs most where there is little, and a session that audits again and again does it once.
-- Returns:  rows (invariant, tenant_id, subject, detail with the rule and the values seen); none when all is well.
-- Raises:   BP403.
create or replace function bpm.check_invariants(p_tenant_id text default '')
returns table (invariant text, tenant_id text, subject text, detail jsonb)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set enable_nestloop = off
set jit = off
set work_mem = '32MB'
as $$
begin
  perform bpm_core.enter_call(p_tenant_id, 'reader');
  return query
  select v.* from bpm_core.invariant_i_01(p_tenant_id) v
  union all select v.* from bpm_core.invariant_i_02(p_tenant_id) v
  union all select v.* from bpm_core.invariant_i_03(p_tenant_id) v
  union all select v.* from bpm_core.invariant_i_04(p_tenant_id) v
  union all select v.* from bpm_core.invariant_i_06(p_tenant_id) v
  union all select v.* from bpm_core.invariant_i_07(p_tenant_id) v
  union all select v.* from bpm_core.invariant_i_08(p_tenant_id) v
  union all select v.* from bpm_core.invariant_i_09(p_tenant_id) v
  union all select v.* from bpm_core.invariant_i_10(p_tenant_id) v
  union all select v.* from bpm_core.invariant_i_11(p_tenant_id) v
  union all select v.* from bpm_core.invariant_i_12(p_tenant_id) v
  union all select v.* from bpm_core.invariant_i_13(p_tenant_id) v
  union all select v.* from bpm_core.invariant_i_14(p_tenant_id) v
  union all select v.* from bpm_core.invariant_i_15(p_tenant_id) v
  union all select v.* from bpm_core.invariant_i_16(p_tenant_id) v
  union all select v.* from bpm_core.invariant_i_17(p_tenant_id) v
  union all select v.* from bpm_core.invariant_i_18(p_tenant_id) v
  union all select v.* from bpm_core.invariant_i_19(p_tenant_id) v
  union all select v.* from bpm_core.invariant_i_21(p_tenant_id) v
  union all select v.* from bpm_core.invariant_i_22(p_tenant_id) v
  union all select v.* from bpm_core.invariant_i_23(p_tenant_id) v
  union all select v.* from bpm_core.invariant_i_24(p_tenant_id) v
  union all select v.* from bpm_core.invariant_i_25(p_tenant_id) v
  union all select v.* from bpm_core.invariant_i_27(p_tenant_id) v
  union all select v.* from bpm_core.invariant_i_28(p_tenant_id) v
  union all select v.* from bpm_core.invariant_i_29(p_tenant_id) v;
end
$$;
