-- The door of every public function, and who counts as who behind it.
begin;
select plan(36);

create role t_plain; create role t_member; create role t_group;
grant t_group to t_member;
insert into bpm_core.tenant (tenant_id, name, state, created_at)
values ('acme', 'A', 'Active', now()), ('acme-2', 'A2', 'Active', now()), ('beta', 'B', 'Suspended', now());

-- caller
select is(bpm_core.caller(), session_user::text, 'the login calls');
set local role t_plain;
select is(current_setting('role'), 't_plain', 'set role') ;
reset role;
create function pg_temp.caller_as(p_role text) returns text language plpgsql as $$
begin
  perform set_config('role', p_role, true);
  return bpm_core.caller();
end $$;
grant usage on schema bpm_core to t_plain; grant execute on function bpm_core.caller() to t_plain;
select is(pg_temp.caller_as('t_plain'), 't_plain', 'the role set counts as the caller');
reset role;

-- is_granted
insert into bpm_core.tenant_grant values
  ('t_plain', 'acme', 'reader', 'x', now()), ('t_group', 'acme%', 'operator', 'x', now()), ('t_member', 'beta', 'worker', 'x', now());
select is(bpm_core.is_granted('t_plain', 'acme', 'reader'), true, 'a grant of the very tenant');
select is(bpm_core.is_granted('t_plain', 'acme', 'worker'), false, 'of a lower capability only');
select is(bpm_core.is_granted('t_plain', 'acme-2', 'reader'), false, 'a name is no prefix');
select is(bpm_core.is_granted('t_group', 'acme-2', 'operator'), true, 'a pattern covers what begins like it');
select is(bpm_core.is_granted('t_group', 'beta', 'reader'), false, 'and nothing else');
select is(bpm_core.is_granted('t_member', 'acme-2', 'worker'), true, 'members have what their role is granted, and each capability includes the lower');
select is(bpm_core.is_granted('t_member', 'acme-2', 'admin'), false, 'not the higher');
insert into bpm_core.tenant_grant values ('t_plain', '%', 'admin', 'x', now());
select is(bpm_core.is_granted('t_plain', '', 'admin'), true, 'the pattern of everything covers the tenant without a name');
delete from bpm_core.tenant_grant where tenant_pattern = '%';

-- enter_call, as the installer
select lives_ok('select bpm_core.enter_call('''', ''admin'')', 'granted');
select throws_ok('select bpm_core.enter_call(null, ''reader'')', 'BP400', null, 'no tenant');
insert into bpm_core.tenant_grant values (session_user, 'beta', 'admin', 'x', now());
select throws_ok('select bpm_core.enter_call(''beta'', ''worker'')', 'BP423', null, 'a suspended tenant');
select lives_ok('select bpm_core.enter_call(''beta'', ''reader'')', 'may be read');

-- What an error looks like
create function pg_temp.seen(p_sql text) returns jsonb language plpgsql as $$
declare v_message text; v_detail text; v_hint text;
begin
  execute p_sql;
  return null;
exception when others then
  get stacked diagnostics v_message = message_text, v_detail = pg_exception_detail, v_hint = pg_exception_hint;
  return jsonb_build_object('code', sqlstate, 'message', v_message, 'detail', nullif(v_detail, '')::jsonb, 'hint', v_hint);
end $$;
select is(pg_temp.seen('select bpm_core.fail(''BP418'', ''I am a teapot.'', ''{"a": 1}'', ''Brew coffee.'')'),
  '{"code": "BP418", "message": "I am a teapot.", "detail": {"a": 1}, "hint": "Brew coffee."}', 'fail: code, message, machine-readable detail, hint');
select is(pg_temp.seen('select bpm_core.enter_call(''nowhere'', ''reader'')') -> 'detail' ->> 'tenant_id', 'nowhere', 'the door says which tenant');

-- acting_as
select is(bpm_core.acting_as('', null), session_user::text, 'without an actor, the caller');
select is(bpm_core.acting_as('', 'ann'), 'ann', 'an admin may act for others');
select throws_ok('select bpm_core.acting_as('''', '' '')', 'BP400', null, 'a blank name');
select throws_ok(format('select bpm_core.acting_as(%L, %L)', '', n), 'BP400', null, format('blanks around a name make another person: %L', n))
  from unnest(array['ann ', ' ann', E'ann\n', E'\tann', 'ann' || chr(160), chr(8203) || 'ann', E'a\x01nn']) n;
select is(bpm_core.acting_as('', 'Ann Lee'), 'Ann Lee', 'within it they are its own');
select throws_ok(format('select bpm_core.acting_as('''', %L)', repeat('x', 201)), 'BP400', null, 'an endless name');

-- visible_tenants
select results_eq('select v from bpm_core.visible_tenants() v order by v', $$values (''), ('acme'), ('acme-2'), ('beta')$$,
  'a superuser is a member of every role') where current_setting('is_superuser') = 'on';
grant bpm_reader to t_plain, t_member;
create function pg_temp.visible_to(p_role text) returns setof text language plpgsql as $$
begin
  perform set_config('role', p_role, true);
  return query select v from bpm_core.visible_tenants() v order by v;
  perform set_config('role', 'none', true);
end $$;
grant execute on function bpm_core.visible_tenants() to t_plain, t_member;
grant usage on schema bpm_core to t_member;
select results_eq('select pg_temp.visible_to(''t_plain'')', $$values ('acme')$$, 'by a grant');
select results_eq('select pg_temp.visible_to(''t_member'')', $$values ('acme'), ('acme-2'), ('beta')$$, 'by membership, and suspended ones');

-- create_tenant, grant_access
select throws_ok('select bpm.create_tenant(''x'', ''a%'')', 'BP400', null, 'a tenant id is no pattern');
select throws_ok('select bpm.grant_access(''no_such_role'', '''', ''reader'')', 'BP404', null, 'a role that is not there');
select throws_ok('select bpm.grant_access(''t_plain'', '''', ''king'')', 'BP400', null, 'a capability that is none');
select throws_ok('select bpm.grant_access(''t_plain'', null, ''reader'')', 'BP400', null, 'no pattern');

select * from finish();
rollback;
