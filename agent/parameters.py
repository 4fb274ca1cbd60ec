"""What the agent runs with: its settings as plain values, checked by ``agent.settings``.

They cross as JSON from the process that checks them to the one that runs (``encoded``,
``decoded``). A class holds what a section of the settings file holds; parts get the values they
need.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
from annotated_types import Ge, Le, MaxLen, MinLen
from typing_extensions import Doc

from agent.sampling.finding import DEFAULT_CGROUP_ROOT, Source
from agent.sampling.node import DEFAULT_PROCFS
from agent.tailing.chunk import Limits
from shared.convergence.parameters import ConvergenceParameters
from shared.logs import Format, Level
from shared.wire import MOST_EVENTS

NODE_VARIABLE: Final = "NODE_NAME"
"""Set from ``spec.nodeName`` by the DaemonSet."""


@dataclass(frozen=True, kw_only=True)
class Identity:
    """Of which node this agent is."""

    node: Annotated[
        str | None,
        MinLen(1),
        MaxLen(253),
        Doc(
            "Name of the node, which must be that of the agent's own pod; no value: the "
            f"environment variable `{NODE_VARIABLE}`."
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Extender:
    """Where the extender's replicas are, and how both sides authenticate."""

    urls: Annotated[
        tuple[str, ...],
        Doc(
            "All replicas one by one, `https://HOST:PORT`; in the environment separated by commas. "
            "Empty: `service` is looked up."
        ),
    ] = ()
    service: Annotated[
        str, MinLen(1), Doc("Host name that resolves to every replica: a headless Service.")
    ] = "shuntyard-agents.shuntyard-system.svc"
    port: Annotated[int, Ge(1), Le(65535), Doc("Port of the replicas there.")] = 10263
    resolve_seconds: Annotated[float, Ge(1), Le(3600), Doc("How often `service` is looked up.")] = (
        60.0
    )
    server_name: Annotated[
        str | None,
        MinLen(1),
        Doc("Name that the replicas' certificate must have; no value: the host's."),
    ] = None
    authority: Annotated[
        Path,
        Doc(
            "Certificates of those who may sign the replicas' certificate, PEM; read again when it "
            "changes."
        ),
    ] = Path("/etc/shuntyard-ca/ca.crt")
    token: Annotated[
        Path,
        Doc(
            "Projected service account token with the extender's audience; read again when it "
            "changes."
        ),
    ] = Path("/var/run/secrets/shuntyard/token")
    timeout_seconds: Annotated[
        float, Ge(0.1), Le(300), Doc("How long a replica may take to answer.")
    ] = 10.0


@dataclass(frozen=True, kw_only=True)
class Report:
    """When and what is reported to the replicas.

    Raises:
        ValueError: The waits after a failure are in the wrong order.
    """

    interval_seconds: Annotated[
        float, Ge(0.05), Le(60), Doc("Time between two heartbeats to a replica.")
    ] = 5.0
    jitter_ratio: Annotated[
        float, Ge(0), Le(0.5), Doc("By how much of it a wait is longer or shorter.")
    ] = 0.1
    settle_seconds: Annotated[
        float,
        Ge(0),
        Le(5),
        Doc(
            "What must not wait for the next heartbeat (an acknowledged checkpoint, a run that has "
            "converged, the end of training) waits so long for company."
        ),
    ] = 0.2
    full_every_seconds: Annotated[
        float,
        Ge(1),
        Le(86400),
        Doc("How often a heartbeat has everything, not only what changed."),
    ] = 300.0
    events: Annotated[
        int,
        Ge(1),
        Le(MOST_EVENTS),
        Doc("Events kept for a replica that does not answer; the oldest are dropped."),
    ] = MOST_EVENTS
    gzip_above_bytes: Annotated[int, Ge(0), Le(2**31), Doc("Larger heartbeats are compressed.")] = (
        1024
    )
    backoff_seconds: Annotated[
        float, Ge(0.01), Le(60), Doc("First wait after a failure; it doubles.")
    ] = 1.0
    most_backoff_seconds: Annotated[
        float, Ge(0.01), Le(600), Doc("Where that doubling ends; not below `backoff_seconds`.")
    ] = 60.0

    def __post_init__(self) -> None:
        if self.most_backoff_seconds < self.backoff_seconds:
            raise ValueError(
                f"most_backoff_seconds {self.most_backoff_seconds:g} must not be below "
                f"backoff_seconds {self.backoff_seconds:g}"
            )


