-- bpm.attach_identity, identity_report, validate_identity, detach_identity: a host of ten tables, in part without the rows we know of; reported, completed, validated.
begin;
select plan(67);

-- The host application
create schema "Host App";
create table "Host App".accounts (code text primary key, name text);
create table "Host App"."User Sessions" (account text not null, "Session ""Id""" varchar(80) not null, started timestamptz, primary key ("Session ""Id""", account));
create table "Host App".chats (channel text not null, sid text not null, unique (channel, sid) include (sid));
create table "Host App".groups (account text not null, gid text not null, primary key (account, gid)) partition by list (account);
create table "Host App".groups_rest partition of "Host App".groups default;
create table "Host App".members (id uuid primary key);
create table "Host App".loose (code text, active boolean);
create unique index on "Host App".loose (code) where active;
create domain "Host App".short as varchar(50);
create table "Host App".shops (code "Host App".short collate "C" unique);
create collation "Host App".careless (provider = icu, locale = 'und-u-ks-level1', deterministic = false);
create table "Host App".careless (code text collate "Host App".careless primary key);
create table "Host App".hidden (code text primary key);
create table "Host App".secret (code text primary key);
create view "Host App".seen as select a.code from "Host App".accounts a;
alter table "Host App".hidden enable row level security;
grant usage on schema "Host App" to bpm_owner;
grant select, references on all tables in schema "Host App" to bpm_owner;
revoke all on "Host App".secret from bpm_owner;
create temp table tenants_i_made_up (code text primary key);

-- What the engine knows
select bpm.create_tenant(upper(t), t) from unnest('{a,b,c}'::text[]) t \g /dev/null
select bpm.link_session('chat', 's' || n, 'g' || n % 2, 'Session ' || n, t) from unnest('{"",a,b}'::text[]) t, generate_series(1, 3) n \g /dev/null
insert into "Host App".accounts values ('a'), ('z');
insert into "Host App"."User Sessions" values ('a', 's1'), ('a', 's2'), ('a', 's3'), ('b', 's1');
insert into "Host App".chats values ('chat', 's1'), ('mail', 's2');
insert into "Host App".groups values ('a', 'g0'), ('a', 'g1'), ('b', 'g1');

create function pg_temp.attach(p_table text, p_columns text[], p_host text, p_host_columns text[]) returns jsonb language sql as
$$ select jsonb_build_array(a.identity, a.is_new, a.missing) from bpm.attach_identity(p_table, p_columns, p_host, p_host_columns) a $$;
create function pg_temp.said(p_sql text) returns text language plpgsql as $$
declare
  v_hint text;
begin
  execute p_sql;
  return 'done';
exception when others then
  get stacked diagnostics v_hint = pg_exception_hint;
  return sqlstate || ' ' || sqlerrm || coalesce(' ' || nullif(v_hint, ''), '');
end $$;
create function pg_temp.try(p_table text, p_columns text, p_host text, p_host_columns text) returns text language sql as
$$ select pg_temp.said(format('select * from bpm.attach_identity(%L, %L, %L, %L)', p_table, p_columns, p_host, p_host_columns)) $$;

-- Sessions: links, before anything is tied
select is((select array_agg(l.session_id || l.channel || l.group_id || l.display_name order by l.session_id) from bpm.session_link l where l.tenant_id = 'a'), '{s1chatg1Session 1,s2chatg0Session 2,s3chatg1Session 3}'::text[], 'links, with a snapshot of the name');
select is(bpm.link_session('chat', 's1', null, 'New', 'a') = (select l.link_id from bpm.session_link l where l.tenant_id = 'a' and l.session_id = 's1'), true, 'linked again, it is the same link');
select is((select jsonb_build_array(l.group_id, l.display_name) from bpm.session_link l where l.tenant_id = 'a' and l.session_id = 's1'), '[null, "New"]', 'as last said');
select bpm.link_session('chat', 's1', 'g1', 'New', 'a') \g /dev/null
select throws_ok('select bpm.link_session(' || x.arguments || ')', x.code, null, x.code || ' ' || left(x.arguments, 60))
  from (values ($$null, 's'$$, 'BP400'), ($$'c', ''$$, 'BP400'), ($$'c', repeat('x', 301)$$, 'BP400'), ($$'c', 's', ''$$, 'BP400'), ($$'c', 's', 'g', repeat('x', 301)$$, 'BP400'),
               ($$'c', 's', p_tenant_id => 'nobody'$$, 'BP403')) x (arguments, code);

