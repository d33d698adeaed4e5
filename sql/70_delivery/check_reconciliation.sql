-- The arguments of a reconciliation.
-- Raises:   BP422 outcome, receipt or reason out of range.
create or replace function bpm_core.check_reconciliation(p_outcome text, p_receipt jsonb, p_reason text)
returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_outcome is null or p_outcome not in ('Sent', 'Failed', 'Resend', 'Manual') then
    perform bpm_core.fail('BP422', format('%s is no outcome of a reconciliation.', coalesce(quote_literal(p_outcome), 'null')),
      jsonb_build_object('outcome', p_outcome), 'Say Sent, Failed, Resend or Manual.');
  elsif octet_length(p_receipt::text) > 65536 then
    perform bpm_core.fail('BP422', format('The receipt has %s bytes; at most 65536.', octet_length(p_receipt::text)),
      jsonb_build_object('bytes', octet_length(p_receipt::text)));
  elsif length(p_reason) > 4000 then
    perform bpm_core.fail('BP422', format('The reason has %s characters; at most 4000.', length(p_reason)),
      jsonb_build_object('length', length(p_reason)));
  end if;
end
$$;
