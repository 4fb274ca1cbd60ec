#!/bin/sh
# First step of a node: this process enters the node's control groups, which become the roots of a
# namespace, and leaves this machine's network. The next step still knows it as descriptor 9.
set -eu
for group in $NODE_GROUPS; do
  echo 0 > "$group/cgroup.procs"
done
exec 9</proc/self/ns/net
exec unshare --net --cgroup -- sh "$NODE_SCRIPTS/connect.sh"
