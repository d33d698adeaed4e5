-- And, or and if: three-valued, and no further than needed. What is undecidable stays so, unless another side decides alone.
create or replace function bpm_core.evaluate_choice(p_tree jsonb, p_variables jsonb, p_locals jsonb, p_budget integer)
returns jsonb
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_op      constant text := p_tree ->> 'op';
  v_args    constant jsonb := p_tree -> 'args';
  v_verdict boolean;
  v_unsure  boolean := false;
begin
  if v_op = 'if' then
    v_verdict := bpm_core.truth(v_args -> 0, bpm_core.evaluate_tree(v_args -> 0, p_variables, p_locals, p_budget));
    return case when v_verdict is not null then bpm_core.evaluate_tree(v_args -> case when v_verdict then 1 else 2 end, p_variables, p_locals, p_budget) end;
  end if;
  for v_i in 0 .. jsonb_array_length(v_args) - 1 loop
    v_verdict := bpm_core.truth(v_args -> v_i, bpm_core.evaluate_tree(v_args -> v_i, p_variables, p_locals, p_budget));
    if v_verdict = (v_op = 'or') then
      return to_jsonb(v_verdict);
    end if;
    v_unsure := v_unsure or v_verdict is null;
  end loop;
  return case when not v_unsure then to_jsonb(v_op = 'and') end;
end
$$;
