-- I-15: each of its rules is seen to fail on rows that no function of the engine would leave. The other invariants: check_invariants.sql.
begin;
select plan(17);
select kit.deploy_sending('ev');
-- What I-15 says after p_sql, which is undone.
create function pg_temp.breaks(p_sql text, p_rules text[], p_description text) returns text language plpgsql as $$
declare
  v_rules text[];
begin
  begin
    execute p_sql;
    v_rules := array(select distinct v.detail ->> 'rule' from bpm_core.invariant_i_15('') v order by 1);
    raise exception using errcode = 'TST00';
  exception
    when sqlstate 'TST00' then null;
  end;
  return is(v_rules, p_rules, p_description);
end $$;

select from bpm.subscribe_events('mine');
select from bpm.subscribe_events('gone');
select kit.sending('ev') as a \gset
select kit.mark(:'a', 'Unknown') as _ \gset
select kit.mark(:'a', 'Sent') as _ \gset
select kit.start('ev') as b \gset
select from bpm.tick();
select bpm.mark_published('mine', c.fencing_token, 2) from bpm.claim_domain_events('w', 10, p_subscription => 'mine') c \g /dev/null
select from bpm.unsubscribe_events('gone');
-- Two more that have no number yet, and one that nobody knows.
select kit.start('ev') as c \gset
select kit.start('ev') as d \gset
select is((select array_agg(e.published_no order by e.seq) from bpm_core.event_outbox e), '{1,2,3,4,null,null}', 'three events of one instance, one of another, two that wait');
select is_empty('select * from bpm_core.invariant_i_15('''')', 'undisturbed, nothing is broken');

-- The order
select pg_temp.breaks($$
  update bpm_core.event_outbox set published_no = published_no + 10 where published_no in (1, 2);
  update bpm_core.event_outbox set published_no = 13 - published_no where published_no > 10$$, '{published before one that was written earlier}', 'two of one instance in the wrong order');
select pg_temp.breaks($$update bpm_core.event_outbox set state = 'Pending', published_no = null, published_at = null where published_no = 2$$,
  '{left behind,numbers are missing}', 'one of an instance without a number while a later one has its');
select pg_temp.breaks(format($$insert into bpm_core.event_outbox (tenant_id, id, event_type, aggregate_id, process_code, payload, created_at)
  values ('', bpm_core.new_id(), 'InstanceStarted', %L, 'ev', '{}', bpm_core.now())$$, :'b'), '{}', 'another that waits behind one that was published is fine');
select pg_temp.breaks($$update bpm_core.event_outbox set state = 'Parked' where state = 'Pending'$$, '{parked although its type is known}', 'parked without need');
select pg_temp.breaks($$update bpm_core.event_outbox set state = 'Parked', event_type = 'MoonRose' where state = 'Pending'$$, '{}', 'parked with need');

-- What is lost
select pg_temp.breaks($$delete from bpm_core.event_outbox where published_no = 2$$, '{numbers are missing}', 'one in the middle');
select pg_temp.breaks($$delete from bpm_core.event_outbox where published_no = 1$$, '{numbers are missing}', 'the first');
select pg_temp.breaks($$delete from bpm_core.event_outbox where published_no = 4$$, '{numbers are missing}', 'the last');
select pg_temp.breaks($$delete from bpm_core.event_outbox where published_no is not null$$, '{numbers are missing}', 'all');
select pg_temp.breaks($$update bpm_core.event_stream set last_no = 5$$, '{numbers are missing}', 'counted and not there');
select pg_temp.breaks($$update bpm_core.event_outbox set published_no = 5 where published_no = 4$$, '{numbers are missing}', 'a gap');

-- What subscribers have
select pg_temp.breaks($$update bpm_core.event_subscription set cursor_no = 5 where code = 'mine'$$, '{told of what was not published}', 'told of what has no number');
select pg_temp.breaks($$
  delete from bpm_core.event_outbox where published_no <= 3;
  update bpm_core.event_stream set forgotten_no = 3$$, '{not told of what was forgotten}', 'forgotten before everybody had it');
select pg_temp.breaks($$
  delete from bpm_core.event_outbox where published_no <= 2;
  update bpm_core.event_stream set forgotten_no = 2$$, '{}', 'forgotten in time: whose subscription has ended does not count');

-- And bpm.check_invariants asks it
update bpm_core.event_stream set last_no = 5;
select is((select array_agg(distinct c.invariant) from bpm.check_invariants() c), '{I-15}', 'the audit says so');
select * from finish();
rollback;
