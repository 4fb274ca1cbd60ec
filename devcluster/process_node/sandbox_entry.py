"""Runs inside the child before the container's command: cgroup, namespaces, mounts, exec.

A program of its own (standard library only, started as ``python -I -S sandbox_entry.py SPEC FD``),
because a process enters a mount namespace by itself. SPEC is a JSON file with the fields of
``devcluster.process_node.sandbox.EntrySpec``. What goes wrong is written to FD, which exec closes:
FD at its end without a text means that the command runs.

The new root is a tmpfs. Each entry of the host's ``/`` is bound into it; a directory in which a
mount point is missing is rebuilt on the tmpfs from binds of its children. So volumes appear at
their real paths, and nothing is created on the host.
"""

import ctypes
import errno
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any, Final

_MS_RDONLY: Final = 1
_MS_REMOUNT: Final = 32
_MS_BIND: Final = 4096
_MS_REC: Final = 16384
_MS_UNBINDABLE: Final = 1 << 17
_MS_PRIVATE: Final = 1 << 18
_MNT_DETACH: Final = 2
_CLONE_NEWNS: Final = 0x00020000
_CLONE_NEWUTS: Final = 0x04000000
_CLONE_NEWUSER: Final = 0x10000000
_PR_SET_PDEATHSIG: Final = 1
_PIVOT_ROOT: Final = {"x86_64": 155, "aarch64": 41, "riscv64": 41, "ppc64le": 203, "s390x": 217}
# nosuid, nodev, noexec, noatime, nodiratime: a user namespace may not drop them when it remounts.
_KEPT_FLAGS: Final = 2 | 4 | 8 | 1024 | 2048
_ROOT: Final = Path("/")

_libc = ctypes.CDLL(None, use_errno=True)


def _check(what: str, result: int) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def _mount(source: Path | str, target: Path, flags: int, kind: str = "", data: str = "") -> None:
    result = _libc.mount(
        os.fsencode(source),
        os.fsencode(target),
        kind.encode() or None,
        ctypes.c_ulong(flags),
        data.encode() or None,
    )
    _check(f"mount {source} on {target}", result)


def _enter_namespaces(hostname: str, *, user: bool) -> None:
    """Unshare mounts and host name; with ``user`` in a user namespace that maps us to ourselves."""
    uid, gid = os.getuid(), os.getgid()
    _check("unshare", _libc.unshare(_CLONE_NEWNS | _CLONE_NEWUTS | (_CLONE_NEWUSER if user else 0)))
    if user:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
        Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")
    name = hostname.encode()
    _check("sethostname", _libc.sethostname(name, len(name)))
    _mount("none", _ROOT, _MS_REC | _MS_PRIVATE)


def rebuilt_directories(targets: list[Path]) -> set[Path]:
    """Return the host directories that lack a mount point, with all their ancestors."""
    rebuilt = {_ROOT}
    for target in targets:
        if not os.path.lexists(target):
            place = next(parent for parent in target.parents if parent.is_dir())
            rebuilt.update((place, *place.parents))
    return rebuilt


def _make_mount_point(place: Path, *, directory: bool) -> None:
    if place.exists():
        return
    (place if directory else place.parent).mkdir(parents=True, exist_ok=True)
    if not directory:
        place.touch()


def _bind_children(host: Path, new_root: Path, rebuilt: set[Path]) -> None:
    for child in host.iterdir():
        place = new_root / child.relative_to(_ROOT)
        try:
            if child.is_symlink():
                place.symlink_to(child.readlink())
            elif child in rebuilt:
                place.mkdir()
                place.chmod(child.stat().st_mode & 0o7777)
                _bind_children(child, new_root, rebuilt)
            else:
                _make_mount_point(place, directory=child.is_dir())
                _mount(child, place, _MS_BIND | _MS_REC)
        except OSError as error:
            # Another process may remove a file meanwhile; a mount marked unbindable raises EINVAL.
            if error.errno not in {errno.ENOENT, errno.EINVAL}:
                raise


def _bind_volume(new_root: Path, target: Path, mount: dict[str, Any]) -> None:
    place = new_root / target.relative_to(_ROOT)
    source = Path(mount["source"])
    _make_mount_point(place, directory=source.is_dir())
    _mount(source, place, _MS_BIND | _MS_REC)
    if mount["read_only"]:
        kept = os.statvfs(place).f_flag & _KEPT_FLAGS
        _mount("none", place, _MS_REMOUNT | _MS_BIND | _MS_RDONLY | kept)


def _enter_new_root(new_root: Path, mounts: list[dict[str, Any]]) -> None:
    """Make ``new_root`` look like the host with ``mounts`` at their paths, and move into it."""
    _mount("tmpfs", new_root, 0, "tmpfs", "mode=755")
    _mount("none", new_root, _MS_UNBINDABLE)
    by_target = sorted(((Path(mount["path"]).resolve(), mount) for mount in mounts), key=_by_path)
    _bind_children(_ROOT, new_root, rebuilt_directories([target for target, _ in by_target]))
    for target, mount in by_target:
        _bind_volume(new_root, target, mount)
    os.chdir(new_root)
    _check("pivot_root", _libc.syscall(_PIVOT_ROOT[os.uname().machine], b".", b"."))
    _check("umount of the old root", _libc.umount2(b".", _MNT_DETACH))
    os.chdir(_ROOT)


def _by_path(pair: tuple[Path, dict[str, Any]]) -> Path:
    return pair[0]


def _reset_signals() -> None:
    """Restore SIGPIPE, which Python ignores at its start, and exec would keep ignoring."""
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)


def run(spec: dict[str, Any]) -> None:
    """Become the container's main process; returns only by an exception.

    Raises:
        OSError: The kernel refused a step, or the command cannot be executed.
    """
    _check("prctl", _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL))
    if os.getppid() != spec["parent"]:
        sys.exit("the node process is gone")
    # Opened here, as a new root may hide the files.
    cgroups = [os.open(name, os.O_WRONLY) for name in spec["cgroup_files"]]
    if spec["mode"] != "rewrite":
        _enter_namespaces(spec["hostname"], user=spec["mode"] == "user-namespace")
        _enter_new_root(Path(spec["new_root"]), spec["mounts"])
    os.chdir(spec["working_directory"])
    _reset_signals()
    for descriptor in cgroups:  # last, so that this program does not run on the pod's share
        os.write(descriptor, b"0")
    os.execvpe(spec["argv"][0], spec["argv"], spec["environment"])  # noqa: S606 - that is its purpose


def main() -> None:
    """Read the spec, run it, and report errors to the node process."""
    channel = int(sys.argv[2])
    os.set_inheritable(channel, False)
    try:
        run(json.loads(Path(sys.argv[1]).read_text()))
    except (OSError, KeyError, ValueError) as error:
        os.write(channel, str(error).encode())
        sys.exit(128)


if __name__ == "__main__":
    main()
