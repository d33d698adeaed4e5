-- What is wrong with a keyword of a JSON Schema and its value; schemas inside it are judged on their own.
-- Returns:  text, which goes on after the keyword's name; null when nothing is.
create or replace function bpm_core.keyword_problem(p_keyword text, p_value jsonb, p_is_root boolean, p_root jsonb)
returns text
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select case
    when p_keyword in ('title', 'description', '$comment') then case when jsonb_typeof(p_value) <> 'string' then 'must be a text' end
    when p_keyword in ('default', 'examples', 'deprecated', 'readOnly', 'writeOnly', 'const', 'additionalProperties', 'not') then null
    when p_keyword = '$schema' then
      case when not p_is_root or p_value #>> '{}' !~ '^https://json-schema.org/draft/2020-12/schema#?$' then 'can only name draft 2020-12, at the root' end
    when p_keyword = 'type' then
      case when not (jsonb_typeof(p_value) in ('string', 'array') and p_value <> '[]'
                     and not exists (select from jsonb_path_query(p_value, '$[*]') t where t not in ('"null"', '"boolean"', '"integer"', '"number"', '"string"', '"array"', '"object"')))
           then 'must be null, boolean, integer, number, string, array or object, or an array of these' end
    when p_keyword = 'enum' then case when jsonb_typeof(p_value) <> 'array' or p_value = '[]' then 'must be an array that is not empty' end
    when p_keyword in ('properties', '$defs') then
      case when jsonb_typeof(p_value) <> 'object' then 'must be an object' when p_keyword = '$defs' and not p_is_root then 'can only stand at the root' end
    when p_keyword = 'required' then
      case when jsonb_typeof(p_value) <> 'array' or exists (select from jsonb_array_elements(case jsonb_typeof(p_value) when 'array' then p_value else '[]' end) e where jsonb_typeof(e) <> 'string')
           then 'must be an array of texts' end
    when p_keyword in ('prefixItems', 'allOf', 'anyOf', 'oneOf') then case when jsonb_typeof(p_value) <> 'array' or p_value = '[]' then 'must be an array that is not empty' end
    when p_keyword = 'items' then case when jsonb_typeof(p_value) = 'array' then 'must be one schema; for one per place there is prefixItems' end
    when p_keyword in ('minItems', 'maxItems', 'minLength', 'maxLength', 'minProperties', 'maxProperties') then
      case when jsonb_typeof(p_value) <> 'number' or not p_value @? '$ ? (@ >= 0 && @ <= 1000000000 && @.floor() == @)' then 'must be a whole number from 0 to 1,000,000,000' end
    when p_keyword = 'uniqueItems' then case when jsonb_typeof(p_value) <> 'boolean' then 'must be true or false' end
    when p_keyword in ('minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum') then
      case when jsonb_typeof(p_value) <> 'number' then 'must be a number' end
    when p_keyword = 'multipleOf' then
      case when jsonb_typeof(p_value) <> 'number' or not p_value @? '$ ? (@ >= 0.000000000001 && @ <= 1000000000000)' then 'must be a number from 10^-12 to 10^12' end
    when p_keyword = 'pattern' then
      case when jsonb_typeof(p_value) <> 'string' then 'must be a text' when not bpm_core.is_pattern(p_value #>> '{}')
           then 'is no regular expression of the part that is checked: literals, ., classes, \d \w, groups, |, ^, $, * + ? {n,m}' end
    when p_keyword = 'format' then case when p_value <> '"encrypted"' then 'can only be encrypted; use pattern for the shape of a text' end
    when p_keyword = '$ref' then
      case when p_value #>> '{}' is distinct from '#' and not coalesce(p_value #>> '{}' ~ '^#/\$defs/[A-Za-z0-9._-]+$' and p_root -> '$defs' ? substr(p_value #>> '{}', 9), false)
           then 'can only be "#" or "#/$defs/" and a name that is there, of letters, digits, dots, dashes and underscores' end
    else 'is not checked, so it is refused' end
$$;
