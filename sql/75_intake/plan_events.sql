-- What the rules say of events: of the rules for its type and channel, those of the highest priority at which one is true; in the order of their codes.
-- A condition, key or mapping there that cannot be decided makes the event wait (law 6); so does a rule that asks a person or an outside router.
-- Ignore beside other actions adds nothing.
-- Returns:  event_plan[]: with actions, or with a reason (NoRule, Undecidable, AskHuman, Outside) and the values seen.
create or replace function bpm_core.plan_events(p_tenant_id text, p_events bpm_core.event[])
returns bpm_core.event_plan[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  return array(
    select case
             when x.rules is null then row(e, 'NoRule', null, null, null, null, null)::bpm_core.event_plan
             when x.problems is not null
               then row(e, 'Undecidable', jsonb_build_object('rules', x.rules, 'problems', x.problems), null, null, null, null)::bpm_core.event_plan
             when x.asks is not null
               then row(e, x.asks, jsonb_strip_nulls(jsonb_build_object('rules', x.rules, 'question', x.note, 'proposal', x.actions)), null, null, null, null)::bpm_core.event_plan
             else row(e, null, null, coalesce(x.actions, '[{"action": "Ignore"}]'), x.rules, 'rules', coalesce(x.note, 'rule ' || x.rules[1]))::bpm_core.event_plan end
      from unnest(p_events) e
     cross join lateral bpm_core.event_context(e) c(context)
     cross join lateral (
       select array_agg((y.rule).code order by (y.rule).code) as rules,
              jsonb_agg(coalesce(f.problem, jsonb_build_object(
                'rule', (y.rule).code, 'what', 'condition', 'expression', (y.rule).condition_source,
                'seen', bpm_core.describe_condition((y.rule).condition_source, c.context))))
                filter (where y.verdict is null or f.problem is not null) as problems,
              min((y.rule).action) filter (where (y.rule).action in ('AskHuman', 'Outside')) as asks,
              jsonb_agg(f.action order by (y.rule).code) filter (where (y.rule).action not in ('Ignore', 'AskHuman', 'Outside')) as actions,
              string_agg((y.rule).reason, '; ' order by (y.rule).code) as note
         from (
           select r.rule, v.verdict, dense_rank() over (order by (r.rule).priority desc) as level
             from (select r as rule
                     from bpm_core.routing_rule r
                    where hashtextextended(r.tenant_id || chr(31) || r.event_type, 7526) = any (array(
                            select hashtextextended(p_tenant_id || chr(31) || t.pattern, 7526) from unnest(bpm_core.type_patterns(e.event_type)) t(pattern)))
                   offset 0) r
            cross join lateral (
              select case when (r.rule).condition is not null then jsonb_path_match(c.context, (r.rule).condition, '{}', true)
                          when (r.rule).condition_tree is not null then bpm_core.evaluate_condition((r.rule).condition_tree, c.context)
                          else true end) v(verdict)
            where (r.rule).tenant_id = p_tenant_id and coalesce((r.rule).channel = e.channel, true) and v.verdict is not false) y
        cross join lateral bpm_core.form_action(y.rule, c.context) f
        where y.level = 1) x);
end
$$;
