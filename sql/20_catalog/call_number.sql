-- Arithmetic, exact. Undecidable: a division by zero, numbers beyond 10^200, a power beyond 99.
create or replace function bpm_core.call_number(p_name text, p_args jsonb[])
returns jsonb
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_limit constant numeric := 1e200;
  v_a     numeric := p_args[1]::numeric;
  v_b     numeric := case when jsonb_typeof(p_args[2]) = 'number' then p_args[2]::numeric end;
begin
  if cardinality(p_args) > 1 and v_b is null then
    return null;
  elsif abs(v_a) > v_limit or abs(v_b) > v_limit or scale(v_a) > 200 or scale(v_b) > 200 then
    return null;
  elsif (p_name in ('divide', 'remainder', 'modulo') and v_b = 0) or (p_name = 'power' and (v_b <> trunc(v_b) or abs(v_b) > 99 or abs(v_a) > 1e20 or (v_a = 0 and v_b < 0)))
        or (p_name in ('round', 'decimal') and (v_b <> trunc(v_b) or abs(v_b) > 100)) then
    return null;
  elsif p_name in ('even', 'odd') then
    return to_jsonb((mod(v_a, 2) = 0) = (p_name = 'even'));
  end if;
  return to_jsonb(trim_scale(case p_name
    when 'plus' then v_a + v_b when 'add' then v_a + v_b when 'subtract' then v_a - v_b when 'multiply' then v_a * v_b when 'divide' then v_a / v_b
    when 'remainder' then mod(v_a, v_b) when 'modulo' then v_a - v_b * floor(v_a / v_b) when 'power' then v_a ^ v_b when 'negate' then -v_a
    when 'floor' then floor(v_a) when 'ceiling' then ceil(v_a) when 'abs' then abs(v_a) when 'number' then v_a
    when 'round' then round(v_a, coalesce(v_b::integer, 0)) when 'decimal' then bpm_core.round_half_even(v_a, v_b::integer) end));
end
$$;
