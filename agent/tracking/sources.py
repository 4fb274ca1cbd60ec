"""The sources of a pod's values: what its annotation names, else the convention, else its log."""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import Final

from agent.parsing.base import DocumentParser, Parser, RecordParser
from agent.parsing.choosing import format_of, parser_for
from agent.parsing.patterns import PATTERN_BYTES, Pattern, compiled
from agent.tailing import opening, volume
from agent.tailing.chunk import Limits, OpenFiles
from agent.tailing.cri import PodLogFollower
from agent.tailing.follower import FileFollower
from agent.tailing.whole_file import NewestDocument
from agent.tracking.source import Source
from agent.tracking.streams import DocumentStream, LineStream, RecordStream, Stream
from shared import labels, places
from shared.convergence.parameters import ConvergenceParameters
from shared.errors import InputError
from shared.places import MetricsPlace, Whose
from shared.wire import PodPlace

MOST_CONTAINERS: Final = 4
"""Logs of so many containers of a pod are read until one of them has values."""
_MOST_NAMES: Final = 256
"""Names of a pod's log directory that are looked at: one for each container."""
_DOCUMENT: Final = "trainer-state"
_ANNOTATION: Final = f"annotation {labels.METRICS}"
_CONVENTION: Final = "metrics files by convention"
_CONTAINER: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
Makers = Mapping[Path, Callable[[], Source]]


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """See the module; times are settings of the section ``following``.

    Attributes:
        node: Name of our node: no other agent writes under it.
        volume: Root of the shared volume.
        pod_logs: The kubelet's directory of pod logs.
        checkpoint_gid: Group of a checkpoint request; None: as the system decides.
        limits: What one file is held to.
        open_files: Who may have files open.
        files: How many are followed of one pod.
        params: Of Algorithm 1.
    """

    node: str
    volume: Path
    pod_logs: Path
    checkpoint_gid: int | None
    limits: Limits
    open_files: OpenFiles
    files: int
    params: ConvergenceParameters
    interval_seconds: float
    checkpoint_seconds: float
    asked_seconds: float
    find_seconds: float


