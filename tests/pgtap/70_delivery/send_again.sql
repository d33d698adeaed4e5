-- bpm.send_again: a second sending that a person wants is a command of its own.
begin;
select plan(26);
select kit.deploy_sending('s');
select kit.sending('s', '{"n": 1}') as wi \gset
select (c).command_id as id from kit.command(:'wi') c \gset
create function pg_temp.again(p_id uuid, p_reason text default 'they lost it', p_key text default null) returns bpm_core.outbox language plpgsql as $$
declare
  v_new uuid := (select a.command_id from bpm.send_again(p_id, p_reason, p_key, 'ann') a);
begin
  return (select o from bpm_core.outbox o where o.command_id = v_new);
end $$;
select is(kit.raised(format('select from bpm.send_again(%L, ''why not'')', :'id')) -> 'detail' ->> 'state', 'Sending', 'not while it is under way');
select kit.mark(:'wi', 'Unknown') as _ \gset
select is(kit.raised(format('select from bpm.send_again(%L, ''why not'')', :'id')) - '{message,detail}'::text[],
          '{"code": "BP409", "hint": "Say what became of it with bpm.reconcile_command first."}', 'nor while nobody knows');
select kit.mark(:'wi', 'Sent') as _ \gset
update bpm_core.destination d set config = d.config || '{"url": "http://elsewhere.test/"}' where d.code = 's';
select (x).command_id as new, (x).state, (x).attempt, (x).again_of, (x).payload, (x).destination_snapshot #>> '{config,url}' as url from pg_temp.again(:'id') x \gset n_
select isnt(:'n_new', :'id'::text, 'a new id');
select is(:'n_state' || ' ' || :n_attempt || ' ' || :'n_payload', 'Pending 0 {"n": 1}', 'with what the old one said');
select is(:'n_again_of', :'id'::text, 'linked to it');
select is(:'n_url', 'http://elsewhere.test/'::text, 'to where the destination is now');
select is((select c.again_of from bpm.command c where c.command_id = :'n_new'), :'id'::uuid, 'as the view shows');
select is((select h.actor || ' ' || (h.detail ->> 'again_of') from bpm_core.history_event h where h.detail ->> 'command' = :'n_new'), 'ann ' || :'id', 'history knows who');
select is((select a.actor || ': ' || a.reason from bpm_core.audit_event a where a.action = 'SendAgain' and a.aggregate_id = :'n_new'), 'ann: they lost it', 'and audit why');
select is((select c.command_id from bpm.claim_commands('w', 10) c), :'n_new'::uuid, 'it leaves like any other');
select is((select (c).state from kit.command(:'wi') c where (c).command_id = :'n_new'), 'Sending', 'on its own');
select is((select o.state::text from bpm_core.outbox o where o.command_id = :'id'), 'Sent', 'the old one stays what it was');

-- The same call again
select (x).command_id as first from pg_temp.again(:'id', 'twice', 'k1') x \gset
select is((pg_temp.again(:'id', 'twice', 'k1')).command_id, :'first'::uuid, 'with its key: the first answer');
select is((select a.is_new from bpm.send_again(:'id', 'twice', 'k1', 'ann') a), false, 'which says so');
select throws_ok(format('select from bpm.send_again(%L, ''thrice'', ''k1'')', :'id'), 'BP409', null, 'the key for another request');

-- A failed one
select kit.sending('s', '{"n": 2}') as wi \gset
select kit.mark(:'wi', 'Refused') as _ \gset
select (c).command_id as failed from kit.command(:'wi') c \gset
select is((select d.state::text || ' ' || i.state from bpm_core.dead_letter d join bpm_core.incident i on i.id = d.incident_id where d.workflow_instance_id = :'wi'), 'Open Open', 'one that failed is a dead letter');
select is((select a.is_new from bpm.send_again(:'failed', 'repaired', 'k2', 'ann') a), true, 'it is sent again');
select is((select d.state || ' ' || d.closed_by || ', ' || i.state || ' ' || i.resolved_by from bpm_core.dead_letter d join bpm_core.incident i on i.id = d.incident_id
            where d.workflow_instance_id = :'wi'), 'Requeued ann, Resolved ann', 'the dead letter is done with, and so is the incident');
select is((select h.actor || ' ' || (h.detail ->> 'code') from bpm_core.history_event h where h.workflow_instance_id = :'wi' and h.kind = 'IncidentResolved'), 'ann DeliveryRefused', 'history knows who');
select is((select a.is_new from bpm.send_again(:'failed', 'repaired', 'k3', 'bob') a), true, 'sent once more');
select is((select count(*) from bpm_core.history_event h where h.workflow_instance_id = :'wi' and h.kind = 'IncidentResolved'), 1::bigint, 'there is nothing to close any more');

select throws_ok('select from bpm.send_again(''00000000-0000-0000-0000-000000000000'', ''x'')', 'BP404', null, 'no such command');
select throws_ok(format('select from bpm.send_again(%L, null)', :'id'), 'BP422', null, 'no reason');
select throws_ok(format('select from bpm.send_again(%L, ''x'', '''')', :'id'), 'BP422', null, 'an empty key');
select throws_ok(format('select from bpm.send_again(%L, ''x'', p_tenant_id => ''nobody'')', :'id'), 'BP403', null, 'tenant not granted');
select is_empty('select * from bpm.check_invariants()', 'invariants hold');
select * from finish();
rollback;
