-- Calls tick until there is nothing to do: for tests and for people at psql, all in the caller's transaction. Runners call tick themselves.
-- Returns:  integer, how many things were done.
-- Raises:   BP403, as tick; BP429 still not idle after 1,000 ticks.
create or replace function bpm.run_until_idle(p_limit integer default 1000, p_tenant_id text default '')
returns integer
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_done  integer;
  v_total integer := 0;
begin
  perform bpm_core.enter_call(p_tenant_id, 'worker');
  for v_round in 1 .. 1000 loop
    select coalesce(sum(d.value::integer), 0)::integer into v_done
      from bpm.tick(p_limit, null, p_tenant_id) k
     cross join lateral jsonb_each_text(k.done) d;
    v_total := v_total + v_done;
    if v_done = 0 then
      return v_total;
    end if;
  end loop;
  perform bpm_core.fail('BP429', format('Not idle after 1000 ticks; %s things done.', v_total), null, 'Is there a process that never rests?');
end
$$;
