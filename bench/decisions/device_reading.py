"""``python -m bench devices``: how long news about devices of drivers holds the event loop.

In this process, without an API server. Each event is applied to a store of so many nodes with
eight devices; then the snapshot is taken that the next decision would take.
"""

import argparse
import gc
import statistics
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from bench import made_up, results
from extender.store.store import ClusterStore
from shared.model import (
    Delete,
    Delta,
    Entity,
    Pod,
    PodClaim,
    ResourceClaim,
    ResourceClaimTemplate,
    ResourceSlice,
    Taint,
    Uid,
    Upsert,
)
from shared.objects.devices import ClaimSpec, Device, DeviceId, DeviceRequest, DeviceTaintRule

MODELS: Final = 4
OWN: Final = f'device.attributes["{made_up.DRIVER}"]'
SELECTORS: Final = {
    "a selector that all devices answer alike": f'{OWN}.type == "gpu"',
    "a selector that tells models apart": f'{OWN}.productName == "model-1"',
    "a selector that reads serial numbers": f'{OWN}.uuid != "none"',
}
RULES: Final = {
    "all devices": {},
    "the devices of a driver": {"driver": made_up.DRIVER},
    "the devices of a pool": {"driver": made_up.DRIVER, "pool": made_up.node_name(0)},
    "devices of one name in all pools": {"device": "gpu-0"},
}
TAINT: Final = DeviceTaintRule(name="rule", taint=Taint("ill", "", "NoSchedule"))


@dataclass(frozen=True)
class Row:
    """One event: processor time of the event loop, in milliseconds."""

    event: str
    nodes: int
    median_ms: float
    longest_ms: float


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.add_argument("--nodes", type=int, default=5000, help="nodes with eight devices each")
    parser.add_argument("--rounds", type=int, default=5, help="new stores that see all events")
    parser.add_argument("--json", type=Path, help="write the rows to this file")


def run(options: argparse.Namespace) -> int:
    """Measure, print a table, return the exit code."""
    rows = measure(options.nodes, options.rounds)
    print(f"{'event':58} {'median ms':>10} {'longest ms':>11}")
    for row in rows:
        print(f"{row.event:58} {row.median_ms:10.2f} {row.longest_ms:11.2f}")
    if options.json:
        results.write(options.json, [asdict(row) for row in rows])
    return 0


def measure(nodes: int, rounds: int) -> list[Row]:
    """Return what each event takes."""
    held = [*_cluster(nodes)]
    found: dict[str, list[float]] = {}
    for busy in (False, True):
        for _ in range(rounds):
            store = made_up.store(nodes, 0)
            for entity in (*held, *(_claims(nodes) if busy else ())):
                store.apply(Upsert(entity))
            store.snapshot()
            gc.collect()
            for name, deltas in _events(busy=busy):
                found.setdefault(name, []).append(_milliseconds(store, deltas))
    return [
        Row(name, nodes, round(statistics.median(times), 2), round(max(times), 2))
        for name, times in found.items()
    ]


def _milliseconds(store: ClusterStore, deltas: Iterable[Delta]) -> float:
    begun = time.process_time()
    for delta in deltas:
        store.apply(delta)
    store.snapshot()
    return (time.process_time() - begun) * 1000


def _events(*, busy: bool) -> Iterator[tuple[str, list[Delta]]]:
    if busy:
        yield "the first claim, all devices are taken", _claiming("first")
        return
    yield "the first claim", _claiming("first")
    for number, (name, selector) in enumerate(SELECTORS.items()):
        yield name, _claiming(f"selector-{number}", selector)
    for name, selected in RULES.items():
        rule = replace(TAINT, **selected)
        yield f"a taint for {name}", [Upsert(rule)]
        yield f"no taint for {name}", [Delete("DeviceTaintRule", rule.key, rule.uid)]
    yield "a claim gets a device", [Upsert(_claim(0, 0))]


def _cluster(nodes: int) -> Iterator[Entity]:
    """Yield class, template and slices; nodes are of some models."""
    for number, entity in enumerate(made_up.devices(nodes)):
        if isinstance(entity, ResourceSlice):
            model = f"model-{number % MODELS}"
            yield replace(entity, devices=tuple(_of_model(d, model) for d in entity.devices))
        else:
            yield entity


def _of_model(device: Device, model: str) -> Device:
    attributes = dict(device.attributes) | {"productName": model}
    return replace(device, attributes=tuple(sorted(attributes.items())))


def _claims(nodes: int) -> Iterator[ResourceClaim]:
    return (_claim(n, i) for n in range(nodes) for i in range(made_up.DEVICES_OF_A_NODE))


def _claim(node: int, device: int) -> ResourceClaim:
    name = f"claim-{node}-{device}"
    identity = DeviceId(made_up.DRIVER, made_up.node_name(node), f"gpu-{device}")
    return ResourceClaim(
        namespace="team", name=name, uid=Uid(name), allocated=True, devices=(identity,)
    )


def _claiming(name: str, selector: str = "") -> list[Delta]:
    """Return the events of a job of one pod, with a template of its own."""
    request = DeviceRequest(
        name="gpu", device_class="gpu", selectors=(selector,) if selector else ()
    )
    template = ResourceClaimTemplate(
        namespace="team",
        name=name,
        uid=Uid(f"template-{name}"),
        spec=ClaimSpec(requests=(request,)),
    )
    (pod,) = made_up.waiting(name, 1)
    return [Upsert(template), Upsert(_with(pod, name))]


def _with(pod: Pod, template: str) -> Pod:
    return replace(pod, device_claims=(PodClaim("gpu", template),))
