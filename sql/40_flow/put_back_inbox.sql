-- Puts inbox rows that could not be applied back with a growing delay; the tenth time they are buried: dead letter and incident, no token stopped.
-- Writes:   inbox, and what bury_inbox writes.
create or replace function bpm_core.put_back_inbox(p_tenant_id text, p_rows bpm_core.inbox[], p_error text)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now    timestamptz := bpm_core.now();
  v_poison bpm_core.inbox[];
begin
  update bpm_core.inbox i
     set attempts = i.attempts + 1, last_error = p_error, available_at = v_now + interval '1 second' * power(2, least(i.attempts, 8))
    from unnest(p_rows) r
   where i.tenant_id = r.tenant_id and i.id = r.id;
  with poison as (
    delete from bpm_core.inbox i
     using unnest(p_rows) r
     where i.tenant_id = r.tenant_id and i.id = r.id and i.attempts >= 10
    returning i.*)
  select array_agg(p::bpm_core.inbox) into v_poison from poison p;
  if v_poison is not null then
    perform bpm_core.bury_inbox(p_tenant_id, v_poison, p_error);
  end if;
end
$$;
