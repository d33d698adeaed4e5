-- What is wrong with one piece of evidence. Says nothing of the key it refuses: that may be the secret.
-- Returns:  text, null when nothing is.
create or replace function bpm_core.evidence_item_fault(p_item jsonb)
returns text
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select case
    when jsonb_typeof(p_item) <> 'object' then 'it must be an object.'
    when p_item ? 'evidence_id' then case
      when p_item - 'evidence_id' <> '{}' then 'beside evidence_id nothing else may be said.'
      when coalesce(p_item ->> 'evidence_id', '') !~* '^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$' then 'evidence_id must be a uuid.' end
    when p_item - '{object_key,sha256,mime,size_bytes,occurred_at}'::text[] <> '{}' then 'known keys are object_key, sha256, mime, size_bytes, occurred_at; or evidence_id.'
    when jsonb_typeof(p_item -> 'object_key') is distinct from 'string' or length(p_item ->> 'object_key') not between 1 and 1024
         or p_item ->> 'object_key' ~ '[[:cntrl:]]' then 'object_key must be a text of 1 to 1024 characters.'
    when p_item ->> 'object_key' ~* '^[a-z][a-z0-9+.-]*:/*[^/?#]*:[^/?#]*@' or p_item ->> 'object_key' ~* '^([a-z][a-z0-9+.-]*:)?//[^/?#]*@'
      then 'object_key carries a user name or password.'
    when p_item ->> 'object_key' ~* '^data:' then 'object_key carries the content itself.'
    -- Nobody knows every way to sign an address, so a query may name the version of the object and nothing else.
    when p_item ->> 'object_key' ~ '[?#;&].*=' and p_item ->> 'object_key' !~ '^[^?#;&]*\?(versionId|generation)=[A-Za-z0-9._~-]+$'
      then 'object_key carries a query or fragment; only versionId or generation may stand there.'
    when coalesce(p_item ->> 'sha256', '') !~* '^[0-9a-f]{64}$' then 'sha256 must be 64 hexadecimal digits.'
    when coalesce(jsonb_typeof(p_item -> 'mime'), 'null') not in ('string', 'null')
         or p_item ->> 'mime' !~* '^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$' then 'mime must be type/subtype.'
    when coalesce(jsonb_typeof(p_item -> 'size_bytes'), 'null') not in ('number', 'null') or p_item ->> 'size_bytes' !~ '^[0-9]{1,18}$'
      then 'size_bytes must be a whole number.'
    when coalesce(jsonb_typeof(p_item -> 'occurred_at'), 'null') not in ('string', 'null')
         or p_item ->> 'occurred_at' is not null and bpm_core.parse_timestamp(left(p_item ->> 'occurred_at', 100)) is null then 'occurred_at must be an ISO 8601 date or time.'
  end
$$;
