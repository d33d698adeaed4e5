-- Which symbol does this name look like: in other letters or signs, but for up to two letters side by side, or another engine's word for it? A rule that
-- took Requester for a person would exclude nobody, and nobody would notice.
-- Returns:  text, the symbol; null: none, or it is written person:NAME.
create or replace function bpm_core.near_symbol(p_name text)
returns text
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
  select s.symbol
    from (select regexp_replace(lower(p_name), '[^a-z]', '', 'g')) n(plain)
   cross join unnest(bpm_core.symbols()) s(symbol)
   cross join lateral (select replace(s.symbol, '_', '') as plain) w
   cross join lateral (
     select coalesce(max(k) filter (where left(n.plain, k) = left(w.plain, k)), 0) as before
       from generate_series(1, least(length(n.plain), length(w.plain))) k) b
   cross join lateral (
     select coalesce(max(k) filter (where right(n.plain, k) = right(w.plain, k)), 0) as after
       from generate_series(1, least(length(n.plain), length(w.plain)) - b.before) k) a
   where not starts_with(p_name, 'person:')
     and (b.before + a.after >= greatest(length(n.plain), length(w.plain)) - 2
          or s.symbol = 'requester' and n.plain in ('initiator', 'starter', 'startedby', 'requestedby')
          or s.symbol = 'earlier_actors' and n.plain in ('actor', 'actors', 'earlier'))
   limit 1
$$;
