"""The status of a pod: phase, conditions and container statuses (pure).

Source:
    The kubelet's ``getPhase``, ``convertStatusToAPIStatus`` and ``status.Generate*Condition``.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from shared.kube import stamps

FIRST_BACKOFF_SECONDS: Final = 1.0
MOST_BACKOFF_SECONDS: Final = 60.0
SIGNAL_BASE: Final = 128
# Strategic merge joins these lists by address; after a restart of the node the old one must go.
_REPLACE: Final = {"$patch": "replace"}
_RESIZES: Final = frozenset({"PodResizePending", "PodResizeInProgress"})


@dataclass(frozen=True, slots=True)
class Waiting:
    """The container does not run (yet)."""

    reason: str
    message: str = ""


@dataclass(frozen=True, slots=True)
class Running:
    """The container runs since ``started_at`` (seconds since the epoch)."""

    started_at: float


@dataclass(frozen=True, slots=True)
class Terminated:
    """The container has ended; times are seconds since the epoch."""

    exit_code: int
    reason: str
    finished_at: float
    started_at: float | None = None
    message: str = ""
    signal: int = 0


State = Waiting | Running | Terminated


@dataclass(slots=True)
class ContainerRecord:
    """Record of one container; the worker writes it.

    ``resources`` are its requests and limits as its node grants them: always what the pod asks for.
    """

    name: str
    image: str
    sidecar: bool = False
    state: State = Waiting("ContainerCreating")
    last: Terminated | None = None
    restarts: int = 0
    container_id: str = ""
    resources: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def succeeded(self) -> bool:
        """It ended with exit code 0."""
        return isinstance(self.state, Terminated) and self.state.exit_code == 0


@dataclass(slots=True)
class PodRecord:
    """Record of a pod; the worker writes it.

    ``verdict`` is a reason and a message that end the pod as Failed, whatever its containers
    (``OutOfcpu``, ``DeadlineExceeded``). ``ended``: no container of it will be started again.
    """

    restart_policy: str
    containers: list[ContainerRecord]
    init_containers: list[ContainerRecord] = field(default_factory=list)
    host_ip: str = ""
    pod_ip: str = ""
    started_at: float | None = None
    verdict: tuple[str, str] | None = None
    ended: bool = False


def terminated(
    return_code: int, started_at: float, finished_at: float, message: str = ""
) -> Terminated:
    """Return the state after a process ended; a negative ``return_code`` is a signal."""
    signal = max(0, -return_code)
    exit_code = SIGNAL_BASE + signal if signal else return_code
    reason = "Error" if exit_code else "Completed"
    return Terminated(exit_code, reason, finished_at, started_at, message, signal)


def should_restart(policy: str, ended: Terminated) -> bool:
    """Whether a restart policy starts a container again after it ended."""
    return policy == "Always" or (policy == "OnFailure" and ended.exit_code != 0)


def backoff_seconds(restarts: int) -> float:
    """Seconds to wait before restart number ``restarts`` (from 1): 1, 2, 4, … up to a minute."""
    return float(min(FIRST_BACKOFF_SECONDS * 2 ** max(0, restarts - 1), MOST_BACKOFF_SECONDS))


def phase(record: PodRecord) -> str:
    """Return the pod's phase.

    Rule: a verdict fails it; before all init containers are done it is Pending (Failed if one
    failed for good); then as long as one container was never started Pending; one running: Running;
    all ended for good: Succeeded if all with 0, else Failed; otherwise (a restart is due) Running.
    """
    if record.verdict:
        return "Failed"
    if not _initialised(record):
        return "Failed" if record.ended else "Pending"
    if any(isinstance(one.state, Waiting) and not one.last for one in record.containers):
        return "Failed" if record.ended else "Pending"
    if any(isinstance(one.state, Running) for one in record.containers):
        return "Running"
    if all(one.succeeded for one in record.containers) and _final(record):
        return "Succeeded"
    return "Failed" if _final(record) else "Running"


def ready(record: PodRecord) -> bool:
    """Whether every container runs (probes are not made)."""
    return not record.ended and all(isinstance(one.state, Running) for one in record.containers)


def _final(record: PodRecord) -> bool:
    return record.ended or not any(
        isinstance(one.state, Waiting) or should_restart(record.restart_policy, one.state)
        for one in record.containers
        if not isinstance(one.state, Running)
    )


def _initialised(record: PodRecord) -> bool:
    return all(_done(one) for one in record.init_containers)


def _done(init: ContainerRecord) -> bool:
    """An init container has succeeded; a sidecar has been started once."""
    if not init.sidecar:
        return init.succeeded
    return not isinstance(init.state, Waiting) or init.last is not None


def render(record: PodRecord, previous: Iterable[Mapping[str, Any]], now: float) -> dict[str, Any]:
    """Return the ``status`` to patch; unchanged conditions keep their transition time.

    Args:
        record: What happened so far.
        previous: The pod's conditions as last seen.
        now: Seconds since the epoch.
    """
    status: dict[str, Any] = {"phase": phase(record)}
    if record.verdict:
        status["reason"], status["message"] = record.verdict
    if record.started_at is not None:
        status["startTime"] = stamps.seconds(record.started_at)
    if record.host_ip:
        status |= {"hostIP": record.host_ip, "hostIPs": [_REPLACE, {"ip": record.host_ip}]}
    if record.pod_ip:
        status |= {"podIP": record.pod_ip, "podIPs": [_REPLACE, {"ip": record.pod_ip}]}
    if record.verdict and record.started_at is None:
        return status
    status["containerStatuses"] = [
        _container_status(one, ready=isinstance(one.state, Running)) for one in record.containers
    ]
    if record.init_containers:
        status["initContainerStatuses"] = [
            _container_status(one, ready=_done(one)) for one in record.init_containers
        ]
    status["conditions"] = [
        *_stamped(_conditions(record, status["phase"]), previous, now),
        *({"$patch": "delete", "type": kind} for kind in _granted(previous)),
    ]
    return status


def _granted(previous: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the conditions of resizes that are no more: every resize is granted at once."""
    kinds = {one.get("type", "") for one in previous if "status" in one}
    return sorted(kinds & _RESIZES)


