-- Is this an item of a set-based command: an object with an id and a fencing token, and no keys but those known? Inlined into its caller.
-- Returns:  boolean.
create or replace function bpm_core.is_item(p_item jsonb, p_id_key text, p_keys text[])
returns boolean
language sql immutable parallel safe
as $$
  select case when jsonb_typeof(p_item) = 'object'
              then coalesce((p_item ->> p_id_key) ~* '^[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}$', false)
                   and coalesce(jsonb_typeof(p_item -> 'fencing_token') = 'number' and (p_item ->> 'fencing_token') ~ '^[0-9]{1,18}$', false)
                   and p_item - p_keys = '{}'
              else false end
$$;