-- Tied, with a report of what is missing
select is_empty('select * from bpm.identity_report()', 'nothing is tied yet');
select is(pg_temp.attach('tenant', '{tenant_id}', '"Host App".accounts', '{code}'), '["host_tenant_id", true, 2]', 'tenants: two are not known to the host, the one without a name is not asked for');
select is(pg_temp.attach('session_scope_link', '{tenant_id,session_id}', '"Host App"."User Sessions"', '{account,"Session \"Id\""}'), '["host_session_id_tenant_id", true, 2]', 'sessions of tenants, names in need of quotes');
select is(pg_temp.attach('session_scope_link', '{session_id,channel}', '"Host App".chats', '{sid,channel}'), '["host_channel_session_id", true, 2]', 'sessions of channels');
select is(pg_temp.attach('session_scope_link', '{tenant_id,group_id}', '"Host App".groups', '{account,gid}'), '["host_group_id_tenant_id", true, 1]', 'groups, a partitioned table');
select is((select jsonb_agg(jsonb_build_array(r.identity, r.bound_table, r.columns, r.host_table, r.host_columns, r.is_valid, r.missing, r.samples) order by r.bound_table, r.identity) from bpm.identity_report() r),
  '[["host_channel_session_id", "bpm_core.session_scope_link", ["session_id", "channel"], "\"Host App\".chats", ["sid", "channel"], false, 2, [["s2", "chat"], ["s3", "chat"]]],
    ["host_group_id_tenant_id", "bpm_core.session_scope_link", ["tenant_id", "group_id"], "\"Host App\".groups", ["account", "gid"], false, 1, [["b", "g0"]]],
    ["host_session_id_tenant_id", "bpm_core.session_scope_link", ["tenant_id", "session_id"], "\"Host App\".\"User Sessions\"", ["account", "Session \"Id\""], false, 2, [["b", "s2"], ["b", "s3"]]],
    ["host_tenant_id", "bpm_core.tenant", ["tenant_id"], "\"Host App\".accounts", ["code"], false, 2, [["b"], ["c"]]]]'::jsonb, 'the report says which values have no row at the host');
select is((select jsonb_agg(r.samples order by r.bound_table, r.identity) from bpm.identity_report(1) r) -> 0, '[["s2", "chat"]]', 'some of them');


-- From now on what is written must be there; what was there before is left alone
select is((select bpm.link_session('chat', 's1', 'g0', 'x', 'a')) is not null, true, 'what the host knows');
select is(pg_temp.said($$select bpm.link_session('chat', 's9', p_tenant_id => 'a')$$), 'BP409 The host application does not know session ''s9'' of channel ''chat'', its tenant or its group. It comes first there: see bpm.identity_report().', 'what it does not');
select is(pg_temp.said($$select bpm.link_session('chat', 's2', 'g9', p_tenant_id => 'a')$$) ~ '^BP409', true, 'nor a group of somebody else''s');
select is(pg_temp.said($$select bpm.create_tenant('Z', 'z')$$), 'done', 'a tenant the host knows');
select is(pg_temp.said($$select bpm.create_tenant('Q', 'q')$$) ~ '^BP409', true, 'one it does not');
select is(pg_temp.said($$delete from "Host App".accounts where code = 'a'$$) ~ '^23503', true, 'and the host cannot drop one that is in use');

