-- Row level security: nobody is granted a table, but if somebody is, he sees the rows of the tenants he is granted and changes none.
begin;
select plan(18);

-- Every table, as the catalog lists them.
create temp view tables as
select c.oid, c.relname::text as name, c.relrowsecurity, c.relforcerowsecurity,
       exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'tenant_id' and a.attnum > 0 and not a.attisdropped) as has_tenants
  from pg_class c
 where c.relnamespace = 'bpm_core'::regnamespace and c.relkind in ('r', 'p');
select cmp_ok((select count(*) from tables where has_tenants), '>', 60::bigint, 'there are tables with tenants, partitions counted');
select is_empty('select name from tables where not relrowsecurity', 'every table has row level security');
select is_empty('select name from tables where relforcerowsecurity', 'and none forces it upon its owner, for whom every function runs');
select results_eq(
  $$select t.name, array_agg(y.polname::text || ' ' || y.polcmd::text) filter (where y.oid is not null)
      from tables t left join pg_policy y on y.polrelid = t.oid where t.has_tenants group by t.name
    having array_agg(y.polname::text || ' ' || y.polcmd::text) filter (where y.oid is not null) is distinct from '{visible_tenants r}' order by t.name$$,
  $$select null::text, null::text[] where false$$, 'each with tenants has the one policy, for reading');
select is_empty(
  $$select y.polrelid::regclass from pg_policy y join tables t on t.oid = y.polrelid
     where pg_get_expr(y.polqual, y.polrelid) not like '(tenant_id = ANY (ARRAY( SELECT bpm\_core.visible\_tenants() AS visible\_tenants)))'
        or y.polroles <> '{0}' or not y.polpermissive$$, 'the same everywhere');
select set_eq('select name from tables where not has_tenants', $$values ('setting'), ('tenant_grant'), ('token_transition'), ('schema_migrations'), ('test_clock')$$,
  'the tables without tenants are those known; they have no policy, so nobody sees a row');
select is_empty($$select * from bpm.check_invariants('') c where c.invariant = 'I-19'$$, 'the audit finds the same');

set local role bpm_owner;
create view bpm.made_of_two with (security_barrier) as
select s.tenant_id from bpm_core.signal s where s.tenant_id = any (array(select bpm_core.visible_tenants()))
union all
select m.tenant_id from bpm_core.message m where m.tenant_id = any (array(select bpm_core.visible_tenants()));
reset role;
select results_eq($$select c.subject, c.detail ->> 'union' from bpm.check_invariants('') c where c.invariant = 'I-19'$$,
  $$values ('view made_of_two', 'true')$$, 'a view that is a union at its top is no barrier, whatever its filters');
drop view bpm.made_of_two;

-- What is made later, by a database that may have been made last month.
select test.months_as_installed() \g /dev/null
create temp table before on commit drop as select name from tables;
select is((select count(*) from bpm.maintain_partitions(30) where action = 'Created'), 6::bigint, 'partitions are made');
select results_eq(
  $$select count(*), bool_and(t.relrowsecurity), bool_and(exists (select from pg_policy y where y.polrelid = t.oid and y.polname = 'visible_tenants'))
      from tables t where t.name not in (select b.name from before b)$$,
  'values (6::bigint, true, true)', 'with row level security');
set local role bpm_owner;
create table bpm_core.made_later (tenant_id text);
reset role;
select results_eq($$select c.subject, c.detail ->> 'row_security' from bpm.check_invariants('') c where c.invariant = 'I-19'$$,
  $$values ('table made_later', 'false')$$, 'a table made without is seen by the audit');
set local role bpm_owner;
select bpm_core.apply_grants();
reset role;
select is_empty($$select * from bpm.check_invariants('') c where c.invariant = 'I-19'$$, 'and put right with the grants');

-- Somebody was granted tables.
create role t_wall_table; create role t_wall_none; create role t_wall_other;
grant bpm_reader to t_wall_table, t_wall_none;
grant usage on schema bpm_core to t_wall_table, t_wall_none, t_wall_other;
grant all on all tables in schema bpm_core to t_wall_table, t_wall_none, t_wall_other;
select bpm.create_tenant('A', 'wall-a');
select bpm.create_tenant('B', 'wall-ab');
select bpm.grant_access('t_wall_table', 'wall-a', 'reader');
select bpm.deploy_bpmn(test.linear('line', 'a'), p_tenant_id => t.id) from (values ('wall-a'), ('wall-ab')) t(id) \g /dev/null
select bpm.start_process('line', p_tenant_id => t.id) from (values ('wall-a'), ('wall-ab')) t(id) \g /dev/null
-- What a role sees of every table: the tenants in it.
create function pg_temp.seen() returns table (name text, tenants text[]) language plpgsql as $$
declare r record;
begin
  for r in select c.relname, c.oid::regclass as t, exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'tenant_id') as has_tenants
             from pg_class c where c.relnamespace = 'bpm_core'::regnamespace and c.relkind in ('r', 'p')
  loop
    execute format(case when r.has_tenants then 'select array_agg(distinct tenant_id order by tenant_id) from %s'
                        else 'select case when count(*) > 0 then ''{every}''::text[] end from %s' end, r.t) into tenants;
    name := r.relname;
    if tenants is not null then return next; end if;
  end loop;
end $$;
set local role t_wall_table;
select results_eq('select distinct tenants from pg_temp.seen()', $$values ('{wall-a}'::text[])$$, 'it sees its tenant in every table, and no other');
select cmp_ok((select count(*) from pg_temp.seen()), '>', 8::bigint, 'there is something to see');
select throws_ok('insert into bpm_core.signal (tenant_id, id, name, sent_at) values (''wall-a'', gen_random_uuid(), ''x'', now())', '42501', null, 'it writes nothing');
select lives_ok($$do $do$ begin
  update bpm_core.task_instance set node_id = 'x'; assert not found; delete from bpm_core.token; assert not found; end $do$ $$, 'changes and deletes nothing');
set local row_security = off;
select throws_ok('select count(*) from bpm_core.token', '42501', null, 'and cannot switch it off');
set local row_security = on;
set local role t_wall_none;
select is_empty('select * from pg_temp.seen()', 'without a grant nothing is seen');

select * from finish();
rollback;
