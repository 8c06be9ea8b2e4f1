#!/bin/sh
# Installs Debian's tmux: the tests of `posthaste top` run it in a real terminal.
set -eu

if command -v tmux >/dev/null; then
  tmux -V
  exit 0
fi
if ! command -v apt-get >/dev/null; then
  echo "expected Debian's apt-get, found none: install tmux by hand, so that it is in the PATH" >&2
  exit 1
fi
if [ "$(id -u)" -ne 0 ]; then
  echo "expected to be root, found $(id -un): run it again with sudo, or install tmux by hand" >&2
  exit 1
fi
export DEBIAN_FRONTEND=noninteractive
apt-get install -y --no-install-recommends tmux ||
  { apt-get update && apt-get install -y --no-install-recommends tmux; }
tmux -V
