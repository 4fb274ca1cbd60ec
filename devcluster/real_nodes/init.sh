#!/bin/sh
# The first process of a node. Mounts are the node's own; when this process ends, all of it ends.
set -eu
trap 'exit 0' TERM

echo "$NODE_NAME" > /proc/sys/kernel/hostname
mount --make-rshared /                     # the kubelet's mounts must reach containerd's containers
mount -t tmpfs -o mode=755 run /run
mount -t sysfs sysfs /sys                  # of this network, and without the machine's groups
mount -t tmpfs -o mode=755 cgroup /sys/fs/cgroup

# The node's groups at the places where a machine has its own.
while IFS=: read -r _ controllers _; do
  case $controllers in
    '') directory=unified kind=cgroup2 options=rw ;;
    name=*) directory=${controllers#name=} kind=cgroup options=none,$controllers ;;
    *) directory=$controllers kind=cgroup options=$controllers ;;
  esac
  mkdir "/sys/fs/cgroup/$directory"
  mount -t "$kind" -o "$options" "$kind" "/sys/fs/cgroup/$directory"
done < /proc/self/cgroup

# The kubelet wants these kernel settings and writes them where it finds others. They are the whole
# machine's (with them a kernel fault restarts it), so the kubelet finds files of ours that say yes.
mkdir /run/sysctl
for setting in vm/overcommit_memory=1 vm/panic_on_oom=0 kernel/panic=10 kernel/panic_on_oops=1 \
  kernel/keys/root_maxkeys=1000000 kernel/keys/root_maxbytes=25000000; do
  name=${setting%=*}
  file=/run/sysctl/$(echo "$name" | tr / .)
  echo "${setting#*=}" > "$file"
  mount --bind "$file" "/proc/sys/$name"
done

for place in kubelet:/var/lib/kubelet cni:/var/lib/cni pods:/var/log/pods \
  containers:/var/log/containers; do
  mount --bind "$NODE_DIRECTORY/${place%%:*}" "${place#*:}"
done
mount -o loop,noatime "$NODE_DIRECTORY/$NODE_DISK" "$NODE_DIRECTORY/containerd"
mkdir /run/cni
cp -r "$NODE_DIRECTORY/net.d" /run/cni/net.d

keep_running() {
  name=$1
  shift
  while :; do
    "$@" >> "$NODE_LOGS/$NODE_NAME-$name.log" 2>&1 || true
    sleep 1
  done
}

socket=/run/containerd/containerd.sock
keep_running containerd containerd --config "$NODE_SCRIPTS/containerd.toml" \
  --root "$NODE_DIRECTORY/containerd" --state /run/containerd --address "$socket" &
until ctr --address "$socket" version > /dev/null 2>&1; do
  sleep 0.05
done
if [ ! -e "$NODE_DIRECTORY/imported" ]; then
  for image in $NODE_IMAGES; do
    ctr --address "$socket" --namespace k8s.io images import "$image"
  done
  : > "$NODE_DIRECTORY/imported"
fi

keep_running kubelet "$NODE_KUBELET" --config "$NODE_DIRECTORY/kubelet.yaml" \
  --kubeconfig "$NODE_KUBECONFIG" --hostname-override "$NODE_NAME" --node-ip "$NODE_ADDRESS" \
  --node-labels "$NODE_LABELS" &
keep_running kube-proxy "$NODE_PROXY" --config "$NODE_DIRECTORY/kube-proxy.yaml" &
while :; do
  wait                                     # whose parents have ended are this process's to reap
done
