-- Whether a token that can come over these flows keeps a join waiting: it can come over an empty one and over none that is filled.
create or replace function bpm_core.blocks_join(p_bits bit varying, p_filled bit varying)
returns boolean
language sql immutable parallel safe
as $$ select p_bits & p_filled = p_bits # p_bits and p_bits & ~p_filled <> p_bits # p_bits $$;
