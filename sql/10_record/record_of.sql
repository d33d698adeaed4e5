-- What a result says for the record: its evidence and facts, and, where its worker wants it looked at first, that verdict and why.
-- Returns:  jsonb {evidence, facts}, and verdict and reasons where they are given; null when it says nothing. The verdict Accepted says nothing.
create or replace function bpm_core.record_of(p_evidence jsonb, p_facts jsonb, p_verdict jsonb default null, p_reasons jsonb default null)
returns jsonb
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  return nullif(jsonb_build_object('evidence', coalesce(nullif(p_evidence, 'null'), '[]'), 'facts', coalesce(nullif(p_facts, 'null'), '[]'))
                || case when p_verdict is null and p_reasons is null then '{}'
                        else jsonb_strip_nulls(jsonb_build_object('verdict', nullif(p_verdict, '"Accepted"'), 'reasons', p_reasons)) end,
                '{"evidence": [], "facts": []}');
end
$$;
