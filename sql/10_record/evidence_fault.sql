-- Is this a list of evidence we take? Metadata of objects that lie elsewhere, or references to what is kept already: [{"object_key", "sha256", "mime",
-- "size_bytes", "occurred_at"} | {"evidence_id"}], at most 100. A key that carries a credential or a signed query is none: whoever may read the record
-- could use it.
-- Returns:  text, what is wrong; null when nothing is.
create or replace function bpm_core.evidence_fault(p_items jsonb)
returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  r_bad record;
begin
  if jsonb_typeof(p_items) is distinct from 'array' then
    return 'Evidence must be a JSON array.';
  elsif jsonb_array_length(p_items) > 100 then
    return format('%s pieces of evidence at once; at most 100.', jsonb_array_length(p_items));
  end if;
  select i.n, bpm_core.evidence_item_fault(i.item) as fault into r_bad
    from jsonb_array_elements(p_items) with ordinality i(item, n)
   where bpm_core.evidence_item_fault(i.item) is not null
   order by i.n
   limit 1;
  return 'Evidence ' || r_bad.n || ': ' || r_bad.fault;
end
$$;
