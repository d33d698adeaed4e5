-- I-14: replay of history gives the live state: every token, where it stands, in which state; and the variables, patch by patch, also those that
-- workflows of several passed to their process.
create or replace function bpm_core.invariant_i_14(p_tenant_id text)
returns setof bpm_core.violation
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return query
  select (q.v).* from (
  select bpm_core.violation_of('I-14', p_tenant_id, 'token', coalesce(k.id, r.token_id)::text, 'history tells otherwise',
           jsonb_build_object('node', k.node_id, 'state', k.state, 'replayed_node', r.node_id, 'replayed_state', r.state))
    from (select k.id, k.node_id, k.state
            from bpm_core.token k
            join bpm_core.workflow_instance w on w.tenant_id = k.tenant_id and w.id = k.workflow_instance_id
           where k.tenant_id = p_tenant_id and w.created_at >= (select bpm_core.history_since())) k
    full join (select r.token_id, r.node_id, r.state
                 from bpm_core.replay_tokens(p_tenant_id, null, null) r
                 join bpm_core.workflow_instance w on w.tenant_id = p_tenant_id and w.id = r.workflow_instance_id
                where w.created_at >= (select bpm_core.history_since())) r on r.token_id = k.id
   where k.node_id is distinct from r.node_id or k.state::text is distinct from r.state
  union all
  select bpm_core.violation_of('I-14', p_tenant_id, 'workflow_instance', w.id::text, 'its variables are not what the patches make',
           jsonb_build_object('names', (
             select jsonb_agg(coalesce(l.key, r.key))
               from jsonb_each(w.variables) l
               full join jsonb_each(coalesce(p.variables, '{}')) r on r.key = l.key
              where l.value is distinct from r.value)))
    from bpm_core.workflow_instance w
    left join (select h.workflow_instance_id, bpm_core.jsonb_merge(bpm_core.patch_of(h.kind, h.detail) order by h.seq) as variables
                 from bpm_core.history_event h
                where h.tenant_id = p_tenant_id and h.detail ? 'variables'
                group by h.workflow_instance_id) p on p.workflow_instance_id = w.id
   where w.tenant_id = p_tenant_id and w.created_at >= (select bpm_core.history_since())
     and w.variables <> coalesce(p.variables, '{}')
  union all
  select bpm_core.violation_of(b.invariant, p_tenant_id, b.kind, b.id, b.rule, b.seen)
    from bpm_core.broken_bindings(p_tenant_id) b where b.invariant = 'I-14'
  ) q(v);
end
$$;
