-- Ties columns of ours to the table of the host application where they are at home, by a foreign key that is not yet validated: what is written from now on must be
-- there; what is there already is told in the report, for the host to complete, and then validated (validate_identity).
-- p_table, p_columns: tenant {tenant_id}; session_scope_link {session_id}, {channel,session_id}, {tenant_id,group_id}, … The tenant without a name is not
-- asked for. p_host_table: schema.table; p_host_columns: in the same order, texts, unique together, granted to bpm_owner and the caller (select, references).
-- Returns:  one row: identity (the constraint's name), is_new (false: the very same tie is there), missing (values that the host does not know yet).
-- Raises:   BP400 not a table or column that can be tied. BP403. BP404 no such table. BP409 those columns are tied to something else. BP422 the host's columns cannot be
--           referred to, and why, with what would help as the hint. BP503 one of the tables is locked by somebody else.
-- Writes:   a constraint, audit_event. Locks: both tables, share row exclusive: writers wait until the end of the transaction.
create or replace function bpm.attach_identity(
  p_table text, p_columns text[], p_host_table text, p_host_columns text[], p_actor text default null, p_tenant_id text default '')
returns table (identity text, is_new boolean, missing integer)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '5s'
as $$
declare
  v_tie   bpm_core.identity_tie;
  r_fault record;
begin
  perform bpm_core.enter_identity(p_tenant_id);
  p_actor := bpm_core.acting_as(p_tenant_id, p_actor);
  v_tie := bpm_core.check_tie(p_table, p_columns, p_host_columns);
  v_tie.host_table := bpm_core.host_table(p_host_table);
  is_new := not exists (select from bpm_core.identity_ties() t where t.identity = v_tie.identity);
  if not is_new and not exists (select from bpm_core.identity_ties() t
                                 where t.identity = v_tie.identity and t.columns = v_tie.columns and t.host_table = v_tie.host_table and t.host_columns = v_tie.host_columns) then
    perform bpm_core.fail('BP409', format('%s is tied to something else.', v_tie.identity), jsonb_build_object('identity', v_tie.identity),
      'See bpm.identity_report(); bpm.detach_identity unties it.');
  end if;
  select f.* into r_fault from bpm_core.host_columns_fault(v_tie.host_table, p_host_columns) f;
  if r_fault.fault is not null then
    perform bpm_core.fail('BP422', r_fault.fault, jsonb_build_object('table', v_tie.host_table::text, 'columns', p_host_columns), r_fault.hint);
  end if;
  if is_new then
    perform bpm_core.tie_identity(v_tie);
    perform bpm_core.write_audit(p_tenant_id, p_actor, 'AttachIdentity', 'identity', v_tie.identity, null, null,
      jsonb_build_object('columns', v_tie.columns, 'host_table', v_tie.host_table::text, 'host_columns', p_host_columns));
  end if;
  identity := v_tie.identity;
  missing := (bpm_core.missing_at_host(v_tie, 0)).missing;
  return next;
exception
  when lock_not_available then
    perform bpm_core.fail('BP503', 'One of the tables is locked by somebody else.', null, 'Try again; nothing was changed.');
end
$$;
