-- Is this a setting we know, with a value it can have? The list of all settings.
-- Returns:  text, what is wrong; null when nothing is. A null value (back to the default) is never wrong.
create or replace function bpm_core.setting_fault(p_name text, p_value jsonb)
returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  r_known record;
begin
  select k.lowest, k.highest into r_known
    from (values
      ('engine.approval_required_task_types', null::bigint, null::bigint),
      ('engine.domain_event_days', 1, 3650),
      ('engine.idempotency_key_days', 7, 3650),
      ('engine.approval_policies', null, null),
      ('engine.loop_budget', 1, 1000000000),
      ('engine.max_call_depth', 1, 1000),
      ('engine.max_value_bytes', 65536, 100000000),
      ('engine.max_variables_bytes', 65536, 100000000),
      ('engine.priority_ageing_s', 0, 2592000),
      ('engine.sweep_batch_size', 1, 100000),
      ('engine.time_zone', null, null),
      ('engine.timer_batch_size', 1, 1000),
      ('engine.timer_poll_interval_ms', 10, 3600000),
      ('retention.event_days', 7, 36500),
      ('retention.history_months', 1, 1200),
      ('retention.instance_days', 0, 36500),
      ('retention.process_days', null, null),
      ('catalog.max_bpmn_bytes', 1024, 100000000)) k(name, lowest, highest)
   where k.name = p_name;
  if not found then
    return format('There is no setting %L.', p_name);
  elsif p_value is null then
    return null;
  elsif p_name = 'engine.time_zone' then
    if jsonb_typeof(p_value) <> 'string' or not bpm_core.known_zone(p_value #>> '{}') then
      return format('%s takes the name of a time zone, such as Europe/Berlin, not %s.', p_name, left(p_value::text, 100));
    end if;
  elsif p_name = 'engine.approval_policies' then
    if jsonb_typeof(p_value) <> 'object' or exists (select from jsonb_each(p_value) e where bpm_core.approval_problem(e.value) is not null) then
      return format('%s takes an object of task types with their approval policies, not %s.', p_name, left(p_value::text, 500));
    end if;
  elsif p_name = 'retention.process_days' then
    if jsonb_typeof(p_value) <> 'object' or exists (
         select from jsonb_each(p_value) e
          where e.value <> 'null' and (jsonb_typeof(e.value) <> 'number' or (e.value)::numeric % 1 <> 0 or (e.value)::numeric not between 0 and 36500)) then
      return format('%s takes an object of process codes with whole numbers of days from 0 to 36500, or null for ever, not %s.', p_name, left(p_value::text, 500));
    end if;
  elsif r_known.lowest is null then
    if jsonb_typeof(p_value) <> 'array'
       or jsonb_path_exists(p_value, '$[*] ? (@.type() != "string" || @ == "")')
       or exists (select from jsonb_array_elements_text(p_value) t(task_type) where length(t.task_type) > 200) then
      return format('%s takes an array of task types, not %s.', p_name, p_value);
    end if;
  elsif jsonb_typeof(p_value) <> 'number' or (p_value)::numeric % 1 <> 0
        or (p_value)::numeric not between r_known.lowest and r_known.highest then
    return format('%s takes a whole number from %s to %s, not %s.', p_name, r_known.lowest, r_known.highest, p_value);
  end if;
  return null;
end
$$;
