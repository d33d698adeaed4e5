-- Events that wait for other rules: a position by versions of the rules keeps none of them waiting.
begin;
select plan(8);
create function pg_temp.accept(p_type text) returns void language sql as $$
  select from bpm.accept_events(jsonb_build_array(jsonb_build_object('channel', 'c', 'provider_event_id', gen_random_uuid(), 'type', p_type)))
$$;
select from bpm.set_routing_rule('other', 'other', 'Ignore');
select k.positions as p from bpm.tick() k \gset
select is(bpm_core.number_at((:'p'::jsonb -> 'rules' ->> 'mark_at')::timestamptz), (select s.rules_version from bpm_core.routing_state s where s.tenant_id = ''), 'the mark is the version of the rules');
select pg_temp.accept('a');
select pg_temp.accept('b');
select (k.done ->> 'events')::integer as did, k.positions as p from bpm.tick(p_positions => :'p') k \gset
select is(:did, 2, 'both are looked at');
select is((select string_agg(e.reason, ' ') from bpm.event e where e.dispatch_state = 'Pending'), 'NoRule NoRule', 'and wait');
select (k.done ->> 'events')::integer as did, k.positions as p from bpm.tick(p_positions => :'p') k \gset
select is(:did, 0, 'nobody looks at them again while the rules are the same');
select from bpm.set_routing_rule('a', 'a', 'Ignore');
select (k.done ->> 'events')::integer as did, k.positions as p from bpm.tick(p_positions => :'p') k \gset
select is(:did, 2, 'with newer rules they are looked at once more');
select is((select string_agg(e.event_type || ' ' || e.dispatch_state, ', ' order by e.event_type) from bpm.event e), 'a Ignored, b Pending', 'one is decided, the other waits on');
select from bpm.set_routing_rule('b', 'b', 'Ignore');
select k.positions as p from bpm.tick(p_positions => :'p') k \gset
select is((select count(*) from bpm.event e where e.dispatch_state = 'Pending'), 0::bigint, 'for its own');
select is((select sum(d.value::integer) from bpm.tick(p_positions => :'p') k cross join lateral jsonb_each_text(k.done) d), 0::bigint, 'then nothing is left to do');
select * from finish();
rollback;
