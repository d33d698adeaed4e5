-- The keywords of JSON Schema that say what a value must be, as far as the engine checks them.
create or replace function bpm_core.schema_assertions()
returns text[]
language sql immutable parallel safe
as $$
  select array['type', 'enum', 'const', 'properties', 'required', 'additionalProperties', 'minProperties', 'maxProperties', 'items', 'prefixItems', 'minItems',
               'maxItems', 'uniqueItems', 'minLength', 'maxLength', 'pattern', 'minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf',
               'allOf', 'anyOf', 'oneOf', 'not', 'format', '$ref']
$$;
