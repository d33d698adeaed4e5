-- I-19: tenants apart, as far as data can show it: every table has row level security, each with tenants the policy of their readers and no other, and every
-- public view is a barrier that asks for the tenants of its reader. Looked at with the tenant without a name. The rest is proved by `make wall`.
create or replace function bpm_core.invariant_i_19(p_tenant_id text)
returns setof bpm_core.violation
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select (bpm_core.violation_of('I-19', '', case when s.is_view then 'view' else 'table' end, s.name, s.rule, s.detail)).*
    from (
      select c.relname::text as name, false as is_view, 'a table without row level security or without its policy' as rule,
             jsonb_build_object('row_security', c.relrowsecurity, 'policies', p.policies) as detail
        from pg_class c
       cross join lateral (
         select exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'tenant_id' and a.attnum > 0 and not a.attisdropped) as has_tenants) t
       cross join lateral (
         select array(select format('%s %s: %s', y.polname, y.polcmd, pg_get_expr(y.polqual, y.polrelid)) from pg_policy y where y.polrelid = c.oid) as policies) p
       where c.relnamespace = 'bpm_core'::regnamespace and c.relkind in ('r', 'p')
         and (not c.relrowsecurity
              or cardinality(p.policies) <> t.has_tenants::integer
              or t.has_tenants and p.policies[1] not like 'visible\_tenants r: %bpm\_core.visible\_tenants()%')
      union all
      select c.relname::text, true, 'a public view that is no barrier or does not ask for the tenants of its reader', jsonb_build_object('options', c.reloptions)
        from pg_class c
       where c.relnamespace = 'bpm'::regnamespace and c.relkind in ('v', 'm') and c.relname <> 'schema_migration'
         and not (coalesce(c.reloptions && '{security_barrier=true,security_barrier=on}', false) and pg_get_viewdef(c.oid) ~ '(visible|administered)_tenants\(\)')) s
   where p_tenant_id = ''
$$;
