-- Keeping it healthy: working types of the checks.

create type bpm_core.violation as (invariant text, tenant_id text, subject text, detail jsonb);
comment on type bpm_core.violation is 'One row that breaks an invariant: which, whose, what (kind and id), and the values seen.';

create type bpm_core.health_check as (name text, ok boolean, required boolean, detail jsonb);
comment on type bpm_core.health_check is 'One check of ready(): only a required one that fails makes the database not ready, the others are warnings.';

-- A foreign key that ties columns of ours to a table of the host; identity is the name of the constraint.
create type bpm_core.identity_tie as (
  identity text, bound_table regclass, columns text[], host_table regclass, host_columns text[], is_valid boolean);
