-- I-22: migrations were applied each once and in order, without a gap. Looked at with the tenant without a name; nothing where there is no ledger.
create or replace function bpm_core.invariant_i_22(p_tenant_id text)
returns setof bpm_core.violation
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_ledger regclass := to_regclass('bpm_core.schema_migrations');
begin
  if p_tenant_id <> '' or v_ledger is null then
    return;
  end if;
  return query execute format($ledger$
    select (bpm_core.violation_of('I-22', '', 'migration', m.version::text, 'a version is missing before it, or it was applied before an earlier one',
              jsonb_build_object('name', m.name, 'place', m.place, 'applied_at', m.applied_at, 'before', m.before))).*
      from (select s.version, s.name, s.applied_at, row_number() over (order by s.version) as place,
                   lag(s.applied_at) over (order by s.version) as before
              from %s s) m
     where m.version <> m.place or m.applied_at < m.before
  $ledger$, v_ledger);
end
$$;
