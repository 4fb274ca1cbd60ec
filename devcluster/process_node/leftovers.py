"""What a node process that was killed has left behind: found by records on disk, and ended.

Each running container has a file ``running/<pid>.json`` with the identity of its main process. The
main process itself dies with the node process (``PR_SET_PDEATHSIG``); its children do not.
"""

import signal
from pathlib import Path

import msgspec

from devcluster.process_node import process
from devcluster.process_node.process import Identity


class Records:
    """The records of one node's running containers.

    Args:
        directory: The node's directory.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory / "running"
        self._directory.mkdir(parents=True, exist_ok=True)

    def add(self, identity: Identity) -> None:
        """Remember a container's main process."""
        path = self._directory / f"{identity.pid}.json"
        path.write_bytes(msgspec.json.encode(identity))

    def remove(self, pid: int) -> None:
        """Forget it: it has ended, and so has its group."""
        (self._directory / f"{pid}.json").unlink(missing_ok=True)

    def end_all(self) -> list[int]:
        """Kill every recorded process group that is still the recorded one; return those killed."""
        ended = []
        groups = process.groups()
        for path in self._directory.glob("*.json"):
            recorded = msgspec.json.decode(path.read_bytes(), type=Identity)
            if recorded.pid in groups and _is_ours(recorded):
                process.signal_group(recorded.pid, signal.SIGKILL)
                ended.append(recorded.pid)
            path.unlink()
        return ended


def _is_ours(recorded: Identity) -> bool:
    """Its number belongs to it, or to nobody: a group keeps its number from being given away."""
    if recorded.boot != process.boot():
        return False
    now = process.identity(recorded.pid)
    return now is None or now == recorded
