-- The least identifier that can have been drawn at a time (new_id): what was made before it sorts before it.
-- Returns:  uuid; null for a time of before 1970 or none.
create or replace function bpm_core.id_at(p_at timestamptz)
returns uuid
language sql immutable parallel safe
as $$
  select (left(h.hex, 12) || '7' || right(h.hex, 3) || '8000000000000000')::uuid
    from (select lpad(to_hex((extract(epoch from p_at) * 65536000)::bigint), 16, '0') as hex) h
   where p_at >= '1970-01-01Z' and p_at < 'infinity'
$$;
