-- The evidence an item of accept_events brings along.
-- Returns:  evidence, the list or null; fault, what is wrong with it; hashes, those of the objects in order, which are part of the event's content:
--           providers that send an event again may have put the same object under another key.
create or replace function bpm_core.event_evidence_of(p_evidence jsonb, out evidence jsonb, out fault text, out hashes text)
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  evidence := nullif(nullif(p_evidence, 'null'), '[]');
  hashes := '';
  if evidence is null then
    return;
  end if;
  fault := case when evidence @? '$[*].evidence_id' then 'What an event brings along is new: name it by object_key and sha256, not by evidence_id.'
                else bpm_core.evidence_fault(evidence) end;
  if fault is null then
    hashes := (select string_agg(lower(x.item ->> 'sha256'), ',' order by lower(x.item ->> 'sha256')) from jsonb_array_elements(evidence) x(item));
  end if;
end
$$;
