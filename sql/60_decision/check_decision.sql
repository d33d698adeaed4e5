-- The arguments of a decision.
-- Raises:   BP422 decision, note or evidence out of range.
create or replace function bpm_core.check_decision(p_decision text, p_note text, p_evidence jsonb)
returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_decision is null or p_decision not in ('Approved', 'Rejected') then
    perform bpm_core.fail('BP422', format('%s is no decision.', coalesce(quote_literal(p_decision), 'null')),
      jsonb_build_object('decision', p_decision), 'Decide Approved or Rejected.');
  elsif length(p_note) > 4000 then
    perform bpm_core.fail('BP422', format('The note has %s characters; at most 4000.', length(p_note)), jsonb_build_object('length', length(p_note)));
  elsif p_evidence is not null and bpm_core.evidence_fault(p_evidence) is not null then
    perform bpm_core.fail('BP422', bpm_core.evidence_fault(p_evidence));
  end if;
end
$$;
