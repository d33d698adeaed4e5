-- Refuses bindings that have faults.
-- Raises:   BP422 with all of them in the detail, the first in the message.
create or replace function bpm_core.refuse_bindings(p_code text, p_drafts bpm_core.draft_binding[])
returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_faults jsonb := (
    select jsonb_agg(jsonb_build_object('code', f.code, 'binding_key', f.binding_key, 'message', f.message) order by f.binding_key, f.code, f.message)
      from bpm_core.binding_faults(p_drafts) f);
begin
  if v_faults is not null then
    perform bpm_core.fail('BP422', format('Process %L was not published. Binding %L, %s: %s', p_code, v_faults #>> '{0,binding_key}', v_faults #>> '{0,code}', v_faults #>> '{0,message}'),
      jsonb_build_object('faults', v_faults), 'The detail lists every fault.');
  end if;
end
$$;
