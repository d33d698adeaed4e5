#!/bin/sh
# Runs in the container of docker/postgres: every pgTAP file, each in a database of its own copied from one template.
set -eu
cd /source
createdb pgbpm_template
{
  cat sql/90_access/roles.sql
  echo 'set check_function_bodies = off; set role bpm_owner;'
  cat migrations/*.sql
  echo 'reset role;'
} | psql --quiet --no-psqlrc --set ON_ERROR_STOP=1 --single-transaction pgbpm_template > /dev/null
psql --quiet --no-psqlrc --set ON_ERROR_STOP=1 --command 'create extension pgtap' pgbpm_template
for file in sql/95_testkit/*.sql tests/pgtap/shared/*.sql; do
  psql --quiet --no-psqlrc --set ON_ERROR_STOP=1 --file "$file" pgbpm_template > /dev/null
done
files=$(find tests/pgtap -name '*.sql' -not -path '*/shared/*' | sort)
[ -n "$files" ] || { echo "no pgTAP files found" >&2; exit 1; }
failed=0
for file in $files; do
  createdb --template pgbpm_template pgbpm_test
  pg_prove --quiet --dbname pgbpm_test "$file" || failed=1
  dropdb pgbpm_test
done
exit $failed
