"""The sources of a pod's values: what its annotation names, else the convention, else its log."""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import Final

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
from shared.parsing.base import DocumentParser, Parser, RecordParser
from shared.parsing.choosing import format_of, parser_for
from shared.parsing.patterns import PATTERN_BYTES, Pattern, compiled
from shared.places import MetricsPlace, PathVariables
from shared.wire import PodPlace

MOST_CONTAINERS: Final = 4
"""Containers of a pod whose logs are read until one of them has values."""
SEARCH_EVERY: Final = 10
"""Of so many searches that would find the same, one is made."""
_MOST_NAMES: Final = 256
"""Names of a pod's log directory that are read: one for each container."""
_DOCUMENT: Final = "trainer-state"
_ANNOTATION: Final = f"annotation {labels.METRICS}"
_CONVENTION: Final = "metrics files by convention"
_CONTAINER: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
Makers = Mapping[Path, Callable[[], Source]]


@dataclass(frozen=True, kw_only=True)
class NodeContext:
    """What all pods of the node share; times are settings of the section ``following``.

    Attributes:
        node: Name of the node, used in names of temporary files: no other agent has it.
        volume: Root of the shared volume.
        pod_logs: The kubelet's directory of pod logs.
        checkpoint_gid: Group of a checkpoint request; None: the system's default.
        limits: Limits of one file.
        open_files: Limit of open files.
        files: Files followed for one pod.
        params: Parameters of Algorithm 1.
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
        place: The parsed annotation.
        context: What all pods share.
        problem: Why nothing is read, or not everything.
        all: The sources, sorted by name.
    """

    pod: PodPlace
    place: MetricsPlace
    context: NodeContext
    problem: str = ""
    all: tuple[Source, ...] = ()
    _by_path: dict[Path, Source] = field(default_factory=dict)
    _dropped: set[Path] = field(default_factory=set)
    _searched_before: bool = False
    _searched: tuple[object, ...] = ()
    _same_searches: int = 0

    @property
    def held_bytes(self) -> int:
        """Approximate memory of all sources."""
        pattern = 0 if self.place.regex is None else PATTERN_BYTES
        return pattern + sum(source.held_bytes for source in self.all)

    def drop_largest(self) -> bool:
        """Stop reading the source that uses most memory; return False if there is none."""
        if not self._by_path:
            return False
        path = max(self._by_path, key=lambda path: self._by_path[path].held_bytes)
        self._by_path.pop(path).stream.close()
        self._dropped.add(path)
        self.all = tuple(self._by_path[path] for path in sorted(self._by_path))
        return True

    @property
    def dropped_problem(self) -> str:
        """Message about dropped sources; empty if there are none."""
        if not self._dropped:
            return ""
        first = min(self._dropped).name
        others = f" and {len(self._dropped) - 1} others" if len(self._dropped) > 1 else ""
        return (
            f"{first}{others} no longer read: it would use too much of the agent's memory "
            "(names of metrics, unfinished lines)"
        )

    def find(self) -> None:
        """Look for new or replaced files.

        Sources are kept while no other file exists: a file may be missing for a moment.
        """
        if self._is_as_searched():
            return
        self.problem = ""
        try:
            makers = self._makers()
            self._dropped &= makers.keys()
            for path in [path for path in self._by_path if makers and path not in makers]:
                self._by_path.pop(path).stream.close()
            for path, make in makers.items():
                if path not in self._by_path and path not in self._dropped:
                    self._by_path[path] = make()
        except InputError as error:
            self.problem = str(error)
        self.all = tuple(self._by_path[path] for path in sorted(self._by_path))
        self._searched_before = True

    def _is_as_searched(self) -> bool:
        """Return True if a search would find the same: its directories have not changed.

        Only a hint, with a tenth of the system calls: two changes may have one stamp, and what is
        in a directory may change without it, so the search is made again now and then. Where a user
        has stated a path or a container, or something is wrong, it is made each time.
        """
        if self.problem or self.place.path not in (None, places.LOG) or self.place.container:
            return False
        reading = tuple(bool(source.tracks) for source in self.all)
        if True not in reading:
            return False
        state = (*map(_stamp, self._folders), reading)
        is_same = state == self._searched
        self._searched, self._same_searches = state, self._same_searches + 1 if is_same else 0
        return self._same_searches % SEARCH_EVERY not in (0, 1)

    @cached_property
    def _folders(self) -> tuple[str, str]:
        """The directory of the convention's files, and that of the pod's logs."""
        pattern = places.conventional_metrics(path_variables(self.pod))
        return str((self.context.volume / pattern).parent), str(self._log_folder)

    @property
    def _log_folder(self) -> Path:
        pod = self.pod
        return self.context.pod_logs / f"{pod.namespace}_{pod.name}_{pod.uid}"

    def close(self) -> None:
        """Close all sources."""
        for source in self._by_path.values():
            source.stream.close()
        self._by_path, self.all = {}, ()

    def _makers(self) -> Makers:
        """Return what to read now: by path, a function that makes the source."""
        place, root = self.place, self.context.volume
        if place.path == places.LOG:
            return self._logs()
        if place.path is None:
            files = self._conventional()
            return self._files(files) if files or self._has_values_below(root) else self._logs()
        if format_of(place.format, place.path) == _DOCUMENT:
            return {root / place.path: partial(self._document, place.path)}
        files = volume.resolve(root, place.path)
        if not files:
            self.problem = f"there is no file {place.path} on the volume yet"
        return self._files(files)

    def _has_values_below(self, root: Path) -> bool:
        sources = self._by_path.items()
        return any(source.tracks and path.is_relative_to(root) for path, source in sources)

    def _conventional(self) -> Sequence[Path]:
        """Return the files of the convention; ``job-1`` must not read ``job-10.jsonl``."""
        pattern = places.conventional_metrics(path_variables(self.pod))
        files = volume.resolve(self.context.volume, pattern, field=_CONVENTION)
        length = len(self.pod.name)
        return [file for file in files if not file.name[length : length + 1].isalnum()]

    def _files(self, files: Sequence[Path]) -> Makers:
        """Return makers for files; of too many, those that were written last."""
        most = self.context.files
        if len(files) > most:
            self.problem = f"{len(files)} files, of which the latest {most} are read"
            files = sorted(files, key=_written_at)[-most:]
        return {path: partial(self._file, path) for path in files}

    def _file(self, path: Path) -> Source:
        context, place = self.context, self.place
        name = str(path.relative_to(context.volume))
        parser = parser_for(place.format, file_name=name, regex=self._pattern, metric=place.metric)
        if isinstance(parser, DocumentParser):
            return self._document(name)
        follower = FileFollower(
            path,
            root=context.volume,
            limits=context.limits,
            appeared=self._searched_before,
            binary=isinstance(parser, RecordParser),
            open_files=context.open_files,
        )
        stream: Stream = (
            RecordStream(follower, parser)
            if isinstance(parser, RecordParser)
            else LineStream(follower, parser)
        )
        return Source(name, stream, place, context.params, _written_at(path))

    def _document(self, pattern: str) -> Source:
        place, context = self.place, self.context
        parser = parser_for(_DOCUMENT)
        if not isinstance(parser, DocumentParser):
            raise InputError(f"{_ANNOTATION}, format", _DOCUMENT, "a document")
        stream = DocumentStream(NewestDocument(context.volume, pattern), parser)
        return Source(pattern, stream, place, context.params)

    @cached_property
    def _pattern(self) -> Pattern | None:
        """Pattern of the annotation, compiled once for all files."""
        return None if self.place.regex is None else compiled(self.place.regex)

    def _logs(self) -> Makers:
        """Return makers for the logs of all containers; once one has values, only for that one."""
        folder = self._log_folder
        names = self._containers(folder)
        with_values = {
            path: partial(self._log, path) for path, s in self._by_path.items() if s.tracks
        }
        return with_values or {folder / name: partial(self._log, folder / name) for name in names}

    def _containers(self, folder: Path) -> Sequence[str]:
        stated = self.place.container
        if stated is not None:
            if not _CONTAINER.fullmatch(stated):
                raise InputError(f"{_ANNOTATION}, container", stated, "the name of a container")
            return [stated]
        try:
            with (
                opening.directory(self.context.pod_logs, folder, listing=True) as descriptor,
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
        context, place = self.context, self.place
        parser = parser_for(place.format, regex=self._pattern, metric=place.metric)
        if not isinstance(parser, Parser):
            expected = "a format of lines, as the container's log is read"
            raise InputError(f"{_ANNOTATION}, format", place.format, expected)
        follower = PodLogFollower(folder, limits=context.limits, open_files=context.open_files)
        name = f"log of container {folder.name}"
        return Source(name, LineStream(follower, parser), place, context.params)


def path_variables(pod: PodPlace) -> PathVariables:
    """Return the variables of the pod's paths."""
    return PathVariables(
        namespace=pod.namespace,
        job=pod.job,
        pod=pod.name,
        uid=pod.uid,
        role=pod.role,
        index=pod.index,
    )


def _stamp(folder: str) -> tuple[int, int, int] | None:
    """Return what changes with the names in a directory; None if there is none."""
    try:
        status = os.stat(folder, follow_symlinks=False)  # noqa: PTH116 - half the time of a Path's
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_mtime_ns


def _written_at(path: Path) -> float:
    try:
        return path.stat(follow_symlinks=False).st_mtime
    except OSError:
        return 0.0
