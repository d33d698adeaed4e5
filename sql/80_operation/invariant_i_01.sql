-- I-01: a token reaches a final state once and never leaves it. As history tells it.
create or replace function bpm_core.invariant_i_01(p_tenant_id text)
returns setof bpm_core.violation
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return query
  select (q.v).* from (
  select bpm_core.violation_of('I-01', s.tenant_id, 'token', s.token_id::text, 'a final token moved again',
           jsonb_build_object('seq', s.seq, 'kind', s.kind, 'was', s.before, 'became', s.state))
    from (select t.tenant_id, t.token_id, t.seq, t.kind, t.state, lag(t.state) over (partition by t.token_id order by t.seq) as before
            from bpm_core.token_step t
           where t.tenant_id = p_tenant_id) s
   where s.before in ('Completed', 'Terminated')
  ) q(v);
end
$$;
