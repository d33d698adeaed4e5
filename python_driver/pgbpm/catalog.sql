-- The schema in a canonical form: one row per fact, the same text for the same schema however it came about.
-- Left out: the ledger of migrations, the partitions of the history, what belongs to an extension, the order of
-- columns in tables. Run with search_path = pg_catalog, so that every other name is written out in full.
-- Returns: kind, name, definition, position (order of creation, for dependencies).
with
  ns as (
    select n.oid, n.nspname, n.nspowner, n.nspacl
      from pg_namespace n
     where n.nspname in ('bpm', 'bpm_core')
  ),
  extension_member as (
    select d.classid, d.objid from pg_depend d where d.deptype = 'e'
  ),
  rel as (
    select c.*, format('%I.%I', ns.nspname, c.relname) as name
      from pg_class c
      join ns on ns.oid = c.relnamespace
     where format('%I.%I', ns.nspname, c.relname) not in ('bpm_core.schema_migrations', 'bpm.schema_migration')
       and not exists (
             select from pg_partition_ancestors(c.oid) a(relid)
              where c.relispartition and a.relid = to_regclass('bpm_core.history_event'))
       and not (c.relkind in ('i', 'I') and c.relispartition)
       and not exists (
             select from pg_index i
              where i.indexrelid = c.oid and i.indrelid = to_regclass('bpm_core.schema_migrations'))
       and not exists (select from extension_member e where e.classid = 'pg_class'::regclass and e.objid = c.oid)
  ),
  fun as (
    select p.*, p.oid::regprocedure::text as name
      from pg_proc p
      join ns on ns.oid = p.pronamespace
     where not exists (select from extension_member e where e.classid = 'pg_proc'::regclass and e.objid = p.oid)
  ),
  typ as (
    select t.*, t.oid::regtype::text as name
      from pg_type t
      join ns on ns.oid = t.typnamespace
     where (t.typtype in ('e', 'd', 'r')
            or t.typtype = 'c' and exists (select from rel c where c.oid = t.typrelid and c.relkind = 'c'))
       and not exists (select from extension_member e where e.classid = 'pg_type'::regclass and e.objid = t.oid)
  ),
  con as (
    select o.*, coalesce(c.name, t.name) || '.' || quote_ident(o.conname) as name
      from pg_constraint o
      left join rel c on c.oid = o.conrelid and o.conrelid <> 0
      left join typ t on t.oid = o.contypid and o.contypid <> 0
     where (c.oid is not null or t.oid is not null)
       and o.conparentid = 0
  ),
  object as (  -- everything that has an owner and privileges
    select 'schema' as class, quote_ident(s.nspname) as name, s.nspowner as owner,
           coalesce(s.nspacl, acldefault('n', s.nspowner)) as acl
      from ns s
    union all
    select case c.relkind when 'S' then 'sequence' else 'table' end, c.name, c.relowner,
           coalesce(c.relacl, acldefault(case c.relkind when 'S' then 's'::"char" else 'r'::"char" end, c.relowner))
      from rel c
     where c.relkind in ('r', 'p', 'v', 'm', 'S')
    union all
    select case f.prokind when 'p' then 'procedure' else 'function' end, f.name, f.proowner,
           coalesce(f.proacl, acldefault('f', f.proowner))
      from fun f
    union all
    select 'type', t.name, t.typowner, coalesce(t.typacl, acldefault('T', t.typowner))
      from typ t
  )
select 'type' as kind, t.name,
       case t.typtype
         when 'e' then (select 'enum ' || string_agg(quote_literal(e.enumlabel), ', ' order by e.enumsortorder)
                          from pg_enum e where e.enumtypid = t.oid)
         when 'c' then (select 'composite ' || string_agg(format('%I %s', a.attname, format_type(a.atttypid, a.atttypmod)),
                                                          ', ' order by a.attnum)
                          from pg_attribute a where a.attrelid = t.typrelid and a.attnum > 0 and not a.attisdropped)
         when 'd' then format('domain %s %s %s', format_type(t.typbasetype, t.typtypmod),
                              case when t.typnotnull then 'not null' end, t.typdefault)
         else 'range'
       end as definition, t.oid::bigint as position
  from typ t
union all
select case c.relkind when 'S' then 'sequence' else 'table' end, c.name,
       concat_ws(' · ', case c.relkind when 'p' then 'partitioned ' || pg_get_partkeydef(c.oid) end,
                 case c.relpersistence when 'u' then 'unlogged' end,
                 case when c.relrowsecurity then 'row security' end,
                 case when c.relforcerowsecurity then 'forced' end,
                 (select string_agg(o, ', ' order by o) from unnest(c.reloptions) o),
                 (select format('%s from %s by %s, %s to %s, cache %s%s', format_type(s.seqtypid, null), s.seqstart,
                                s.seqincrement, s.seqmin, s.seqmax, s.seqcache, case when s.seqcycle then ', cycle' end)
                    from pg_sequence s where s.seqrelid = c.oid)),
       c.oid::bigint
  from rel c
 where c.relkind in ('r', 'p', 'S')
union all
select 'column', c.name || '.' || quote_ident(a.attname),
       concat_ws(' ', format_type(a.atttypid, a.atttypmod),
                 case when a.attcollation <> t.typcollation then 'collate ' || a.attcollation::regcollation::text end,
                 case when a.attnotnull then 'not null' end,
                 case a.attgenerated when 's' then 'generated ' when 'v' then 'virtual ' else 'default ' end
                   || pg_get_expr(d.adbin, d.adrelid),
                 case a.attidentity when 'a' then 'identity always' when 'd' then 'identity by default' end,
                 case when a.attstorage <> t.typstorage then 'storage ' || a.attstorage::text end,
                 case when a.attcompression <> '' then 'compression ' || a.attcompression::text end),
       c.oid::bigint
  from rel c
  join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
  join pg_type t on t.oid = a.atttypid
  left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
 where c.relkind in ('r', 'p')
