#!/bin/sh
# Writes requirements/dev.txt from pyproject.toml: versions and hashes, no address of an index. pins.sh BIN
set -eu
"$1/python" -m pip --disable-pip-version-check --quiet install pip-tools
new=$(mktemp)
trap 'rm -f "$new"' EXIT
"$1/pip-compile" --quiet --upgrade --generate-hashes --strip-extras --no-header --no-annotate \
  --no-emit-index-url --no-emit-find-links --no-emit-trusted-host \
  --extra dev --extra server --output-file "$new" pyproject.toml
{
  echo "# The development environment, pinned with hashes. Made from pyproject.toml by: make pins"
  cat "$new"
} > requirements/dev.txt
