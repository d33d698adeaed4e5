#!/bin/sh
# Makes the data directory when there is none, then becomes the server. POSTGRES_PASSWORD is asked of connections from outside the container.
set -eu
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  if [ -z "${POSTGRES_PASSWORD:-}" ]; then
    echo "set POSTGRES_PASSWORD: the server listens to other containers" >&2
    exit 1
  fi
  secret=$(mktemp)
  printf '%s' "$POSTGRES_PASSWORD" > "$secret"
  initdb --pgdata="$PGDATA" --username=postgres --pwfile="$secret" --encoding=UTF8 --locale=C.UTF-8 \
         --auth-local=trust --auth-host=scram-sha-256 > /dev/null
  rm -f "$secret"
  echo "host all all all scram-sha-256" >> "$PGDATA/pg_hba.conf"
fi
exec postgres -D "$PGDATA" -c listen_addresses='*' -c unix_socket_directories=/run/postgresql
