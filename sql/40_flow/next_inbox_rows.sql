-- Which of these inbox rows may be applied now, in order: of each target the oldest, and with a parked answer the answers right behind it,
-- which are applied as a set; of a process all ends of its workflows. Sweeps wait for nobody. Rows set aside are left out.
-- Returns:  inbox[].
create or replace function bpm_core.next_inbox_rows(p_tenant_id text, p_rows uuid[])
returns bpm_core.inbox[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  return array(
    select q.row
      from (select i::bpm_core.inbox as row,
                   row_number() over line as n,
                   bool_and(i.kind = 'WorkflowEnded' or i.kind = 'Answer' and i.payload ? 'answers') over line as in_run
              from unnest(p_rows) k(id)
             cross join lateral (select i.* from bpm_core.inbox i where i.tenant_id = p_tenant_id and i.id = k.id offset 0) i
             where i.available_at < 'infinity'
            window line as (partition by i.target_id, i.kind = 'Sweep' order by i.id)) q
     where q.n = 1 or q.in_run
     order by (q.row).target_id, (q.row).id);
end
$$;
