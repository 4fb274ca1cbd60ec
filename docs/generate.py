"""Write the pages of docs/reference from what the programs say of their settings and metrics.

``--check`` writes nothing and ends with 1 if a page is not what it would be.
"""  # noqa: INP001 - a script, no package

import argparse
import dataclasses
import hashlib
import importlib
import inspect
import json
import re
import sys
from collections.abc import Iterator, Mapping
from enum import Enum
from operator import attrgetter
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Final, get_args, get_origin

import yaml
from prometheus_client import CollectorRegistry, Metric
from prometheus_client.metrics import MetricWrapperBase
from pydantic import BaseModel

from agent.metrics import MOST_PODS, AgentMetrics
from agent.settings import AgentSettings
from devcluster import operator_catalog as catalog
from devcluster.credentials.bootstrap import DEPLOY
from devcluster.operator_catalog import Operator
from devcluster.programs.versions import DEFAULT_KUBERNETES
from devcluster.rights import page as rights
from extender.core.kinds import registry
from extender.core.kinds.parking_facts import ParkingFacts
from extender.metrics.extender import ExtenderMetrics
from extender.settings.extender import ExtenderSettings
from shared import settings

BUDGETS: Final = Path(__file__).parent / "budgets.yaml"
REFERENCE: Final = Path(__file__).parent / "reference"
RESULTS: Final = Path(__file__).parents[1] / "tests/frameworks/results.json"
_GENERATED: Final = (
    "<!-- Made by docs/generate.py; change the descriptions in the code instead. -->"
)
_GENERATED_FROM_DEPLOY: Final = (
    "<!-- Made by docs/generate.py; change the comments in deploy/ instead. -->"
)
_ROLES: Final = {
    "The base": "base",
    "The component `gate`, beside the base": "components/gate",
    "The overlay `attached`, beside the base": "overlays/attached",
}
_GENERATED_FROM_RUNS: Final = (
    "<!-- Made by docs/generate.py from what `make test-frameworks` found; run both instead. -->"
)
_FRAMEWORKS: Final = """\
Real frameworks, on the CPU and, where it says so, on an H100, beside
[the programs to copy](../checkpoint-helper.md). Each training is asked for a checkpoint
twice, held, ended with SIGTERM and resumed in another pod: every step is done once, and the losses
are compared with those of a run that was not moved.
`make test-frameworks` runs it, and notes versions and result.

Each follows an example of the framework's own project: its model, optimizer, schedule and order of
the loop, written anew in small, on data that is made up. The lines that Shuntyard needs end with
`# shuntyard`.

torchtitan 0.3.0 is made for accelerators: without one it takes CUDA and ends in `trainer.py:301`
with "Found no NVIDIA driver", and FlexAttention has no gradients on a CPU. The training below
replaces device and attention, so its trainer, FSDP2 and its checkpoints run, but not CUDA graphs,
`torch.compile`, FlexAttention, nor tensor, context or pipeline parallelism."""
_RIGHTS: Final = """\
The roles in `deploy/`, rule by rule. `make test-e2e` records every call of its clusters and checks
that no right is missing and none is unused
([versions](../versions.md#which-calls-are-made) shows how to record the calls of a cluster).

- **Agents** have no rights: their account is bound to no role and makes no call.
- **kube-scheduler**, which runs beside the extender under the same account, is also bound to
  Kubernetes' own roles `system:kube-scheduler`, `system:volume-scheduler` and
  `extension-apiserver-authentication-reader`, which match the version of the cluster.
- **Reviews**: the extender may ask to which user a token belongs and what that user may do."""
_BUDGETS: Final = """\
Limits on the memory and work that a tenant, a node or a caller can cause, each with the test that
exceeds it. Reaching a limit ends no program and delays no one else."""
_VOLCANO_JOB: Final = "Volcano's Job"
_PARKING: Final = """\
What [parking](../parking.md) writes to the topmost owner of a job's pods, and what its own
controller does then. Where the field is a number, it is set to 0 and gets the recorded number back,
in the same write as the record. A RayJob needs `shutdownAfterJobFinishes`, the kinds of Kubeflow
`runPolicy` (`{}` is enough).

What has a row also [moves](../parking.md#moving-a-gang) over several nodes. `make test-e2e` parks
and moves a gang of each under the controller in the last column
(`tests/controlplane/kinds/test_parking_of_kinds.py`).

What has no row is neither parked nor moved (`OwnerNotSupported`): pods without an owner, owners of
other kinds, a RayService, which has no suspension (KubeRay v1.4.2
`apis/ray/v1/rayservice_types.go:67`), and a RayJob without `shutdownAfterJobFinishes`: KubeRay
refuses to suspend it (`controllers/ray/utils/validation.go:143`). A LeaderWorkerSet has `replicas`
alone (v0.9.0 `api/leaderworkerset/v1/leaderworkerset_types.go:111`), so one with several groups
stays (`SeveralJobs`)."""
_CONTROLLERS: Final[Mapping[str, Operator]] = {
    "JobSet": catalog.JOB_SET,
    "LeaderWorkerSet": catalog.LEADER_WORKER_SET,
    "MPIJob": catalog.MPI_OPERATOR,
    "RayCluster": catalog.KUBERAY,
    "RayJob": catalog.KUBERAY,
    "TrainJob": catalog.TRAINER,
    _VOLCANO_JOB: catalog.VOLCANO,
}
"""Of kinds whose group says less."""
_SETTINGS: Final = {"extender": ExtenderSettings, "agent": AgentSettings}
_SUFFIXES: Final = {"counter": "_total", "info": "_info"}
_WORDS: Final = {int: "integer", float: "number", str: "text", bool: "true or false", Path: "path"}


