-- I-02: only moves listed in token_transition happen. History does not tell of the states Ready and Executing that a token passes through
-- within one command, so one of them may lie between two rows.
create or replace function bpm_core.invariant_i_02(p_tenant_id text)
returns setof bpm_core.violation
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return query
  select (q.v).* from (
  select bpm_core.violation_of('I-02', s.tenant_id, 'token', s.token_id::text, 'a move that is not listed',
           jsonb_build_object('seq', s.seq, 'kind', s.kind, 'from', s.before, 'to', s.state))
    from (select t.tenant_id, t.token_id, t.seq, t.kind, t.state, lag(t.state) over (partition by t.token_id order by t.seq) as before
            from bpm_core.token_step t
           where t.tenant_id = p_tenant_id) s
   where s.before not in ('Completed', 'Terminated')
     and s.before <> s.state
     and not exists (
       select from bpm_core.token_transition d where d.from_state::text = s.before and d.to_state::text = s.state)
     and not exists (
       select
         from bpm_core.token_transition d
         join bpm_core.token_transition e on e.from_state = d.to_state
        where d.from_state::text = s.before and d.to_state in ('Ready', 'Executing') and e.to_state::text = s.state)
  union all
  select bpm_core.violation_of('I-02', t.tenant_id, 'token', t.id::text, 'Executing outlived its command', jsonb_build_object('since', t.updated_at))
    from bpm_core.token t
   where t.tenant_id = p_tenant_id and t.state = 'Executing'
  ) q(v);
end
$$;
