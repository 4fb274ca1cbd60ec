"""Kept logs of version 3, decided again: ``python -m tests.replaying.kept DIRECTORY ...``.

A kept log is a folder with its segments, as they were written or compressed, and ``settings.json``:
the sections that decide. In these logs stands in full what a log has only a digest of.
"""

import contextlib
import io
import json
import lzma
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final
from unittest import mock

from extender.app import replay
from extender.core.cluster import session as protocol
from extender.core.decisionlog.replay import parameters_hash
from extender.core.parameters.combined import PUBLISHED, CoreParameters
from extender.settings.extender import ExtenderSettings
from extender.settings.policy import core_parameters
from shared import labels
from tests.replaying import converting

SETTINGS: Final = "settings.json"


def logs(below: Path) -> list[Path]:
    """Return the folders of all kept logs."""
    return sorted(path.parent for path in below.rglob(SETTINGS))


def segments(log: Path) -> list[tuple[str, list[bytes]]]:
    """Return the name and the lines of each segment, oldest first."""
    found = []
    for file in sorted(log.glob("decisions-*.jsonl*")):
        content = file.read_bytes()
        text = lzma.decompress(content) if file.suffix == ".xz" else content
        found.append((file.name.removesuffix(".xz"), text.splitlines(keepends=True)))
    return found


def parameters(log: Path) -> CoreParameters:
    """Return the parameters that decided: what version 3 did not have is off."""
    old: dict[str, Any] = json.loads((log / SETTINGS).read_text())
    settings = ExtenderSettings.model_validate(converting.settings(old))
    params = core_parameters(settings, labels.SCHEDULER_NAME)
    return replace(
        params,
        job_size=PUBLISHED.job_size,
        weights=replace(params.weights, preference=0.0, sparing=0.0),
        waiting=replace(params.waiting, keeps_room=PUBLISHED.waiting.keeps_room),
    )


def decide_again(log: Path, scratch: Path) -> tuple[int, str]:
    """Convert a log into a folder and replay it there.

    Returns:
        0 if nothing differs, and what the replay printed.
    """
    params = parameters(log)
    for name, lines in segments(log):
        whole = (line for line in lines if line.endswith(b"\n"))
        new = converting.lines(whole, parameters_hash(params))
        (scratch / name).write_bytes(b"".join(new))
    output = io.StringIO()
    with _in_full(), contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        code = replay.run(scratch, params)
    return code, output.getvalue()


@contextlib.contextmanager
def _in_full() -> Iterator[None]:
    with mock.patch.object(protocol, "digest", lambda value: value):
        yield


def main(arguments: Sequence[str]) -> int:
    """Replay all kept logs below some folders, and print what differs."""
    wrong = 0
    found = [log for below in arguments for log in logs(Path(below))]
    for log in found:
        with tempfile.TemporaryDirectory() as scratch:
            code, output = decide_again(log, Path(scratch))
        if code:
            wrong += 1
            sys.stdout.write(f"{log}\n{output}")
    sys.stdout.write(f"{len(found)} logs replayed, {wrong} differ\n")
    return 1 if wrong or not found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