-- Validated once the host is complete
select is(pg_temp.said($$select bpm.validate_identity('host_tenant_id')$$), 'BP409 2 values of host_tenant_id are not in "Host App".accounts. The host completes them; see bpm.identity_report().', 'not yet');
insert into "Host App".accounts select r.samples ->> 0, 'by the report' from bpm.identity_report() i cross join jsonb_array_elements(i.samples) r(samples) where i.identity = 'host_tenant_id';
insert into "Host App"."User Sessions" select r.samples ->> 0, r.samples ->> 1 from bpm.identity_report() i cross join jsonb_array_elements(i.samples) r(samples) where i.identity = 'host_session_id_tenant_id';
insert into "Host App".chats select r.samples ->> 1, r.samples ->> 0 from bpm.identity_report() i cross join jsonb_array_elements(i.samples) r(samples) where i.identity = 'host_channel_session_id';
insert into "Host App".groups select r.samples ->> 0, r.samples ->> 1 from bpm.identity_report() i cross join jsonb_array_elements(i.samples) r(samples) where i.identity = 'host_group_id_tenant_id';
select is((select sum(r.missing) from bpm.identity_report() r), 0::bigint, 'backfilled from the report');
select is((select array_agg(bpm.validate_identity(r.identity) order by r.identity) from bpm.identity_report() r), '{t,t,t,t}'::boolean[], 'validated');
select is((select bool_and(r.is_valid) from bpm.identity_report() r), true, 'the report says so');
select is(bpm.validate_identity('host_tenant_id'), false, 'once');
select is((select count(*) from pg_constraint k where k.conrelid in ('bpm_core.tenant'::regclass, 'bpm_core.session_scope_link'::regclass) and k.conname ~ '^host_' and k.conparentid = 0 and k.convalidated), 4::bigint, 'PostgreSQL agrees');

-- The same again, and another
select is(pg_temp.attach('tenant', '{tenant_id}', '"Host App".accounts', '{code}'), '["host_tenant_id", false, 0]', 'the same tie again changes nothing');
select is(pg_temp.try('tenant', '{tenant_id}', '"Host App".shops', '{code}') ~ '^BP409', true, 'another needs the first to be untied');
select is(bpm.detach_identity('host_tenant_id'), true, 'untied');
select is(pg_temp.attach('tenant', '{tenant_id}', '"Host App".shops', '{code}'), '["host_tenant_id", true, 4]', 'tied to another: a domain over varchar, another collation');
select is(bpm.detach_identity('host_tenant_id'), true, 'untied again');
select is(pg_temp.said($$select bpm.create_tenant('Q', 'q')$$), 'done', 'the host is not asked any more');
select is((select array_agg(distinct a.action order by a.action) from bpm_core.audit_event a where a.aggregate_type = 'identity'), '{AttachIdentity,DetachIdentity,ValidateIdentity}', 'all of it is audited');

-- Refused
select is(pg_temp.try('tenant', '{tenant_id}', '"Host App".members', '{id}'),
  'BP422 "Host App".members.id is uuid, not a text. alter table "Host App".members add column id_text text generated always as (id::text) stored unique;', 'another type: with what would help');
alter table "Host App".members add column id_text text generated always as (id::text) stored unique;
grant references, select on "Host App".members to bpm_owner;
select is(pg_temp.attach('tenant', '{tenant_id}', '"Host App".members', '{id_text}'), '["host_tenant_id", true, 5]', 'which does help');
select bpm.detach_identity('host_tenant_id') \g /dev/null
select is(pg_temp.try('tenant', '{tenant_id}', '"Host App".loose', '{code}'), 'BP422 (code) of "Host App".loose is not unique. alter table "Host App".loose add unique (code);', 'unique in part is not unique');
select is(pg_temp.try('tenant', '{tenant_id}', '"Host App".accounts', '{name}') ~ '^BP422 .* is not unique', true, 'not unique at all');
select is(pg_temp.try('tenant', '{tenant_id}', '"Host App".groups', '{account}') ~ '^BP422 .* is not unique', true, 'nor is half of a key');
select is(pg_temp.try('tenant', '{tenant_id}', '"Host App".careless', '{code}') ~ '^BP422 .*not deterministic', true, 'a collation to which a and A are the same');
select is(pg_temp.try('tenant', '{tenant_id}', '"Host App".hidden', '{code}') ~ '^BP422 Row level security', true, 'rows that are hidden from the engine');
select is(pg_temp.try('tenant', '{tenant_id}', '"Host App".secret', '{code}'),
  'BP422 "Host App".secret may not be referred to. grant usage on schema "Host App" to bpm_owner; grant select (code), references (code) on "Host App".secret to bpm_owner;', 'a table that is not granted');
