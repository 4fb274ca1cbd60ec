#!/bin/sh
# Second step of a node: a cable from its network to the bridge of this machine.
set -eu
host() { nsenter --net=/proc/self/fd/9 "$@"; }

host ip link delete "$NODE_LINK" 2>/dev/null || true   # of the node's last life, still ending
host ip link add "$NODE_LINK" type veth peer name eth0 netns $$
host ip link set "$NODE_LINK" master "$NODE_BRIDGE" up
exec 9<&-
ip link set lo up
ip link set eth0 address "$NODE_CARD"
ip address add "$NODE_ADDRESS/24" dev eth0
ip link set eth0 up
ip route add default via "$NODE_GATEWAY"

# Without --kill-child the node would outlive this process, which is what the cluster knows of it.
exec unshare --pid --fork --kill-child --mount --uts --ipc --propagation private --mount-proc -- \
  sh "$NODE_SCRIPTS/init.sh"
