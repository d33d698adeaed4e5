-- The words that stand for people by their part in a process: who started it, who did something in it before, whom a user task of it was handed on to.
create or replace function bpm_core.symbols()
returns text[]
language sql immutable parallel safe
as $$
  select array['requester', 'earlier_actors', 'delegates']
$$;
