-- Privileges are what bpm_core.function_grant says, and nothing besides.
begin;
select plan(26);

-- The clock of the test kit is no part of the product.
create temp view product as
select p.oid, p.proname, p.prosecdef, p.proowner, p.proconfig, p.proargnames, p.provolatile, p.prolang
  from pg_proc p
 where p.pronamespace = 'bpm'::regnamespace and p.proname not in ('set_clock', 'advance_clock', 'reset_clock');

select is_empty($$select proname from product except select function_name from bpm_core.function_grant$$, 'every public function is in the list');
select is_empty($$select function_name from bpm_core.function_grant except select proname from product$$, 'every entry of the list is a public function');
select is_empty($$select function_name from bpm_core.function_grant group by 1 having count(*) > 1$$, 'no function is listed twice');
select is_empty(
  $$select p.oid::regprocedure, r.role
      from product p
      join bpm_core.function_grant g on g.function_name = p.proname
     cross join lateral (values ('bpm_reader', g.reader), ('bpm_worker', g.worker), ('bpm_operator', g.operator), ('bpm_admin', true)) r(role, may)
     where has_function_privilege(r.role, p.oid, 'execute') <> r.may$$,
  'each role may call what the list says, and nothing else');
select is_empty(
  $$select p.oid::regprocedure
      from pg_proc p
     cross join lateral aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
     where p.pronamespace in ('bpm'::regnamespace, 'bpm_core'::regnamespace) and a.grantee = 0$$,
  'PUBLIC may call no function of either schema');
select set_eq(
  $$select distinct p.proname::text
      from pg_proc p
     cross join (values ('bpm_reader'), ('bpm_worker'), ('bpm_operator'), ('bpm_admin')) r(role)
     where p.pronamespace = 'bpm_core'::regnamespace and has_function_privilege(r.role, p.oid, 'execute')$$,
  $$values ('administered_tenants'), ('visible_tenants')$$, 'of the private functions the roles may call those that views need');
select is_empty(
  $$select c.oid::regclass, r.role
      from pg_class c
     cross join (values ('bpm_reader'), ('bpm_worker'), ('bpm_operator'), ('bpm_admin'), ('public')) r(role)
     where c.relnamespace = 'bpm_core'::regnamespace and c.relkind in ('r', 'p', 'v', 'm')
       and has_table_privilege(r.role, c.oid, 'select, insert, update, delete, truncate, references, trigger')$$,
  'nobody but the owner touches the private tables');
select is_empty(
  $$select c.oid::regclass, r.role
      from pg_class c
     cross join (values ('bpm_reader'), ('bpm_worker'), ('bpm_operator'), ('bpm_admin'), ('public')) r(role)
     where c.relnamespace = 'bpm_core'::regnamespace and c.relkind = 'S' and has_sequence_privilege(r.role, c.oid, 'usage, select, update')$$,
  'nor the sequences');
select is_empty(
  $$select c.oid::regclass, r.role
      from pg_class c
     cross join (values ('bpm_reader'), ('bpm_worker'), ('bpm_operator'), ('bpm_admin')) r(role)
     where c.relnamespace = 'bpm'::regnamespace and c.relkind = 'v'
       and (not has_table_privilege(r.role, c.oid, 'select')
            or has_table_privilege(r.role, c.oid, 'insert, update, delete, truncate, references, trigger'))$$,
  'the four roles read the public views, and only read them');
select is_empty(
  $$select s.nspname, r.role
      from pg_namespace s
     cross join (values ('bpm_reader', true), ('bpm_worker', true), ('bpm_operator', true), ('bpm_admin', true), ('public', false)) r(role, may)
     where s.nspname in ('bpm', 'bpm_core')
       and (has_schema_privilege(r.role, s.oid, 'usage') <> (r.may and s.nspname = 'bpm') or has_schema_privilege(r.role, s.oid, 'create'))$$,
  'the four roles use schema bpm, nobody uses bpm_core, nobody creates in either');

-- What is made later is closed, too.
set local role bpm_owner;
create function bpm.made_later() returns integer language sql as 'select 1';
reset role;
select ok(not has_function_privilege('public', 'bpm.made_later()', 'execute'), 'a function made later is not open to PUBLIC');
drop function bpm.made_later();

select set_eq(
  $$select d.defaclobjtype::text, d.defaclacl::text from pg_default_acl d where d.defaclrole = 'bpm_owner'::regrole and d.defaclnamespace = 0$$,
  $$values ('f', '{bpm_owner=X/bpm_owner}')$$, 'the owner''s defaults give functions to nobody, and say nothing else');
set local role bpm_owner;
create table bpm_core.made_later (id integer);
create view bpm.made_later as select 1 as one;
create sequence bpm_core.made_later_seq;
reset role;
select is_empty(
  $$select c.oid::regclass, r.role
      from pg_class c
     cross join (values ('bpm_reader'), ('bpm_worker'), ('bpm_operator'), ('bpm_admin'), ('public')) r(role)
     where c.relname in ('made_later', 'made_later_seq')
       and case c.relkind when 'S' then has_sequence_privilege(r.role, c.oid, 'usage, select, update')
                          else has_table_privilege(r.role, c.oid, 'select, insert, update, delete, truncate, references, trigger') end$$,
  'nor is a table, a view or a sequence made later');
drop table bpm_core.made_later;
drop view bpm.made_later;
drop sequence bpm_core.made_later_seq;

select is_empty(
  $$select t.oid::regtype, r.role
      from pg_type t
     cross join (values ('bpm_reader'), ('bpm_worker'), ('bpm_operator'), ('bpm_admin'), ('public')) r(role)
     where t.typnamespace = 'bpm'::regnamespace and t.typtype in ('e', 'd', 'r') and has_type_privilege(r.role, t.oid, 'usage') <> true$$,
  'everybody may use the public types');
