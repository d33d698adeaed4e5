-- Keeping it healthy: working types of the checks.

create type bpm_core.violation as (invariant text, tenant_id text, subject text, detail jsonb);
comment on type bpm_core.violation is 'One row that breaks an invariant: which, whose, what (kind and id), and the values seen.';

create type bpm_core.health_check as (name text, ok boolean, required boolean, detail jsonb);
comment on type bpm_core.health_check is 'One check of ready(): only a required one that fails makes the database not ready, the others are warnings.';
