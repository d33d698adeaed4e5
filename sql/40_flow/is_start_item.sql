-- Is this an item of start_processes? Inlined into its caller.
-- Returns:  boolean.
create or replace function bpm_core.is_start_item(p_item jsonb)
returns boolean
language sql immutable parallel safe
as $$
  select case when jsonb_typeof(p_item) = 'object'
              then jsonb_typeof(p_item -> 'code') is not distinct from 'string'
                   and p_item - '{code,variables,business_key,idempotency_key,version}'::text[] = '{}'
                   and coalesce(jsonb_typeof(p_item -> 'business_key'), 'null') in ('string', 'null')
                   and coalesce(jsonb_typeof(p_item -> 'idempotency_key'), 'null') in ('string', 'null')
                   and coalesce(length(p_item ->> 'business_key') between 1 and 300, true)
                   and coalesce(length(p_item ->> 'idempotency_key') between 1 and 300, true)
                   and coalesce((p_item -> 'version')::text, 'null') ~ '^([0-9]{1,9}|null)$'
              else false end
$$;