union all
select 'constraint', o.name, pg_get_constraintdef(o.oid), o.oid::bigint
  from con o
union all
select 'index', c.name, pg_get_indexdef(c.oid) || case when i.indisvalid then '' else ' invalid' end, c.oid::bigint
  from rel c
  join pg_index i on i.indexrelid = c.oid
union all
select 'view', c.name,
       coalesce('with (' || (select string_agg(o, ', ' order by o) from unnest(c.reloptions) o) || ') ', '')
         || 'as' || chr(10) || pg_get_viewdef(c.oid),
       c.oid::bigint
  from rel c
 where c.relkind = 'v'
union all
select 'materialized view', c.name, pg_get_viewdef(c.oid), c.oid::bigint
  from rel c
 where c.relkind = 'm'
union all
select 'function', f.name, pg_get_functiondef(f.oid), f.oid::bigint
  from fun f
 where f.prokind in ('f', 'p', 'w')
union all
select 'function shape', f.name, concat_ws(' → ', pg_get_function_arguments(f.oid), pg_get_function_result(f.oid)), f.oid::bigint
  from fun f
 where f.prokind in ('f', 'p', 'w')
union all
select 'aggregate', f.name, concat_ws(' ', a.aggtransfn, a.aggfinalfn, a.aggtranstype::regtype, a.agginitval), f.oid::bigint
  from fun f
  join pg_aggregate a on a.aggfnoid = f.oid
union all
select 'policy', format('%s.%I', c.name, p.polname),
       concat_ws(' ', case when p.polpermissive then 'permissive' else 'restrictive' end, p.polcmd,
                 (select string_agg(coalesce(r.rolname, 'public'), ', ' order by r.rolname)
                    from unnest(p.polroles) x(oid) left join pg_roles r on r.oid = x.oid),
                 'using ' || pg_get_expr(p.polqual, p.polrelid), 'check ' || pg_get_expr(p.polwithcheck, p.polrelid)),
       p.oid::bigint
  from pg_policy p
  join rel c on c.oid = p.polrelid
union all
select 'trigger', format('%s.%I', c.name, t.tgname), pg_get_triggerdef(t.oid), t.oid::bigint
  from pg_trigger t
  join rel c on c.oid = t.tgrelid
 where not t.tgisinternal
union all
select 'statistics', x.stxname::text, pg_get_statisticsobjdef(x.oid), x.oid::bigint
  from pg_statistic_ext x
  join rel c on c.oid = x.stxrelid
union all
select 'owner', o.class || ' ' || o.name, pg_get_userbyid(o.owner)::text, 0
  from object o
union all
select 'privileges', o.class || ' ' || o.name,
       (select string_agg(distinct format('%s to %s%s', lower(x.privilege_type),
                                          case x.grantee when 0 then 'public' else quote_ident(pg_get_userbyid(x.grantee)) end,
                                          case when x.is_grantable then ' with grant option' end), '; ')
          from aclexplode(o.acl) x
         where x.grantee <> o.owner), 0
  from object o
union all
select 'column privileges', c.name || '.' || quote_ident(a.attname),
       (select string_agg(format('%s to %s', lower(x.privilege_type), quote_ident(pg_get_userbyid(x.grantee))), '; '
                          order by x.privilege_type, x.grantee)
          from aclexplode(a.attacl) x), 0
  from rel c
  join pg_attribute a on a.attrelid = c.oid and a.attacl is not null
union all
select 'default privileges', format('%s in %s on %s', pg_get_userbyid(d.defaclrole), coalesce(n.nspname, 'all schemas'), d.defaclobjtype),
       (select string_agg(format('%s to %s', lower(x.privilege_type),
                                 case x.grantee when 0 then 'public' else pg_get_userbyid(x.grantee)::text end), '; '
                          order by x.privilege_type, x.grantee::text)
          from aclexplode(d.defaclacl) x), 0
  from pg_default_acl d
  left join pg_namespace n on n.oid = d.defaclnamespace
 where pg_get_userbyid(d.defaclrole) like 'bpm%'
union all
select 'comment', x.what, x.text, 0
  from (
    select case c.relkind when 'v' then 'view ' when 'S' then 'sequence ' when 'i' then 'index ' when 'I' then 'index '
                          when 'c' then 'type ' else 'table ' end || c.name, d.description
      from rel c
      join pg_description d on d.classoid = 'pg_class'::regclass and d.objoid = c.oid and d.objsubid = 0
    union all
    select 'column ' || c.name || '.' || quote_ident(a.attname), d.description
      from rel c
      join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
      join pg_description d on d.classoid = 'pg_class'::regclass and d.objoid = c.oid and d.objsubid = a.attnum
    union all
    select case f.prokind when 'p' then 'procedure ' else 'function ' end || f.name, d.description
      from fun f
      join pg_description d on d.classoid = 'pg_proc'::regclass and d.objoid = f.oid
    union all
    select 'type ' || t.name, d.description
      from typ t
      join pg_description d on d.classoid = 'pg_type'::regclass and d.objoid = t.oid
    union all
    select 'schema ' || s.nspname, d.description
      from ns s
      join pg_description d on d.classoid = 'pg_namespace'::regclass and d.objoid = s.oid
  ) x(what, text)
order by 1, 4, 2
