import socket
from pathlib import Path

import psutil
import pytest

from devcluster.errors import DevclusterError
from devcluster.local import processes
from devcluster.local.processes import MARK
from devcluster.local.state import Component
from devcluster.shuntyard import replicas

WHY_NOT = replicas.missing()


@pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT or "never")
def test_a_component_has_the_name_and_we_keep_ours(tmp_path: Path) -> None:
    before, log = socket.gethostname(), tmp_path / "program.log"
    named = replicas.on_host(
        Component(("/bin/sh", "-c", "hostname; exec sleep 600"), str(log)), "it"
    )
    identity = processes.spawn(named.argv, {MARK: str(tmp_path), "PATH": "/usr/bin:/bin"}, log)
    try:
        process = psutil.Process(identity.pid)
        while process.cmdline() != ["sleep", "600"]:
            assert processes.find(identity, str(tmp_path)) is not None
        assert log.read_text() == "it\n"
        assert process.children() == []
        assert socket.gethostname() == before
    finally:
        processes.end(list(processes.leftovers(str(tmp_path))), 0.0)


def test_an_unsupported_machine_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replicas, "missing", lambda: "needs root")
    with pytest.raises(DevclusterError, match="needs root"):
        replicas.on_host(Component(("/bin/true",), "log"), "it")
