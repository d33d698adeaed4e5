-- I-19: tenants apart, as far as the catalog can show it: every table has row level security, each with tenants the policy of their readers and no other, and
-- every public view is a barrier that asks for the tenants of its reader. A barrier that is a union at its top is none: PostgreSQL takes it apart, and asks
-- functions of the reader before filters inside of it. Looked at with the tenant without a name. The rest is proved by `make wall`.
-- Expressions are searched as stored, for the call and for what stands at their end: to print them takes ten times as long.
create or replace function bpm_core.invariant_i_19(p_tenant_id text)
returns setof bpm_core.violation
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return query
  select (bpm_core.violation_of('I-19', '', s.kind, s.name, s.rule, s.detail)).*
    from (
      select c.relname::text as name, 'table' as kind, 'a table without row level security or without its policy' as rule,
             jsonb_build_object('row_security', c.relrowsecurity, 'policies', p.names) as detail
        from pg_class c
       cross join lateral (
         select exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'tenant_id' and a.attnum > 0 and not a.attisdropped) as has_tenants) t
       cross join lateral (
         select array_agg(y.polname) as names, count(*) as policies,
                bool_and(y.polname = 'visible_tenants' and y.polcmd = 'r'
                         and y.polqual::text ~ (':funcid ' || 'bpm_core.visible_tenants()'::regprocedure::oid || ' ')) as fit
           from pg_policy y
          where y.polrelid = c.oid) p
       where c.relnamespace = 'bpm_core'::regnamespace and c.relkind in ('r', 'p')
         and (not c.relrowsecurity or p.policies <> t.has_tenants::integer or not p.fit)
      union all
      select c.relname::text, 'view', 'a public view that is no barrier, is a union at its top, or does not ask for the tenants of its reader',
             jsonb_build_object('options', c.reloptions, 'union', w.is_union)
        from pg_class c
       cross join lateral (
         select bool_or(right(r.ev_action::text, 300) not like '%:setOperations <> %') as is_union,
                bool_or(r.ev_action::text ~ (':funcid (' || 'bpm_core.visible_tenants()'::regprocedure::oid || '|'
                                             || 'bpm_core.administered_tenants()'::regprocedure::oid || ') ')) as asks
           from pg_rewrite r
          where r.ev_class = c.oid and r.ev_type = '1') w
       where c.relnamespace = 'bpm'::regnamespace and c.relkind in ('v', 'm') and c.relname <> 'schema_migration'
         and not (coalesce(c.reloptions && '{security_barrier=true,security_barrier=on}', false) and coalesce(w.asks and not w.is_union, false))) s
   where p_tenant_id = '';
end
$$;
