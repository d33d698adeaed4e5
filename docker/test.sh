#!/bin/sh
# The pgTAP suite inside the image of docker/postgres: builds it, starts it, loads the bundle and runs every file.
set -eu
cd "$(dirname "$0")/.."
if ! docker info > /dev/null 2>&1; then
  echo "make test-docker needs a running docker engine; make test runs the same suite without one" >&2
  exit 2
fi
docker build --quiet --tag pgbpm-postgres --file docker/postgres/Dockerfile .
container=$(docker run --rm --detach --env POSTGRES_PASSWORD=test --volume "$PWD:/source:ro" pgbpm-postgres)
trap 'docker stop "$container" > /dev/null' EXIT INT TERM
until docker exec "$container" pg_isready -q; do sleep 0.2; done
docker exec "$container" sh /source/docker/pgtap.sh
