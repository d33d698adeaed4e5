-- Approvals and commands whose state history does not tell of: the last row about each must lead to where it is.
-- Returns:  rows (tenant_id, kind, id, seen).
create or replace function bpm_core.unrecorded_decisions(p_tenant_id text)
returns table (tenant_id text, kind text, id text, seen jsonb)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return query
  with since as materialized (
    select bpm_core.history_since() as at),
  told as materialized (
    select h.detail ->> 'approval' as approval_id, h.detail ->> 'command' as command_id, h.kind = 'ApprovalApplied' as effect,
           (array_agg(h.to_state order by h.seq desc))[1] as to_state
      from bpm_core.history_event h
     where h.tenant_id = p_tenant_id
       and h.kind in ('ApprovalRequested', 'ApprovalDecided', 'ApprovalClosed', 'ApprovalApplied', 'CommandWritten', 'CommandSent', 'CommandFailed',
                      'CommandUnknown', 'CommandRetried', 'CommandCancelled', 'CommandReconciled')
     group by 1, 2, 3)
  select p_tenant_id, 'approval', a.id::text, jsonb_build_object('status', a.status, 'effect', a.effect, 'told', s.to_state, 'told_effect', e.to_state)
    from bpm_core.approval_record a
   cross join since n
    left join told s on s.approval_id = a.id::text and not s.effect
    left join told e on e.approval_id = a.id::text and e.effect
   where a.tenant_id = p_tenant_id and a.created_at >= n.at
     and (s.to_state is distinct from a.status::text or coalesce(e.to_state, 'Pending') <> a.effect::text)
  union all
  -- Claims write no history, so a command on its way was Pending before.
  select p_tenant_id, 'command', o.command_id::text, jsonb_build_object('state', o.state, 'told', s.to_state)
    from bpm_core.outbox o
   cross join since n
    left join told s on s.command_id = o.command_id::text
   where o.tenant_id = p_tenant_id and o.created_at >= n.at
     and s.to_state is not null and s.to_state <> case o.state when 'Sending' then 'Pending' when 'Reconciling' then 'Unknown' else o.state::text end;
end
$$;
