-- A number with p_scale digits after the point; what lies in the middle goes to the even neighbour, as FEEL's decimal says.
create or replace function bpm_core.round_half_even(p_number numeric, p_scale integer)
returns numeric
language sql immutable parallel safe
as $$
  select case when abs(p_number - trunc(p_number, p_scale)) * 2 = 10::numeric ^ (-p_scale) and mod(trunc(p_number, p_scale) * 10::numeric ^ p_scale, 2) = 0
              then trunc(p_number, p_scale) else round(p_number, p_scale) end
$$;
