"""A temporary Prometheus on this machine: its targets and its answers."""

import json
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from monitoring import programs
from monitoring.errors import ProgramError, QueryError

READY_SECONDS: Final = 60.0
ANSWER_SECONDS: Final = 60.0
_POLL_SECONDS: Final = 0.1
_TARGETS: Final = "targets.json"

Targets = Mapping[str, Mapping[str, str]]
"""Job, then instance, to ``host:port``."""


@dataclass(frozen=True)
class Line:
    """One series of an answer: its labels, and its points of seconds since the epoch and value."""

    labels: Mapping[str, str]
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Prometheus:
    """A running server.

    Attributes:
        url: Where it answers.
        directory: Its files.
    """

    url: str
    directory: Path

    def watch(self, targets: Targets) -> None:
        """Scrape these from now on; Prometheus rereads the file by itself."""
        content = [
            {"targets": [address], "labels": {"job": job, "instance": instance}}
            for job, instances in targets.items()
            for instance, address in instances.items()
        ]
        partial = self.directory / f"{_TARGETS}.partial"
        partial.write_text(json.dumps(content))
        partial.replace(self.directory / _TARGETS)

    def ask(self, query: str, *, at: float) -> tuple[Line, ...]:
        """Return the result at one time, in seconds since the epoch.

        Raises:
            QueryError: It cannot be answered.
        """
        data = self._data("query", {"query": query, "time": str(at)})
        return tuple(Line(one["metric"], (_point(one["value"]),)) for one in data["result"])

    def between(self, query: str, begin: float, end: float, step: float) -> tuple[Line, ...]:
        """Return the results from ``begin`` to ``end``, every ``step`` seconds.

        Raises:
            QueryError: It cannot be answered.
        """
        parameters = {"query": query, "start": str(begin), "end": str(end), "step": str(step)}
        data = self._data("query_range", parameters)
        return tuple(
            Line(one["metric"], tuple(map(_point, one["values"]))) for one in data["result"]
        )

    def targets(self) -> Mapping[str, str]:
        """Return the health of each target by its instance: ``up``, ``down`` or ``unknown``."""
        active = self._data("targets", {"state": "active"})["activeTargets"]
        return {one["labels"]["instance"]: one["health"] for one in active}

    def _data(self, path: str, parameters: Mapping[str, str]) -> Any:
        url = f"{self.url}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        try:
            with urllib.request.urlopen(url, timeout=ANSWER_SECONDS) as answer:  # noqa: S310 - our own server
                return json.loads(answer.read())["data"]
        except urllib.error.HTTPError as error:
            raise QueryError(f"{parameters}: {error.read().decode()}") from error
        except (OSError, ValueError) as error:
            raise QueryError(f"{parameters}: {error}") from error


def _point(pair: tuple[float, str]) -> tuple[float, float]:
    return float(pair[0]), float(pair[1])


def fill(directory: Path, samples: Path) -> None:
    """Put samples of the past into a Prometheus that does not run yet.

    Args:
        directory: For its files, as for ``running``.
        samples: OpenMetrics with times.

    Raises:
        ProgramError: promtool is not here, or refuses the samples.
    """
    tool = str(programs.need("promtool"))
    done = subprocess.run(
        [tool, "tsdb", "create-blocks-from", "openmetrics", str(samples), str(directory / "data")],
        check=False,
        capture_output=True,
        text=True,
        timeout=ANSWER_SECONDS,
    )
    if done.returncode:
        raise ProgramError(f"promtool refuses {samples.name}: {done.stderr.strip()}")


@contextmanager
def running(
    directory: Path, port: int, *, rules: Path, interval_seconds: int
) -> Iterator[Prometheus]:
    """Run a Prometheus for the block; its files stay.

    Args:
        directory: For its files; made if need be.
        port: On the loopback address.
        rules: Rules file that it evaluates.
        interval_seconds: It scrapes and evaluates so often.

    Raises:
        ProgramError: The program is not here, or did not become ready.
    """
    directory.mkdir(parents=True, exist_ok=True)
    (directory / _TARGETS).write_text("[]")
    file = directory / "prometheus.yaml"
    file.write_text(yaml.safe_dump(_configuration(directory, rules, interval_seconds)))
    command = [
        str(programs.need("prometheus")),
        f"--config.file={file}",
        f"--storage.tsdb.path={directory / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    log = directory / "prometheus.log"
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        try:
            url = f"http://127.0.0.1:{port}"
            _wait_until_ready(process, url, log)
            yield Prometheus(url, directory)
        finally:
            process.terminate()
            process.wait()


def _configuration(directory: Path, rules: Path, interval_seconds: int) -> dict[str, Any]:
    every = f"{interval_seconds}s"
    service_discovery = {"files": [str(directory / _TARGETS)], "refresh_interval": every}
    return {
        "global": {
            "scrape_interval": every, "scrape_timeout": every, "evaluation_interval": every,
        },
        "rule_files": [str(rules.resolve())],
        "scrape_configs": [{"job_name": "shuntyard", "file_sd_configs": [service_discovery]}],
    }  # fmt: skip


def _wait_until_ready(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    end = time.monotonic() + READY_SECONDS
    while time.monotonic() < end and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{url}/-/ready", timeout=1):  # noqa: S310 - our own server
                return
        except OSError:
            time.sleep(_POLL_SECONDS)
    raise ProgramError(f"prometheus did not become ready; its log is {log}")
