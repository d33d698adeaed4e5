-- What of ours is to be tied: one of the tables and columns that name what is the host's.
-- Returns:  identity_tie, without the host's table.
-- Raises:   BP400.
create or replace function bpm_core.check_tie(p_table text, p_columns text[], p_host_columns text[])
returns bpm_core.identity_tie
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_may text[] := case p_table when 'tenant' then array['tenant_id'] when 'session_scope_link' then array['tenant_id', 'channel', 'session_id', 'group_id'] end;
begin
  if v_may is null or coalesce(cardinality(p_columns), 0) = 0 or array_ndims(p_columns) <> 1 or not p_columns <@ v_may
     or cardinality(p_columns) <> (select count(distinct c) from unnest(p_columns) c) then
    perform bpm_core.fail('BP400', 'Only tenant (tenant_id) and session_scope_link (tenant_id, channel, session_id, group_id) can be tied, each column once.');
  elsif p_table = 'session_scope_link' and p_columns = '{tenant_id}' then
    perform bpm_core.fail('BP400', 'The tenants of sessions are those of tenant: tie that.');
  elsif cardinality(p_host_columns) is distinct from cardinality(p_columns) or array_ndims(p_host_columns) <> 1 or array_position(p_host_columns, null) is not null
        or cardinality(p_columns) <> (select count(distinct c) from unnest(p_host_columns) c) then
    perform bpm_core.fail('BP400', 'The host''s columns must be as many, each once.');
  end if;
  return row('host_' || (select string_agg(c, '_' order by c collate "C") from unnest(p_columns) c), ('bpm_core.' || p_table)::regclass,
             -- The tenant without a name is null there, and a null is not asked for.
             array_replace(p_columns, 'tenant_id', 'host_id'), null, p_host_columns, false)::bpm_core.identity_tie;
end
$$;