select is_empty(
  $$select a.attrelid::regclass, a.attname from pg_attribute a join pg_class c on c.oid = a.attrelid
     where c.relnamespace in ('bpm'::regnamespace, 'bpm_core'::regnamespace) and a.attacl is not null$$,
  'no privilege on a single column');
select is_empty(
  $$select o.oid, o.kind
      from (select c.oid, c.relkind::text as kind, c.relowner as owner from pg_class c where c.relnamespace in ('bpm'::regnamespace, 'bpm_core'::regnamespace)
            union all select t.oid, 'type', t.typowner from pg_type t where t.typnamespace in ('bpm'::regnamespace, 'bpm_core'::regnamespace)
            union all select p.oid, 'function', p.proowner from pg_proc p where p.pronamespace = 'bpm_core'::regnamespace
            union all select n.oid, 'schema', n.nspowner from pg_namespace n where n.nspname in ('bpm', 'bpm_core')) o
     where o.owner <> 'bpm_owner'::regrole$$,
  'everything belongs to bpm_owner');
select is_empty(
  $$select a.grantor::regrole, a.grantee::regrole, c.oid::regclass
      from pg_class c cross join lateral aclexplode(c.relacl) a
     where c.relnamespace in ('bpm'::regnamespace, 'bpm_core'::regnamespace) and a.is_grantable and a.grantee <> c.relowner$$,
  'nobody may hand on what he was granted');
select set_eq(
  $$select r.rolname::text, r.rolcanlogin, r.rolsuper or r.rolbypassrls or r.rolcreaterole or r.rolcreatedb or r.rolreplication
      from pg_roles r where r.rolname in ('bpm_owner', 'bpm_reader', 'bpm_worker', 'bpm_operator', 'bpm_admin') order by r.rolname collate "C"$$,
  $$values ('bpm_admin', false, false), ('bpm_operator', false, false), ('bpm_owner', false, false), ('bpm_reader', false, false), ('bpm_worker', false, false)$$,
  'the five roles do not log in, and are nothing special to the server');

-- How public and private functions are made.
select is_empty($$select oid::regprocedure from product where not prosecdef or proowner <> 'bpm_owner'::regrole$$,
  'every public function runs with the rights of bpm_owner');
select is_empty(
  $$select p.oid::regprocedure from pg_proc p
     where p.pronamespace in ('bpm'::regnamespace, 'bpm_core'::regnamespace) and p.prosecdef
       and not coalesce(p.proconfig @> '{"search_path=pg_catalog, pg_temp"}', false)$$,
  'and pins its search_path, as whatever runs with the rights of its owner: pg_temp is looked at last');
select is_empty(
  $$select oid::regprocedure from product
     where proname not in ('api_version', 'tenants_in_turn', 'tenants_with_work')
       and pg_get_function_arguments(oid) !~ '(^|, )p_tenant_id text DEFAULT ''''::text(, OUT .*)?$'$$,
  'and takes p_tenant_id last, '''' by default');
select is_empty(
  $$select p.oid::regprocedure from pg_proc p
     where p.pronamespace = 'bpm_core'::regnamespace and (p.prosecdef and p.proname not in ('visible_tenants', 'administered_tenants') or p.proowner <> 'bpm_owner'::regrole)$$,
  'every private function runs with the rights of its caller');
select is_empty(
  $$select p.oid::regprocedure
      from pg_proc p
      join pg_language l on l.oid = p.prolang
     where p.pronamespace = 'bpm_core'::regnamespace and l.lanname = 'plpgsql'
       and not coalesce(p.proconfig @> '{"search_path=pg_catalog, pg_temp"}', false)$$,
  'every private PL/pgSQL function pins its search_path');
select is_empty(
  $$select oid::regprocedure from product
     where provolatile = 'v' and proname ~ '^(get_|check_|ready|metrics|replay|api_version|tenants_in_turn|tenants_with_work|next_due)'$$,
  'what only looks is not volatile');

-- Views
select is_empty(
  $$select c.oid::regclass from pg_class c
     where c.relnamespace = 'bpm'::regnamespace and c.relkind = 'v' and c.relname <> 'schema_migration'
       and not (coalesce(c.reloptions @> '{security_barrier=true}', false) and c.relowner = 'bpm_owner'::regrole
                and pg_get_viewdef(c.oid) ~ '(visible|administered)_tenants\(\)')$$,
  'every public view is a security barrier of bpm_owner and asks for the tenants of its reader');
select set_eq(
  $$select c.relname::text from pg_class c where c.relnamespace = 'bpm'::regnamespace and c.relkind = 'v' and c.relname <> 'schema_migration'$$,
  $$values
    ('tenant'), ('access'),
    ('definition'), ('process_binding'), ('workflow_version'), ('workflow_task'), ('task_version'), ('role_version'),
    ('history'), ('evidence'), ('subject'), ('fact'), ('session_link'),
    ('instance'), ('workflow'), ('timer'), ('start_event'), ('message'), ('signal'), ('incident'), ('compensation'),
    ('task'), ('task_quota'), ('execution'), ('result'), ('dead_letter'),
    ('approval'), ('approval_vote'), ('task_comment'), ('review'),
    ('command'), ('unknown_command'), ('destination'),
    ('approval'),
    ('command'), ('unknown_command'), ('destination'), ('domain_event'), ('event_subscription'),
    ('event'), ('task_evidence'), ('event_link'), ('routing_rule'), ('routing_decision'), ('business_case')$$,
  'the public views are those promised');

select * from finish();
rollback;