def settings_page() -> Iterator[str]:
    """Yield the lines of the extender's settings reference."""
    example = f"{settings.variable(('queue', 'order'))}=creation"
    yield from _settings("extender", ExtenderSettings, example)


def agent_settings_page() -> Iterator[str]:
    """Yield the lines of the agent's settings reference."""
    example = f"{settings.variable(('report', 'interval_seconds'))}=10"
    yield from _settings("agent", AgentSettings, example)


def _settings(program: str, model: type[BaseModel], example: str) -> Iterator[str]:
    yield from (f"# Settings of the {program}", "", _GENERATED, "")
    yield "One YAML file, given with `--settings FILE`; every key has a default. An environment"
    yield "variable overrides the file: `SHUNTYARD__SECTION__KEY`, for example"
    yield f"`{example}`; an empty one counts as not set, `null` as no value."
    yield "Settings are read once, at the start; `--print-settings` shows the values in use."
    yield "Unknown keys and values out of their bounds are errors."
    for name, info in model.model_fields.items():
        section: type[BaseModel] = type(info.get_default())
        yield from ("", f"## {name}", "", inspect.cleandoc(section.__doc__ or ""), "")
        yield from _table("Key", "Value", "Default", "Meaning")
        for (key,), field in settings.fields(section):
            default = _shown(field.get_default())
            yield _row(f"`{key}`", _allowed(field), default, field.description)
    yield from ("", "## The defaults as a file", "", "```yaml")
    yield settings.dump(model()).rstrip()
    yield "```"


def metrics_page() -> Iterator[str]:
    """Yield the lines of the extender's metrics reference."""
    yield from ("# Metrics of the extender", "", _GENERATED, "")
    yield "On `/metrics` of the API listener, with the usual `process_*`. Label values come from"
    yield "fixed lists and never name a pod, node or job; `team` is a namespace, of which there are"
    yield "at most 50, and `(others)`."
    yield ""
    yield from _table("Name", "Type", "Labels", "Meaning")
    yield from sorted(_metrics(ExtenderMetrics().registry))


def agent_metrics_page() -> Iterator[str]:
    """Yield the lines of the agent's metrics reference."""
    yield from ("# Metrics of the agent", "", _GENERATED, "")
    yield "On `/metrics` of the agent's listener, with the usual `process_*`. Series of jobs are"
    yield f"those of the pods now on this node, of at most {MOST_PODS} pods."
    yield ""
    yield from _table("Name", "Type", "Labels", "Meaning")
    found = AgentMetrics()
    yield from sorted([*_metrics(found.registry), *map(_of_pods, found.pods.collect())])


