-- Stops the tokens that would end a sub-process whose output mappings cannot be evaluated: an incident on the last of them, where it arrives, so that resolving
-- it tries the mappings again and nothing inside is done twice.
-- p_whatever_is_left: the scope ends although other tokens are in it (a terminate end). Returns: moving[], the tokens that may end.
-- Writes:   what open_incidents writes.
create or replace function bpm_core.hold_back_ends(p_arriving bpm_core.moving[], p_whatever_is_left boolean)
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_troubles bpm_core.trouble[];
begin
  v_troubles := array(
    select row(e.token, 'ExpressionUndecidable', format('Sub-process %s: %s.', s.node_id, m.problem), m.detail)::bpm_core.trouble
      from (select a.tenant_id, a.version_id, a.instance_id, a.scope_id, count(*) as tokens, (array_agg(a order by a.token_id desc))[1] as token
              from unnest(p_arriving) a
             where a.scope_id <> bpm_core.root_scope()
             group by a.tenant_id, a.version_id, a.instance_id, a.scope_id) e
     cross join lateral (select s.node_id, s.live_tokens, s.state from bpm_core.scope s where s.tenant_id = e.tenant_id and s.id = e.scope_id offset 0) s
     cross join lateral (select n.expressions -> 'outputs' as outputs from bpm_core.workflow_node n
                          where n.tenant_id = e.tenant_id and n.workflow_version_id = e.version_id and n.node_id = s.node_id offset 0) n
     cross join lateral bpm_core.token_variables(e.tenant_id, e.instance_id, e.scope_id) v
     cross join lateral (select m.mapped, m.problem, m.detail from bpm_core.map_values(n.outputs, v.variables) m
                          where n.outputs is not null and s.state = 'Open' and (p_whatever_is_left or s.live_tokens = e.tokens) offset 0) m
     where m.mapped is null);
  if cardinality(v_troubles) = 0 then
    return p_arriving;
  end if;
  perform bpm_core.open_incidents(v_troubles);
  return array(select a from unnest(p_arriving) a where a.token_id <> all (array(select (x.token).token_id from unnest(v_troubles) x)));
end
$$;
