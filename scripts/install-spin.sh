#!/bin/sh
# Installs Debian's spin, and the compiler for what it writes: `npm run models` checks the models of the protocol with them.
set -eu

if command -v spin >/dev/null && command -v gcc >/dev/null; then
  spin -V
  exit 0
fi
if ! command -v apt-get >/dev/null; then
  echo "expected Debian's apt-get, found none: install spin and gcc by hand, so that they are in the PATH" >&2
  exit 1
fi
if [ "$(id -u)" -ne 0 ]; then
  echo "expected to be root, found $(id -un): run it again with sudo, or install spin and gcc by hand" >&2
  exit 1
fi
export DEBIAN_FRONTEND=noninteractive
apt-get install -y --no-install-recommends spin gcc libc6-dev ||
  { apt-get update && apt-get install -y --no-install-recommends spin gcc libc6-dev; }
spin -V
