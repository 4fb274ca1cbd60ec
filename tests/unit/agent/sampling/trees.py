"""Trees of control groups as kubelets and others make them, out of ordinary files."""

from pathlib import Path

UID = "0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9"
OTHER = "ffffffff-4e5f-6071-8293-a4b5c6d7e8f9"
STATIC = "0123456789abcdef0123456789abcdef"
CONTAINER = "3f" * 32

_SLICES = "kubepods.slice/kubepods-{qos}.slice/kubepods-{qos}-pod{escaped}.slice"
_KIND = "kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-{qos}.slice"
_K3S = "user.slice/user-1000.slice/user@1000.service/k3s-rootless.service"

SHAPES: dict[str, tuple[str, str]] = {
    "containerd with systemd, Burstable": (
        _SLICES.replace("{qos}", "burstable"),
        "cri-containerd-{container}.scope",
    ),
    "containerd with systemd, Guaranteed": (
        "kubepods.slice/kubepods-pod{escaped}.slice",
        "cri-containerd-{container}.scope",
    ),
    "CRI-O with systemd, BestEffort": (
        _SLICES.replace("{qos}", "besteffort"),
        "crio-{container}.scope",
    ),
    "containerd with cgroupfs, Burstable": ("kubepods/burstable/pod{uid}", "{container}"),
    "containerd with cgroupfs, Guaranteed": ("kubepods/pod{uid}", "{container}"),
    "CRI-O with cgroupfs, BestEffort": ("kubepods/besteffort/pod{uid}", "crio-{container}"),
    "kind with systemd": (
        _KIND.replace("{qos}", "burstable") + "/kubelet-kubepods-burstable-pod{escaped}.slice",
        "cri-containerd-{container}.scope",
    ),
    "kind with cgroupfs, seen from its host": (
        "docker/{container}/kubelet/kubepods/burstable/pod{uid}",
        "{container}",
    ),
    "a kubelet with a root of its own": ("rn/n1/kubepods/burstable/pod{uid}", "{container}"),
    "rootless k3s": (_K3S + "/kubepods/besteffort/pod{uid}", "{container}"),
    "a process node": ("shuntyard-0badcafe/worker-0/pod{uid}", ""),
}


def path_of(shape: str, uid: str) -> str:
    """The pod's directory below the root."""
    pod, _ = SHAPES[shape]
    return pod.format(uid=uid, escaped=uid.replace("-", "_"), container=CONTAINER)


def container_of(shape: str, uid: str) -> str:
    """Its container's directory; the pod's own where it has none."""
    _, container = SHAPES[shape]
    return f"{path_of(shape, uid)}/{container.format(container=CONTAINER)}".rstrip("/")


def _stat(periods: int, throttled: int) -> str:
    return f"nr_periods {periods}\nnr_throttled {throttled}\n"


def set_version2(
    group: Path,
    *,
    cpu_seconds: float = 0.0,
    memory_bytes: int = 0,
    inactive_bytes: int = 0,
    periods: int = 0,
    throttled: int = 0,
    pressure_percent: float = 0.0,
) -> None:
    """Write what a group of version 2 shows."""
    group.mkdir(parents=True, exist_ok=True)
    usage = f"usage_usec {round(cpu_seconds * 1e6)}\nuser_usec 1\nsystem_usec 2\n"
    (group / "cpu.stat").write_text(usage + _stat(periods, throttled) + "throttled_usec 3\n")
    (group / "memory.current").write_text(f"{memory_bytes}\n")
    idle = f"anon 1\nfile 2\ninactive_anon 3\ninactive_file {inactive_bytes}\nactive_file 5\n"
    (group / "memory.stat").write_text(idle)
    some = f"some avg10={pressure_percent:.2f} avg60=0.00 avg300=0.00 total=1\n"
    (group / "cpu.pressure").write_text(some + some.replace("some", "full"))


def set_version1(
    root: Path,
    path: str,
    *,
    cpu_seconds: float = 0.0,
    memory_bytes: int = 0,
    inactive_bytes: int = 0,
    periods: int = 0,
    throttled: int = 0,
) -> None:
    """Write what the three groups of version 1 show."""
    for controller in ("cpu,cpuacct", "memory"):
        (root / controller / path).mkdir(parents=True, exist_ok=True)
    group = root / "cpu,cpuacct" / path
    (group / "cpu.stat").write_text(_stat(periods, throttled) + "throttled_time 3\n")
    (group / "cpuacct.usage").write_text(f"{round(cpu_seconds * 1e9)}\n")
    group = root / "memory" / path
    (group / "memory.usage_in_bytes").write_text(f"{memory_bytes}\n")
    idle = f"inactive_file 1\nactive_file 2\ntotal_inactive_file {inactive_bytes}\n"
    (group / "memory.stat").write_text(idle)


def empty_version2(root: Path) -> Path:
    """The root of a unified hierarchy, with the services of an ordinary machine."""
    root.mkdir(exist_ok=True)
    (root / "cgroup.controllers").write_text("cpuset cpu io memory pids\n")
    for name in ("system.slice/ssh.service", "system.slice/kubelet.service", "init.scope"):
        (root / name).mkdir(parents=True)
    return root


def empty_version1(root: Path) -> Path:
    """Version 1 with ``cpu`` and ``cpuacct`` mounted together, as distributions have it."""
    for controller in ("cpu,cpuacct", "memory"):
        (root / controller / "system.slice/ssh.service").mkdir(parents=True)
        (root / controller / "cgroup.procs").write_text("")
    (root / "cpu").symlink_to("cpu,cpuacct")
    (root / "cpuacct").symlink_to("cpu,cpuacct")
    return root