select is(pg_temp.try('tenant', '{tenant_id}', x.host, x.columns) , x.said, 'refused: ' || x.host || x.columns)
  from (values ('"Host App".seen', '{code}', 'BP422 "Host App".seen is no permanent table of the host.'), ('bpm_core.role_definition', '{code}', 'BP422 bpm_core.role_definition is no permanent table of the host.'),
               ('pg_catalog.pg_authid', '{rolname}', 'BP422 pg_catalog.pg_authid is no permanent table of the host.'), ('"Host App".accounts', '{nothing}', 'BP422 "Host App".accounts has no column nothing.'),
               ('"Host App".accounts', '{ctid}', 'BP422 "Host App".accounts has no column ctid.'),
               ('"Host App".nothing', '{code}', 'BP404 There is no table "Host App".nothing. Write schema.table, in quotes where SQL needs them.'), ('x"; drop table x', '{code}', 'BP404 There is no table x"; drop table x. Write schema.table, in quotes where SQL needs them.')) x (host, columns, said);
select is(pg_temp.said(format('select * from bpm.attach_identity(%s, %s)', x.ours, x.host)) ~ ('^' || x.code), true, x.code || ' ' || x.ours || ' ' || x.host)
  from (values ($$'token', '{tenant_id}'$$, $$'"Host App".accounts', '{code}'$$, 'BP400'), ($$'tenant', '{name}'$$, $$'"Host App".accounts', '{code}'$$, 'BP400'), ($$'tenant', '{}'$$, $$'"Host App".accounts', '{}'$$, 'BP400'),
               ($$'session_scope_link', '{tenant_id}'$$, $$'"Host App".accounts', '{code}'$$, 'BP400'), ($$'session_scope_link', '{group_id,group_id}'$$, $$'"Host App".groups', '{account,gid}'$$, 'BP400'),
               ($$'session_scope_link', '{tenant_id,group_id}'$$, $$'"Host App".groups', '{gid}'$$, 'BP400'), ($$'session_scope_link', '{tenant_id,group_id}'$$, $$'"Host App".groups', '{gid,gid}'$$, 'BP400'),
               ($$null, null$$, 'null, null', 'BP400')) x (ours, host, code);
select throws_ok($$select * from bpm.identity_report(-1)$$, 'BP422', null, 'a limit');
select throws_ok($$select bpm.validate_identity('tenant_pkey')$$, 'BP404', null, 'only ties to the host are validated');
select throws_ok($$select bpm.detach_identity('session_scope_link_tenant_id_fkey')$$, 'BP404', null, 'or untied');

select is(pg_temp.try('tenant', '{tenant_id}', x.name, '{code}') ~ x.said, true, 'a table of the caller''s own making')
  from (values ('tenants_i_made_up', '^BP404'), ((select format('%I.tenants_i_made_up', n.nspname) from pg_namespace n where n.oid = pg_my_temp_schema()), '^BP422 .* is no permanent table')) x (name, said);

-- Only by the installer
create role attach_identity_admin;
insert into bpm_core.tenant_grant values ('attach_identity_admin', '%', 'admin', 'test', now());
grant bpm_admin to attach_identity_admin;
set local role attach_identity_admin;
select throws_ok($$select * from bpm.attach_identity('tenant', '{tenant_id}', '"Host App".accounts', '{code}')$$, 'BP403', null, 'an admin who is not the installer may not');
select throws_ok($$select * from bpm.identity_report()$$, 'BP403', null, 'nor look: the report tells what the host has');
reset role;
select throws_ok($$select * from bpm.attach_identity('tenant', '{tenant_id}', '"Host App".accounts', '{code}', p_tenant_id => 'a')$$, 'BP403', null, 'it is no affair of a tenant');

select is_empty('select * from bpm.check_invariants()', 'invariants hold');
select * from finish();
rollback;
