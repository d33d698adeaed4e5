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
  v_this   bpm_core.inbox;
  v_poison bpm_core.inbox[] := array[]::bpm_core.inbox[];
begin
  -- One by one, as in apply_inbox.
  foreach v_this in array p_rows loop
    update bpm_core.inbox i
       set attempts = i.attempts + 1, last_error = p_error, available_at = v_now + interval '1 second' * power(2, least(i.attempts, 8))
     where i.tenant_id = p_tenant_id and i.id = v_this.id
    returning i.* into v_this;
    if v_this.attempts >= 10 then
      delete from bpm_core.inbox i where i.tenant_id = p_tenant_id and i.id = v_this.id;
      v_poison := v_poison || v_this;
    end if;
  end loop;
  if v_poison <> '{}' then
    perform bpm_core.bury_inbox(p_tenant_id, v_poison, p_error);
  end if;
end
$$;
