-- bpm.claim_commands_at: claims with positions.
begin;
select plan(16);
select kit.deploy_sending('courier');
select is((select jsonb_build_array(c.commands, c.next_due_at) from bpm.claim_commands_at('w', 10) c), '[[], null]', 'nothing there: one row, no commands, nothing due');
select kit.start('courier', '{"n": 1}');
select kit.start('courier', '{"n": 2}');
select kit.start('courier', '{"n": 3}');
select c.* from bpm.claim_commands_at('w', 2) c \gset a_
select is((select string_agg(x ->> 'n', ' ') from jsonb_path_query(:'a_commands', '$[*].payload') x), '1 2', 'as many as asked for, oldest first');
select is((select string_agg(k, ' ' order by k) from jsonb_object_keys((:'a_commands'::jsonb) -> 0) k),
          'attempt business_key command_id destination destination_code fencing_token lease_until payload payload_hash process_instance_id task_type',
          'with the columns of claim_commands');
select is((select string_agg(k, ' ' order by k) from jsonb_object_keys(:'a_positions') k), ' courier', 'positions are one object: a round, and a place in each destination');
select is(((:'a_positions'::jsonb) #>> '{courier,reached_at}')::timestamptz, (select max(o.available_at) from bpm_core.outbox o where o.state = 'Sending'),
          'which stands at the last one handed out');
select c.* from bpm.claim_commands_at('w', 2, null, :'a_positions') c \gset b_
select is((select string_agg(x ->> 'n', ' ') from jsonb_path_query(:'b_commands', '$[*].payload') x), '3', 'the next claim goes on from there');
select c.* from bpm.claim_commands_at('w', 2, null, :'b_positions') c \gset c_
select is(:'c_commands'::jsonb, '[]', 'and then finds nothing');

-- One that became due behind the position: a straggler
select kit.start('courier', '{"n": 4}') as late \gset
update bpm_core.outbox o set available_at = o.available_at - interval '1 hour' where o.workflow_instance_id = :'late';
select jsonb_set(:'c_positions', '{courier,horizon}', to_jsonb('9223372036854775807'::text)) as held \gset
select jsonb_set(jsonb_set(:'held', '{courier,checked_at}', to_jsonb(bpm_core.now())), '{courier,full_at}', to_jsonb(bpm_core.now())) as held \gset
select is((select c.commands from bpm.claim_commands_at('w', 2, null, :'held') c), '[]', 'from the position a straggler is not seen while an old writer may live');
select jsonb_set(:'held', '{courier,full_at}', to_jsonb(bpm_core.now() - interval '31 seconds')) as old \gset
select c.* from bpm.claim_commands_at('w', 2, null, :'old') c \gset d_
select is((select string_agg(x ->> 'n', ' ') from jsonb_path_query(:'d_commands', '$[*].payload') x), '4', 'a look back finds it');

-- When to come again
select is(kit.mark(:'late', 'NotSent'), 'Pending Pending', 'one is put back');
select is((select c.next_due_at from bpm.claim_commands_at('w', 2, null, :'d_positions') c), (select (c).available_at from kit.command(:'late') c), 'next_due_at says when it is due');
select is(bpm_core.commands_due('', (select (c).available_at from kit.command(:'late') c)), null, 'nothing after that');
select is((select c.next_due_at from bpm.claim_commands_at('w', 1) c where c.commands <> '[]'), null, 'unknown while there may be more now');

select throws_ok('select from bpm.claim_commands_at(''w'', 1, null, ''{"courier": {"reached_at": "soon"}}'')', 'BP400', null, 'positions that are not ours');
select throws_ok('select from bpm.claim_commands_at(''w'', 0)', 'BP422', null, 'arguments are checked as for claim_commands');
select throws_ok('select from bpm.claim_commands_at(''w'', p_tenant_id => ''nobody'')', 'BP403', null, 'tenant not granted');
select * from finish();
rollback;
