-- Purges a piece of evidence, once its object was removed from where it lay or is about to be: the key goes, a tombstone stays, with the hash of the content,
-- so that what it proved can still be told apart and nobody brings it in again. Whatever referred to it goes on doing so; nothing new may.
-- Returns:  one row: evidence_id, object_key (what to remove from the store; null in a repeat), sha256 (hex), purged_at, is_new (false: purged before).
-- Raises:   BP400 no reason; BP403; BP404 no such evidence.
-- Writes:   evidence, audit_event (without the key). Locks: evidence.
create or replace function bpm.purge_evidence(p_evidence_id uuid, p_reason text, p_actor text default null, p_tenant_id text default '')
returns table (evidence_id uuid, object_key text, sha256 text, purged_at timestamptz, is_new boolean)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '10s'
as $$
declare
  v_actor    text;
  r_evidence bpm_core.evidence;
begin
  perform bpm_core.enter_call(p_tenant_id, 'admin');
  v_actor := bpm_core.acting_as(p_tenant_id, p_actor);
  if coalesce(length(btrim(p_reason)), 0) not between 1 and 2000 then
    perform bpm_core.fail('BP400', 'A purge needs a reason of 1 to 2000 characters.', null, 'Pass p_reason; the audit keeps it.');
  end if;
  select e.* into r_evidence from bpm_core.evidence e where e.tenant_id = p_tenant_id and e.id = p_evidence_id for no key update;
  if r_evidence.id is null then
    perform bpm_core.fail('BP404', format('There is no evidence %s.', coalesce(p_evidence_id::text, 'null')), null, 'See the view bpm.evidence.');
  end if;
  is_new := r_evidence.purged_at is null;
  object_key := r_evidence.object_key;
  if is_new then
    update bpm_core.evidence e
       set object_key = null, purged_at = bpm_core.now(), purged_by = v_actor
     where e.tenant_id = p_tenant_id and e.id = p_evidence_id
    returning e.* into r_evidence;
    perform bpm_core.write_audit(p_tenant_id, v_actor, 'PurgeEvidence', 'evidence', p_evidence_id::text, null, p_reason,
      jsonb_build_object('sha256', encode(r_evidence.sha256, 'hex'), 'mime', r_evidence.mime, 'size_bytes', r_evidence.size_bytes));
  end if;
  evidence_id := r_evidence.id;
  sha256 := encode(r_evidence.sha256, 'hex');
  purged_at := r_evidence.purged_at;
  return next;
end
$$;
