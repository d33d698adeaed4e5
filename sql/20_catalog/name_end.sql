-- Where a FEEL name with spaces ends: before the first word that is none, or that means something between values.
-- Such a word is no part of a name: "x in y" read as one name would be missing, and so false, without a sound.
-- Returns:  integer, the token behind the name.
create or replace function bpm_core.name_end(p_tokens bpm_core.expression_token[], p_from integer)
returns integer
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_next integer := p_from;
begin
  while (p_tokens[v_next]).kind = 'name' loop
    exit when v_next > p_from and ((p_tokens[v_next]).value in ('in', 'between', 'then', 'else', 'satisfies', 'return')
                                   or ((p_tokens[v_next]).value = 'of' and (p_tokens[v_next - 1]).value = 'instance')
                                   or ((p_tokens[v_next]).value = 'defined' and (p_tokens[v_next - 1]).value = 'is' and (p_tokens[v_next + 1]).kind <> '('));
    v_next := v_next + 1;
  end loop;
  return v_next;
end
$$;
