-- Does the text of variables (their small_text) say that they need no closer look? For callers that need the text anyway; else is_plain.
-- A number that is kept in a few bytes may be a text that common JSON readers refuse (over 4,300 digits); then nobody could read the claim.
-- Inlined into its caller, and in few words: each of them is made ready with every call.
-- Returns:  boolean. What is not true says only that variables_fault and decode_variables have to look.
create or replace function bpm_core.looks_plain(p_variables jsonb, p_text text)
returns boolean
language sql stable parallel safe
as $$
  select strpos(p_text, '"__') = 0 and (length(p_text) <= 4000 or bpm_core.is_plain_large(p_variables))
$$;
