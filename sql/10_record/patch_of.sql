-- What a row of history did to the variables of its workflow: the patch, without the keys that a sub-process kept for itself.
-- Returns:  jsonb; null: nothing.
create or replace function bpm_core.patch_of(p_kind bpm_core.history_kind, p_detail jsonb)
returns jsonb
language sql immutable parallel safe
as $$
  select case
           when p_kind not in ('TaskCompleted', 'ErrorThrown', 'MessageReceived', 'SignalReceived', 'VariablesSet', 'CallCompleted', 'NodeSkipped', 'ScopeCompleted')
             then null
           when p_detail ? 'local' then (p_detail -> 'variables') - array(select jsonb_array_elements_text(p_detail -> 'local'))
           else p_detail -> 'variables' end
$$;