def rights_page() -> Iterator[str]:
    """Yield the lines of the page of our accounts' rights at the API server."""
    yield from ("# Rights at the API server", "", _GENERATED_FROM_DEPLOY, "", _RIGHTS)
    for title, folder in _ROLES.items():
        yield from ("", f"## {title}")
        yield from rights.lines(DEPLOY / folder)


def budgets_page() -> Iterator[str]:
    """Yield the lines of the page of budgets."""
    yield from ("# Budgets", "", _GENERATED, "", _BUDGETS)
    for group in yaml.safe_load(BUDGETS.read_text()):
        yield from ("", f"## {group['title']}", "", group["about"], "")
        yield from _table("What", "At most", "Beyond it", "Constant or setting", "Test")
        for one in group["budgets"]:
            where = one["name"].replace(":", " ")
            amount = _amount(one["name"], one["unit"])
            yield _row(one["bounds"], amount, one["beyond"], f"`{where}`", f"`{one['test']}`")


def frameworks_page() -> Iterator[str]:
    """Yield the lines of the page of frameworks that were tried."""
    yield from ("# Frameworks", "", _GENERATED_FROM_RUNS, "", _FRAMEWORKS, "")
    yield from _table(
        "Training", "Follows", "Lines for us", "Module", "Losses after two moves", "Tried with"
    )
    for name, case in json.loads(RESULTS.read_text()).items():
        text = (RESULTS.parent / f"programs/{case['program']}.py").read_text()
        program = f"[{name}](../../tests/frameworks/programs/{case['program']}.py)"
        tried = ", ".join(f"{package} {version}" for package, version in case["versions"].items())
        ours = sum(line.endswith("# shuntyard") for line in text.splitlines())
        result = _result(case, hashlib.sha256(text.encode()).hexdigest())
        yield _row(program, _example(text), str(ours), f"`{case['module']}`", result, tried)


def _example(program: str) -> str:
    """Return a link to the example that a program follows."""
    found = re.search(r"^Follows: (https://github.com/([^/]+/[^/]+)/\S+)$", program, re.MULTILINE)
    return f"[{found[2]}]({found[1]})" if found else "our own"


def _result(case: dict[str, Any], digest: str) -> str:
    losses = f"differ: {case['differs']}" if case["differs"] else "equal to the bit"
    result = {True: losses, False: "failed", None: "not run yet"}[case["passed"]]
    same = case["passed"] is None or case["digest"] == digest
    return result if same else f"{result}, with an earlier form of the program"


def parking_page() -> Iterator[str]:
    """Yield the lines of the page of what parking does to each kind."""
    yield from ("# Parking by kind", "", _GENERATED, "", _PARKING, "")
    yield from _table(
        "Owner", "Field", "Also written by", "Deadlines", "Failures", "Pods that have ended",
        "Volumes", "Comes back as", "Seen under",
    )  # fmt: skip
    alike: dict[tuple[str, ...], list[str]] = {}
    for one in registry.all_parking_facts():
        facts = (f"`{one.field}`", one.others, one.clock, one.failures, one.ended, one.volumes)
        alike.setdefault((*facts, one.returns, _controller(one)), []).append(_owner(one))
    for facts, owners in alike.items():
        yield _row(", ".join(owners), *facts)


def _owner(facts: ParkingFacts) -> str:
    return _VOLCANO_JOB if facts.group == "batch.volcano.sh" else facts.kind


def _controller(facts: ParkingFacts) -> str:
    found = _CONTROLLERS.get(_owner(facts))
    if found is None and facts.group == "kubeflow.org":
        found = catalog.TRAINING_OPERATOR
    return f"Kubernetes {DEFAULT_KUBERNETES}" if found is None else f"{found.name} {found.version}"


