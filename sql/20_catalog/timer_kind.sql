-- Which kind of timer a rule is: a timeCycle holds a repeating interval or a cron rule, and the text of an expression says which only at run time.
create or replace function bpm_core.timer_kind(p_kind text, p_rule text)
returns text
language sql immutable parallel safe
as $$ select case when p_kind = 'Cycle' and p_rule !~ '^\s*R(-?\d+)?/' then 'Cron' else p_kind end $$;