def _conditions(record: PodRecord, pod_phase: str) -> list[dict[str, Any]]:
    unready = [one.name for one in record.containers if not isinstance(one.state, Running)]
    ready = _condition(
        not unready, "ContainersNotReady", f"containers with unready status: {unready}"
    )
    if pod_phase in {"Succeeded", "Failed"}:
        ready = {
            "status": "False",
            "reason": "Pod" + ("Completed", "Failed")[pod_phase == "Failed"],
        }
    incomplete = [
        one.name for one in record.init_containers if not one.sidecar and not one.succeeded
    ]
    initialised = _condition(
        _initialised(record),
        "ContainersNotInitialized",
        f"containers with incomplete status: {incomplete}",
    )
    sandbox = _condition(bool(record.pod_ip) and not record.ended, "", "")
    return [
        {"type": "PodReadyToStartContainers"} | sandbox,
        {"type": "Initialized"} | initialised,
        {"type": "Ready"} | ready,
        {"type": "ContainersReady"} | ready,
    ]


def _condition(holds: bool, reason: str, message: str) -> dict[str, Any]:  # noqa: FBT001 - a truth value is what it turns into text
    if holds or not reason:
        return {"status": str(holds)}
    return {"status": "False", "reason": reason, "message": message.replace("'", "")}


def _stamped(
    conditions: Sequence[dict[str, Any]], previous: Iterable[Mapping[str, Any]], now: float
) -> list[dict[str, Any]]:
    before = {
        (one.get("type"), one.get("status")): one.get("lastTransitionTime") for one in previous
    }
    return [
        one
        | {"lastTransitionTime": before.get((one["type"], one["status"])) or stamps.seconds(now)}
        | {key: one.get(key) for key in ("reason", "message")}
        for one in conditions
    ]


def _container_status(one: ContainerRecord, *, ready: bool) -> dict[str, Any]:
    return {
        "name": one.name,
        "image": one.image,
        "imageID": "",
        "containerID": one.container_id,
        "ready": ready,
        "started": isinstance(one.state, Running),
        "restartCount": one.restarts,
        "state": _state(one.state, one.container_id),
        "lastState": _state(one.last, one.container_id) if one.last else {},
        "resources": dict(one.resources),
        "allocatedResources": dict(one.resources.get("requests", {})),
    }


def _state(state: State, container_id: str) -> dict[str, Any]:
    match state:
        case Waiting():
            return {"waiting": _present({"reason": state.reason, "message": state.message})}
        case Running():
            return {"running": {"startedAt": stamps.seconds(state.started_at)}}
        case Terminated():
            ended = {
                "exitCode": state.exit_code,
                "reason": state.reason,
                "message": state.message,
                "signal": state.signal,
                "containerID": container_id,
                "startedAt": stamps.seconds(state.started_at)
                if state.started_at is not None
                else "",
                "finishedAt": stamps.seconds(state.finished_at),
            }
            return {"terminated": {"exitCode": state.exit_code} | _present(ended)}


def _present(values: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value}


def resume(record: ContainerRecord, reported: Mapping[str, Any], now: float) -> None:
    """Restore the record of a container from the status before this node process started.

    A container that was running then is gone now: kubelet's ``ContainerStatusUnknown``, code 137.
    """
    record.restarts = reported.get("restartCount") or 0
    record.container_id = reported.get("containerID") or ""
    state = reported.get("state") or {}
    if ended := state.get("terminated"):
        record.state = Terminated(
            ended.get("exitCode", 0),
            ended.get("reason") or "",
            stamps.parse(ended.get("finishedAt")) or now,
            moment(ended.get("startedAt")),
            ended.get("message") or "",
            ended.get("signal") or 0,
        )
    elif running := state.get("running"):
        lost = "The container could not be located when the node process started"
        started_at = moment(running.get("startedAt"))
        record.state = Terminated(137, "ContainerStatusUnknown", now, started_at, lost)


def moment(stamp: str | None) -> float | None:
    """Return an API timestamp as seconds since the epoch; None stays None."""
    return stamps.parse(stamp) if stamp else None