def _amount(name: str, unit: str) -> str:
    """Return the number that the program uses, with its unit."""
    if " setting " in name:
        program, _, path = name.partition(" setting ")
        value = attrgetter(path)(_SETTINGS[program]())
    else:
        module, constant = name.split(":")
        value = attrgetter(constant)(importlib.import_module(module))
    if unit == "bytes":
        for larger, size in (("MiB", 2**20), ("KiB", 2**10)):
            if value % size == 0:
                return f"{value // size} {larger}"
    return f"{value:,} {unit}".rstrip() if isinstance(value, int) else f"{value:g} {unit}"


def _of_pods(metric: Metric) -> str:
    labels = ", ".join(f"`{name}`" for name in metric._labelnames)  # noqa: SLF001 - the library has no other way
    return _row(f"`{metric.name}`", metric.type, labels, metric.documentation)


def _metrics(registry: CollectorRegistry) -> Iterator[str]:
    for metric in list(registry._collector_to_names):  # noqa: SLF001 - the library has no other way
        if isinstance(metric, MetricWrapperBase):
            (described,) = metric.collect()
            name = described.name + _SUFFIXES.get(described.type, "")
            labels = "; ".join(_label(described, name) for name in metric._labelnames)  # noqa: SLF001 - the library has no other way
            yield _row(f"`{name}`", described.type, labels, described.documentation)


def _label(metric: Metric, label: str) -> str:
    values = dict.fromkeys(sample.labels[label] for sample in metric.samples)
    return f"`{label}`" + (f": {', '.join(values)}" if values else "")


def _allowed(field: Any) -> str:
    kind, optional = field.annotation, ""
    if get_origin(kind) is tuple:
        item = get_args(kind)[0]
        if not dataclasses.is_dataclass(item):
            return "list of texts"
        return f"list of {' and '.join(field.name for field in dataclasses.fields(item))}"
    if get_origin(kind) is UnionType:
        (kind,) = (part for part in get_args(kind) if part is not NoneType)
        optional = ", or no value"
    if issubclass(kind, Enum):
        return ", ".join(f"`{value.value}`" for value in kind) + optional
    limits = {type(rule).__name__: rule for rule in field.metadata}
    bounds = ""
    if {"Ge", "Le"} <= limits.keys():
        bounds = f" from {limits['Ge'].ge:.15g} to {limits['Le'].le:.15g}"
    return f"{_WORDS[kind]}{bounds}{optional}"


def _shown(value: object) -> str:
    if value is None:
        return "no value"
    if isinstance(value, tuple):
        return ", ".join(_shown(one) for one in value) or "empty"
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        texts = [text for text in dataclasses.asdict(value).values() if isinstance(text, str)]
        return f"`{'='.join(texts)}`"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return (
        f"`{value.value}`" if isinstance(value, Enum) else f"`{value}`" if value != "" else "empty"
    )


def _table(*names: str) -> Iterator[str]:
    yield _row(*names)
    yield _row(*("---" for _ in names))


def _row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") or " " for cell in cells) + " |"


PAGES: Final = {
    "settings.md": settings_page,
    "metrics.md": metrics_page,
    "agent-settings.md": agent_settings_page,
    "agent-metrics.md": agent_metrics_page,
    "rights.md": rights_page,
    "budgets.md": budgets_page,
    "frameworks.md": frameworks_page,
    "parking.md": parking_page,
}


def main() -> int:
    """Write the pages, or check them; return 1 if one is out of date."""
    parser = argparse.ArgumentParser(description="Make the reference pages.")
    parser.add_argument("--check", action="store_true", help="only check that they are current")
    check: bool = parser.parse_args().check
    stale = []
    for name, page in PAGES.items():
        file, text = REFERENCE / name, "\n".join(page()) + "\n"
        if not file.exists() or file.read_text() != text:
            stale.append(name)
        if not check:
            file.parent.mkdir(exist_ok=True)
            file.write_text(text)
    if check and stale:
        sys.stderr.write(f"not current: {', '.join(stale)}; run python docs/generate.py\n")
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