@dataclass(frozen=True, kw_only=True)
class Discovery:
    """When the extender is asked for the pods of the node."""

    interval_seconds: Annotated[
        float, Ge(0.05), Le(60), Doc("How often; a fifth more or less.")
    ] = 3.0


@dataclass(frozen=True, kw_only=True)
class Paths:
    """Paths in the container."""

    volume: Annotated[
        Path, Doc("The shared volume: a job has `NAMESPACE/JOB` of it for its own.")
    ] = Path("/var/lib/shuntyard/volume")
    pod_logs: Annotated[Path, Doc("The kubelet's pod logs.")] = Path("/var/log/pods")
    checkpoint_gid: Annotated[
        int | None,
        Ge(0),
        Le(2**32 - 2),
        Doc(
            "Group that a checkpoint request shall belong to; no value: as the directory or the "
            "agent's own group has it."
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Following:
    """How often files are read, and how many."""

    interval_seconds: Annotated[
        float,
        Ge(0.05),
        Le(60),
        Doc(
            "How often a pod's metrics are read; half as often once its run, or a log without any "
            "value, is ten minutes old and no checkpoint is asked for."
        ),
    ] = 5.0
    checkpoint_seconds: Annotated[
        float, Ge(0.05), Le(60), Doc("How often its checkpoint directory is looked at.")
    ] = 5.0
    asked_seconds: Annotated[
        float, Ge(0.05), Le(60), Doc("The same while a checkpoint is asked for.")
    ] = 1.0
    find_seconds: Annotated[
        float,
        Ge(0.05),
        Le(600),
        Doc("How often files are looked for that were not there, or have become more."),
    ] = 10.0
    hang_seconds: Annotated[
        float,
        Ge(0.1),
        Le(600),
        Doc("When files have not answered for so long, the reports say so."),
    ] = 10.0
    files: Annotated[int, Ge(1), Le(64), Doc("Files followed for one pod at most.")] = 16
    open_files: Annotated[
        int, Ge(1), Le(65536), Doc("Files held open at one time, of all pods.")
    ] = 256


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """How the use of CPU, memory and GPUs is read."""

    source: Annotated[
        Source,
        Doc("What pods are read from; `auto`: control groups where there are any, else processes."),
    ] = Source.AUTO
    interval_seconds: Annotated[float, Ge(0.05), Le(600), Doc("Time between two samples.")] = 10.0
    cgroup_root: Annotated[Path, Doc("Where the host's control groups are mounted.")] = (
        DEFAULT_CGROUP_ROOT
    )
    procfs: Annotated[Path, Doc("Where the host's `/proc` is.")] = DEFAULT_PROCFS
    cores: Annotated[
        float | None,
        Ge(0.001),
        Le(65536),
        Doc("Cores of a node that is a part of this machine; no value: all there are."),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Api:
    """The listener for probes and Prometheus."""

    listen_host: Annotated[str, MinLen(1), Doc("Address.")] = "127.0.0.1"
    listen_port: Annotated[int, Ge(0), Le(65535), Doc("Port; 0 takes a free one.")] = 10264
    most_connections: Annotated[
        int,
        Ge(1),
        Le(1_000_000),
        Doc(
            "Connections that may be open; a kubelet and a Prometheus or two call. One more, and "
            "the one that has asked for nothing for the longest time is ended."
        ),
    ] = 128


@dataclass(frozen=True, kw_only=True)
class AgentParameters:
    """Everything that the agent runs with.

    Attributes:
        loop_max_age_seconds: Of the section ``health``.
        version: Of the installed package.
    """

    identity: Identity = field(default_factory=Identity)
    extender: Extender = field(default_factory=Extender)
    report: Report = field(default_factory=Report)
    discovery: Discovery = field(default_factory=Discovery)
    paths: Paths = field(default_factory=Paths)
    following: Following = field(default_factory=Following)
    limits: Limits = field(default_factory=Limits)
    sampling: Sampling = field(default_factory=Sampling)
    convergence: ConvergenceParameters = field(default_factory=ConvergenceParameters)
    api: Api = field(default_factory=Api)
    log_level: Level = Level.INFO
    log_format: Format = Format.JSON
    loop_max_age_seconds: float = 60.0
    version: str = ""


def encoded(parameters: AgentParameters) -> str:
    """Return the parameters as JSON."""
    return msgspec.json.encode(parameters, enc_hook=str).decode()


def decoded(text: str) -> AgentParameters:
    """Return the parameters that ``encoded`` wrote."""
    return msgspec.json.decode(text, type=AgentParameters, dec_hook=_path)


def _path(_kind: type, value: Any) -> Path:
    return Path(value)
