#!/bin/sh
# Installs Debian's pgbouncer, which `npm run show -- worker.5` puts between workers and PostgreSQL.
set -eu
PATH="$PATH:/usr/sbin"

if command -v pgbouncer >/dev/null; then
  pgbouncer --version | head -n 1
  exit 0
fi
if ! command -v apt-get >/dev/null; then
  echo "expected Debian's apt-get, found none: install pgbouncer by hand, so that it is in the PATH" >&2
  exit 1
fi
if [ "$(id -u)" -ne 0 ]; then
  echo "expected to be root, found $(id -un): run it again with sudo, or install pgbouncer by hand" >&2
  exit 1
fi
export DEBIAN_FRONTEND=noninteractive
# The package starts a service of its own, which nobody needs here.
RUNLEVEL=1 apt-get install -y --no-install-recommends pgbouncer ||
  { apt-get update && RUNLEVEL=1 apt-get install -y --no-install-recommends pgbouncer; }
pgbouncer --version | head -n 1
