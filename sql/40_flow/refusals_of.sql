-- What speaks against a migration, for the detail of its refusal.
-- Returns:  jsonb array, at most 100; null: nothing.
create or replace function bpm_core.refusals_of(p_items bpm_core.migration_item[])
returns jsonb
language sql immutable
as $$
  select jsonb_agg(jsonb_build_object('item', i.kind, 'id', coalesce(i.id, i.token_id), 'node', coalesce(i.node_id, i.to_node_id), 'code', i.code, 'message', i.message))
    from (select i.* from unnest(p_items) i where i.code is not null order by i.kind, i.node_id, i.id limit 100) i
$$;
