"""What each answer looks like as a table."""

from typing import Final

from cli import bargains, costs, explaining, ledger, rescaling, supposed, tenants, training, waiting
from cli.amounts import amount, duration
from cli.table import columns
from shared import api
from shared.ledgers import RescalesResponse
from shared.pricing import PricesResponse
from shared.tenancy import NamespacesResponse

_COMMON: Final = frozenset({"cpu", "memory", "pods"})


def lines(answer: api.Response, *, wide: bool, blocks: bool) -> list[str]:
    """Return the lines to print; ``blocks``: the terminal can show block characters."""
    match answer:
        case api.QueueResponse():
            return waiting.queue(answer, wide=wide)
        case api.NodesResponse():
            return _nodes(answer, wide=wide)
        case api.JobsResponse():
            return _jobs(answer, wide=wide, blocks=blocks)
        case PricesResponse():
            return costs.nodes(answer, wide=wide)
        case _:
            return _of_jobs(answer, wide=wide)


def _of_jobs(answer: api.Response, *, wide: bool) -> list[str]:
    """Return what became of jobs, or of one, or would."""
    match answer:
        case api.MigrationsResponse():
            return ledger.ledger(answer, wide=wide)
        case NamespacesResponse():
            return tenants.table(answer, wide=wide)
        case RescalesResponse():
            return rescaling.ledger(answer, wide=wide)
        case api.ExplainResponse():
            return explaining.lines(answer, wide=wide)
        case api.WhatIfResponse():
            return supposed.lines(answer, wide=wide)
        case _:
            raise TypeError(f"there is no table for {type(answer).__name__}")


def _nodes(answer: api.NodesResponse, *, wide: bool) -> list[str]:
    header = ["NODE", "STATE", "CPU-FREE", "CPU-USED", "MEM-FREE", "MEM-USED", "PODS", "SEATS"]
    header += ["PRICE", "AGENT", "P/W/C"]
    header += ["CPU-NOW", "MEM-NOW", "LOG-PRICE", "OTHER-FREE"] if wide else []
    rows = [_node_row(entry, wide=wide) for entry in answer.entries]
    if not rows:
        return ["there is no node"]
    left = {"NODE", "STATE", "OTHER-FREE"}
    return columns(header, rows, right=" ".join(set(header) - left))


def _node_row(node: api.NodeEntry, *, wide: bool) -> list[str]:
    state = "Ready" if node.ready else "NotReady"
    row = [node.name, f"{state},Cordoned" if node.unschedulable else state]
    for resource in ("cpu", "memory"):
        used = node.used.get(resource, 0)
        row += [
            amount(resource, node.allocatable.get(resource, 0) - used),
            amount(resource, used),
        ]
    row += [f"{node.used.get('pods', 0)}/{node.allocatable.get('pods', 0)}", str(node.seats)]
    row += [f"{node.relative_price:.3f}", *training.agent(node.agent)]
    if wide:
        row += training.use(node.agent)
        others = sorted(node.allocatable.keys() - _COMMON)
        row += [f"{node.log_price:.3f}", ",".join(_free(node, name) for name in others) or "-"]
    return row


def _free(node: api.NodeEntry, resource: str) -> str:
    left = node.allocatable[resource] - node.used.get(resource, 0)
    return f"{resource}={amount(resource, left)}"


def _jobs(answer: api.JobsResponse, *, wide: bool, blocks: bool) -> list[str]:
    header = ["JOB", "NAMESPACE", "KIND", "GANG", "WAITING", "SEATED", "BOUND", "SUCCEEDED"]
    extra = bargains.Extra(answer.entries, wide=wide)
    header += ["FAILED", "AGE", *extra.header, "CATEGORY", "METRIC", "CURVE", "STEP", "ETA"]
    header += ["HELD", "LOOSE", "DIRECT", "IN-TREE", "LEAVING", "ATTEMPT"] if wide else []
    header += ["DONE", "ENDS", "CHECKPOINT", "NODES", "PROBLEM"] if wide else []
    now = answer.generated_at
    rows = [_job_row(job, now, extra, wide=wide, blocks=blocks) for job in answer.entries]
    if not rows:
        return ["there is no job"]
    left = {"JOB", "NAMESPACE", "KIND", "CATEGORY", "METRIC", "CURVE", "ETA"}
    left |= {"ENDS", "CHECKPOINT", "NODES", "PROBLEM", "WORKERS", "PROMISE"}
    return columns(header, rows, right=" ".join(set(header) - left))


def _job_row(
    job: api.JobEntry, now: float, extra: bargains.Extra, *, wide: bool, blocks: bool
) -> list[str]:
    counts = job.counts
    row = [job.job, job.namespace, job.kind]
    row += ["?" if job.min_available is None else str(job.min_available)]
    waits = counts.gated + counts.held + counts.direct + counts.in_tree
    numbers = [waits, counts.seated + counts.loose, counts.bound, counts.succeeded, counts.failed]
    row += [*(str(n) for n in numbers), duration(now - job.created_at), *extra.cells(job, now)]
    row += training.progress(job.progress, blocks=blocks)
    if wide:
        rare = (counts.held, counts.loose, counts.direct, counts.in_tree, counts.leaving)
        row += [*(str(n) for n in rare), training.attempt(job.progress)]
        row += training.end(job.end, now)
        row += [training.checkpoint(job.checkpoint), ",".join(job.nodes) or "-"]
        row += [training.problem(job)]
    return row
