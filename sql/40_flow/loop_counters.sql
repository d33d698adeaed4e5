-- What a completion condition may ask besides variables, in the names of Camunda 7 and of Zeebe; the item that asks is counted as completed.
create or replace function bpm_core.loop_counters(p_mode text, p_total integer, p_done bigint)
returns jsonb
language sql immutable
as $$
  select jsonb_build_object('nrOfInstances', p_total, 'nrOfCompletedInstances', p_done, 'nrOfActiveInstances', a.active,
                            'numberOfInstances', p_total, 'numberOfCompletedInstances', p_done, 'numberOfActiveInstances', a.active,
                            'numberOfTerminatedInstances', 0)
    from (select case p_mode when 'Parallel' then p_total - p_done else 1 end as active) a
$$;
