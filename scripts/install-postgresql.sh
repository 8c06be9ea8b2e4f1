#!/bin/sh
# Installs Debian's PostgreSQL server: tests of the embedded server run it beside the one from npm.
set -eu

if ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1; then
  ls /usr/lib/postgresql/*/bin/postgres
  exit 0
fi
if ! command -v apt-get >/dev/null; then
  echo "expected Debian's apt-get, found none: install a PostgreSQL server by hand" >&2
  exit 1
fi
if [ "$(id -u)" -ne 0 ]; then
  echo "expected to be root, found $(id -un): run it again with sudo, or install a PostgreSQL server by hand" >&2
  exit 1
fi
export DEBIAN_FRONTEND=noninteractive
# The package starts a service of its own, which nobody needs here.
RUNLEVEL=1 apt-get install -y --no-install-recommends postgresql ||
  { apt-get update && RUNLEVEL=1 apt-get install -y --no-install-recommends postgresql; }
ls /usr/lib/postgresql/*/bin/postgres
