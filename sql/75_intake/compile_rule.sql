-- Compiles the expressions of a routing rule into it: condition, paths and mappings.
-- Returns:  the rule.
-- Raises:   BP422 one cannot be read, naming which.
create or replace function bpm_core.compile_rule(p_rule bpm_core.routing_rule, p_variables jsonb)
returns bpm_core.routing_rule
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_rule    bpm_core.routing_rule := p_rule;
  v_problem text;
  v_what    text;
begin
  if v_rule.condition_source is not null then
    select c.condition, c.tree, coalesce(c.problem, bpm_core.rule_root_problem(r.tree)) into v_rule.condition, v_rule.condition_tree, v_problem
      from bpm_core.compile_condition(v_rule.condition_source, null) c
     cross join lateral bpm_core.read_expression(v_rule.condition_source, null) r;
    v_what := 'condition';
  end if;
  if v_problem is null and v_rule.business_key_path is not null then
    select p.tree, p.problem into v_rule.business_key_tree, v_problem from bpm_core.rule_path(v_rule.business_key_path, false) p;
    v_what := 'business_key_path';
  end if;
  if v_problem is null and v_rule.correlation_path is not null then
    select p.tree, p.problem into v_rule.correlation_tree, v_problem from bpm_core.rule_path(v_rule.correlation_path, false) p;
    v_what := 'correlation_path';
  end if;
  if v_problem is null and p_variables is not null then
    select jsonb_agg(jsonb_build_object('target', m.target, 'source', m.source, 'tree', p.tree) order by m.target), min(m.target || ': ' || p.problem)
      into v_rule.variables, v_problem
      from jsonb_each_text(p_variables) m(target, source)
     cross join lateral bpm_core.rule_path(m.source, true) p;
    v_rule.variables := coalesce(v_rule.variables, '[]');
    v_what := 'variables';
  end if;
  if v_problem is not null then
    perform bpm_core.fail('BP422', format('The %s of the rule cannot be read: %s.', v_what, v_problem), jsonb_build_object('what', v_what, 'problem', v_problem),
      'Paths and expressions look at payload and event, for instance payload.order.id or ${event.type == "order.created"}.');
  end if;
  return v_rule;
end
$$;
