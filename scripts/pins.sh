#!/bin/sh
# Writes requirements/dev.txt from pyproject.toml and requirements/peers.txt from peers.in: versions and hashes, no address of an index.
# pins.sh BIN
set -eu
"$1/python" -m pip --disable-pip-version-check --quiet install pip-tools
new=$(mktemp)
trap 'rm -f "$new"' EXIT

# write OUTPUT HEADER SOURCE [OPTION ...]
write() {
  output=$1 header=$2 source=$3
  shift 3
  "$bin/pip-compile" --quiet --upgrade --generate-hashes --strip-extras --no-header --no-annotate \
    --no-emit-index-url --no-emit-find-links --no-emit-trusted-host \
    "$@" --output-file "$new" "$source"
  {
    echo "# $header"
    cat "$new"
  } > "$output"
  : > "$new"
}

bin=$1
write requirements/dev.txt "The development environment, pinned with hashes. Made from pyproject.toml by: make pins" \
  pyproject.toml --extra dev --extra server
write requirements/peers.txt "What \`make bench-peers\` installs, pinned with hashes. Made from peers.in by: make pins" \
  requirements/peers.in
