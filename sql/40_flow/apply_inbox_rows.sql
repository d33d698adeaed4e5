-- Under the locks of their targets: what each kind of inbox row does.
-- Writes:   what the functions named write.
create or replace function bpm_core.apply_inbox_rows(p_tenant_id text, p_rows bpm_core.inbox[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_some bpm_core.inbox[];
begin
  v_some := array(select f from unnest(p_rows) f where f.kind = 'Message');
  if cardinality(v_some) > 0 then
    perform bpm_core.apply_messages(p_tenant_id, v_some);
  end if;
  v_some := array(select f from unnest(p_rows) f where f.kind = 'Signal');
  if cardinality(v_some) > 0 then
    perform bpm_core.apply_signals(p_tenant_id, v_some);
  end if;
  v_some := array(select f from unnest(p_rows) f where f.kind = 'Answer' order by f.id);
  if cardinality(v_some) > 0 then
    perform bpm_core.apply_answers(p_tenant_id, v_some);
  end if;
  v_some := array(select f from unnest(p_rows) f where f.kind = 'Continue');
  if cardinality(v_some) > 0 then
    perform bpm_core.continue_loops(p_tenant_id, v_some);
  end if;
  v_some := array(select f from unnest(p_rows) f where f.kind in ('CallEnded', 'CallFailed', 'CallEscalated', 'Cancel'));
  if cardinality(v_some) > 0 then
    perform bpm_core.apply_calls(p_tenant_id, v_some);
  end if;
  v_some := array(select f from unnest(p_rows) f where f.kind in ('Recheck', 'WorkflowEnded'));
  if cardinality(v_some) > 0 then
    perform bpm_core.apply_siblings(p_tenant_id, v_some);
  end if;
end
$$;