@dataclass
class Sources:
    """The sources of one pod.

    Attributes:
        pod: The pod.
        place: What its annotation says.
        around: What all pods share.
        problem: Why there is nothing to read, or not all of it, in words.
        all: The sources, in order of their names.
    """

    pod: PodPlace
    place: MetricsPlace
    around: Surroundings
    problem: str = ""
    all: tuple[Source, ...] = ()
    _found: dict[Path, Source] = field(default_factory=dict)
    _dropped: set[Path] = field(default_factory=set)
    _looked: bool = False

    @property
    def held_bytes(self) -> int:
        """Roughly what they keep together."""
        pattern = 0 if self.place.regex is None else PATTERN_BYTES
        return pattern + sum(source.held_bytes for source in self.all)

    def drop_largest(self) -> bool:
        """Read the source that keeps most no more; return whether there was one."""
        if not self._found:
            return False
        path = max(self._found, key=lambda one: self._found[one].held_bytes)
        self._found.pop(path).stream.close()
        self._dropped.add(path)
        self.all = tuple(self._found[path] for path in sorted(self._found))
        return True

    @property
    def dropped_problem(self) -> str:
        """What was dropped, in words; empty if nothing was."""
        if not self._dropped:
            return ""
        first = min(self._dropped).name
        others = f" and {len(self._dropped) - 1} others" if len(self._dropped) > 1 else ""
        return (
            f"{first}{others} read no more: the agent would have to keep too much of it "
            "(names of metrics, unfinished lines)"
        )

    def find(self) -> None:
        """Look for files that have come, or have taken the place of others.

        What was read stays known while nothing else is there: a file may be away for a moment.
        """
        self.problem = ""
        try:
            wanted = self._wanted()
            self._dropped &= wanted.keys()
            for path in [one for one in self._found if wanted and one not in wanted]:
                self._found.pop(path).stream.close()
            for path, make in wanted.items():
                if path not in self._found and path not in self._dropped:
                    self._found[path] = make()
        except InputError as error:
            self.problem = str(error)
        self.all = tuple(self._found[path] for path in sorted(self._found))
        self._looked = True

    def close(self) -> None:
        """Give back what is open."""
        for source in self._found.values():
            source.stream.close()
        self._found, self.all = {}, ()

    def _wanted(self) -> Makers:
        """Return what is to be read now, and how to begin with it."""
        place, root = self.place, self.around.volume
        if place.path == places.LOG:
            return self._logs()
        if place.path is None:
            files = self._conventional()
            return self._files(files) if files or self._has_read(root) else self._logs()
        if format_of(place.format, place.path) == _DOCUMENT:
            return {root / place.path: partial(self._document, place.path)}
        files = volume.resolve(root, place.path)
        if not files:
            self.problem = f"there is no file {place.path} on the volume yet"
        return self._files(files)

    def _has_read(self, root: Path) -> bool:
        found = self._found.items()
        return any(source.tracks and path.is_relative_to(root) for path, source in found)

    def _conventional(self) -> Sequence[Path]:
        """Leave out what only begins like ours: ``job-1`` is not to read ``job-10.jsonl``."""
        pattern = places.conventional_metrics(whose(self.pod))
        files = volume.resolve(self.around.volume, pattern, field=_CONVENTION)
        length = len(self.pod.name)
        return [file for file in files if not file.name[length : length + 1].isalnum()]

    def _files(self, files: Sequence[Path]) -> Makers:
        """Of too many files those that were written last are read."""
        most = self.around.files
        if len(files) > most:
            self.problem = f"{len(files)} files, of which the latest {most} are read"
            files = sorted(files, key=_written_at)[-most:]
        return {path: partial(self._file, path) for path in files}

    def _file(self, path: Path) -> Source:
        around, place = self.around, self.place
        name = str(path.relative_to(around.volume))
        parser = parser_for(place.format, file_name=name, regex=self._pattern, metric=place.metric)
        if isinstance(parser, DocumentParser):
            return self._document(name)
        follower = FileFollower(
            path,
            root=around.volume,
            limits=around.limits,
            appeared=self._looked,
            binary=isinstance(parser, RecordParser),
            open_files=around.open_files,
        )
        stream: Stream = (
            RecordStream(follower, parser)
            if isinstance(parser, RecordParser)
            else LineStream(follower, parser)
        )
        return Source(name, stream, place, around.params, _written_at(path))

    def _document(self, pattern: str) -> Source:
        place, around = self.place, self.around
        parser = parser_for(_DOCUMENT)
        if not isinstance(parser, DocumentParser):
            raise InputError(f"{_ANNOTATION}, format", _DOCUMENT, "a document")
        stream = DocumentStream(NewestDocument(around.volume, pattern), parser)
        return Source(pattern, stream, place, around.params)

    @cached_property
    def _pattern(self) -> Pattern | None:
        """The pattern of the annotation, compiled once for all files."""
        return None if self.place.regex is None else compiled(self.place.regex)

    def _logs(self) -> Makers:
        """Return the logs of all containers, until one has values: then its own only."""
        pod = self.pod
        folder = self.around.pod_logs / f"{pod.namespace}_{pod.name}_{pod.uid}"
        names = self._containers(folder)
        speaking = {path: partial(self._log, path) for path, s in self._found.items() if s.tracks}
        return speaking or {folder / name: partial(self._log, folder / name) for name in names}

    def _containers(self, folder: Path) -> Sequence[str]:
        wanted = self.place.container
        if wanted is not None:
            if not _CONTAINER.fullmatch(wanted):
                raise InputError(f"{_ANNOTATION}, container", wanted, "the name of a container")
            return [wanted]
        try:
            with (
                opening.directory(self.around.pod_logs, folder, listing=True) as descriptor,
                os.scandir(descriptor) as entries,
            ):
                names = [entry.name for entry in islice(entries, _MOST_NAMES)]
            return sorted(names)[:MOST_CONTAINERS]
        except FileNotFoundError:
            return []
        except OSError as error:
            self.problem = opening.problem(error, folder)
            return []

    def _log(self, folder: Path) -> Source:
        around, place = self.around, self.place
        parser = parser_for(place.format, regex=self._pattern, metric=place.metric)
        if not isinstance(parser, Parser):
            expected = "a format of lines: it is the container's log that is read"
            raise InputError(f"{_ANNOTATION}, format", place.format, expected)
        follower = PodLogFollower(folder, limits=around.limits, open_files=around.open_files)
        name = f"log of container {folder.name}"
        return Source(name, LineStream(follower, parser), place, around.params)


def whose(pod: PodPlace) -> Whose:
    """Return the pod as ``shared.places`` wants it."""
    return Whose(pod.namespace, pod.job, pod.name, pod.uid, pod.role, pod.index)


def _written_at(path: Path) -> float:
    try:
        return path.stat(follow_symlinks=False).st_mtime
    except OSError:
        return 0.0
