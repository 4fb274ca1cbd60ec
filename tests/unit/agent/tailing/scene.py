"""A file, its writer and its follower, and what was written in whole lines."""

import os
from pathlib import Path

from agent.tailing.chunk import Chunk, Limits
from agent.tailing.follower import FileFollower

SECONDS = 1.0
LONG_SECONDS = 1000.0


def open_descriptors() -> int:
    """How many this process has."""
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


class Scene:
    """A writer, and a reader that keeps up where a loss could not be detected."""

    def __init__(self, folder: Path, limits: Limits, *, polled: bool = False) -> None:
        self.path = folder / "metrics.log"
        self.follower = FileFollower(self.path, limits=limits)
        self.now = 0.0
        self.written: list[str] = []
        self.read: list[str] = []
        self._begun = ""
        self._lines = 0
        self._names = 0
        if polled:
            self.poll()

    def poll(self, _: object = None) -> Chunk:
        self.now += SECONDS
        chunk = self.follower.poll(self.now)
        assert chunk.problem == ""
        self.read += chunk.lines
        return chunk

    def catch_up(self) -> None:
        quiet = 0
        while quiet < 2:
            chunk = self.poll()
            quiet = 0 if chunk.lines or chunk.more or chunk.rotated else quiet + 1

    def write(self, lines: list[tuple[str, str]]) -> None:
        self._finish_line()
        whole = [(self._line(body), end) for body, end in lines]
        self._append("".join(line + end for line, end in whole))
        self.written += [line for line, _ in whole]

    def begin_a_line(self, body: str) -> None:
        self._finish_line()
        self._begun = self._line(body)
        self._append(self._begun)

    def rename(self, _: object = None) -> None:
        self.rename_and_make_none()
        self.path.touch()

    def rename_and_make_none(self, _: object = None) -> None:
        """At most one between two polls: of more, those between are never seen."""
        self.catch_up()
        if self.path.exists():
            self.write([("behind the last poll", "\n")])
            self._begun = ""
            self._names += 1
            self.path.rename(self.path.with_name(f"metrics.log.{self._names}"))

    def truncate(self, _: object = None) -> None:
        self.catch_up()
        if self.path.exists():
            self._begun = ""
            os.truncate(self.path, 0)

    def delete(self, _: object = None) -> None:
        self.catch_up()
        if self.path.exists():
            if self.follower.is_open:
                self.write([("only the open descriptor has it", "\n")])
            self._begun = ""
            self.path.unlink()

    def stay_idle(self, _: object = None) -> None:
        self.catch_up()
        self.now += LONG_SECONDS
        self.poll()

    def _line(self, body: str) -> str:
        self._lines += 1
        return f"{self._lines}:{body}."

    def _finish_line(self) -> None:
        if self._begun:
            self._append("\n")
            self.written.append(self._begun)
            self._begun = ""

    def _append(self, text: str) -> None:
        with self.path.open("ab") as file:
            file.write(text.encode())
