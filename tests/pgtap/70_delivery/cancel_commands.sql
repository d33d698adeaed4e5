-- bpm_core.cancel_commands: only what never left.
begin;
select plan(13);
select kit.deploy_sending('plain');
select kit.deploy_sending('again', '{"resend_allowed": true}');
create function pg_temp.cancel(p_instance uuid) returns text language sql as $$
  select p.status from bpm.instance i cross join lateral bpm.cancel_process(i.process_instance_id) p where i.workflow_instance_id = p_instance
$$;

select kit.start('plain') as pending \gset
select is(pg_temp.cancel(:'pending'), 'Cancelled', 'an instance is cancelled');
select is((select (c).state || ' ' || ((c).ended_at is not null) from kit.command(:'pending') c), 'Cancelled true', 'its command that waits goes with it');
select is((select concat_ws(' ', h.kind, h.from_state, h.to_state) from bpm_core.history_event h where h.workflow_instance_id = :'pending' and h.kind::text like 'Command%'
            order by h.seq desc limit 1), 'CommandCancelled Pending Cancelled', 'history says so');
select is((select count(*) from bpm.claim_commands('w', 10)), 0::bigint, 'and nobody sends it');

select kit.sending('plain') as sending \gset
select pg_temp.cancel(:'sending') as _ \gset
select is((select (c).state::text from kit.command(:'sending') c), 'Sending', 'one that is being sent goes on');
select is(kit.mark(:'sending', 'Sent'), 'Sent Sent', 'to its own end');
select kit.sending('plain') as unknown \gset
select kit.mark(:'unknown', 'Unknown') as _ \gset
select pg_temp.cancel(:'unknown') as _ \gset
select is((select (c).state::text from kit.command(:'unknown') c), 'Unknown', 'one that is Unknown stays so');
select is((select r.state from bpm.reconcile_command((kit.command(:'unknown')).command_id, 'Sent') r), 'Sent', 'until somebody knows');

select kit.sending('again') as released \gset
select kit.mark(:'released', 'InProgress') as _ \gset
select pg_temp.cancel(:'released') as _ \gset
select is((select (c).state::text from kit.command(:'released') c), 'Pending', 'one that may have been seen is not said to be cancelled, it goes on');

select kit.sending('plain') as retried \gset
select kit.mark(:'retried', 'NotSent') as _ \gset
select pg_temp.cancel(:'retried') as _ \gset
select is((select (c).state::text from kit.command(:'retried') c), 'Cancelled', 'one whose attempts never left can be');

select kit.start('plain') as mine \gset
select kit.start('plain') as yours \gset
select bpm_core.cancel_commands('', array[:'mine'::uuid]);
select is((select (c).state::text from kit.command(:'yours') c), 'Pending', 'commands of other instances are left alone');
select bpm_core.cancel_commands('', '{}');
select is((select (c).state::text from kit.command(:'yours') c), 'Pending', 'no instance, no command');
select is_empty('select * from bpm.check_invariants()', 'invariants hold');
select * from finish();
rollback;
