-- How many could still vote on an approval that names its approvers, the one it is or can be escalated to included.
-- Returns:  integer; null: nobody can count them, since anybody may, or whoever is in a group.
create or replace function bpm_core.approvers_left(p_approval bpm_core.approval_record)
returns integer
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_whole bpm_core.approval_record := p_approval;
begin
  if p_approval.approvers is null or p_approval.approver_groups is not null then
    return null;
  end if;
  v_whole.escalated_at := coalesce(p_approval.escalated_at, p_approval.escalate_at);
  return (
    select count(*)::integer
      from (select distinct n.name from unnest(p_approval.approvers || p_approval.escalate_to) n(name) where n.name is not null offset 0) n
     where bpm_core.approval_bar(v_whole, n.name, '{}') is null
       and not exists (select from bpm_core.approval_vote v
                        where v.tenant_id = p_approval.tenant_id and v.approval_id = p_approval.id and v.actor = n.name));
end
$$;
