"""What each answer looks like as a table."""

from collections.abc import Mapping
from typing import Final

from cli import ledger, training
from cli.amounts import amount, duration, number
from cli.table import columns
from shared import api

MOST_NODES: Final = 10
"""Nodes that ``explain`` shows without ``-o wide``."""
_COMMON: Final = frozenset({"cpu", "memory", "pods"})


def lines(answer: api.Response, *, wide: bool, blocks: bool) -> list[str]:
    """Return the lines to print; ``blocks``: the terminal can show block characters."""
    match answer:
        case api.QueueResponse():
            return _queue(answer, wide=wide)
        case api.NodesResponse():
            return _nodes(answer, wide=wide)
        case api.JobsResponse():
            return _jobs(answer, wide=wide, blocks=blocks)
        case api.MigrationsResponse():
            return ledger.ledger(answer, wide=wide)
        case api.ExplainResponse():
            return _explain(answer, wide=wide)
        case _:
            raise TypeError(f"there is no table for {type(answer).__name__}")


def _queue(answer: api.QueueResponse, *, wide: bool) -> list[str]:
    header = ["POSITION", "JOB", "NAMESPACE", "V", "U", "B", "L", "M", "WAIT", "REASON"]
    header += ["KIND", "PODS", "E", "M-NORM", "MESSAGE"] if wide else []
    rows = [_queue_row(entry, wide=wide) for entry in answer.entries]
    state = "" if answer.acting else "; this replica does not act, the queue is as it last saw it"
    head = [f"order: {answer.order}, jobs: {len(rows)}{state}"] if wide or state else []
    if not rows:
        return [*head, "no job waits"]
    right = "POSITION V U B L M WAIT PODS E M-NORM"
    return [*head, *columns(header, rows, right=right)]


def _queue_row(entry: api.QueueEntry, *, wide: bool) -> list[str]:
    terms = entry.terms
    row = [str(entry.position), entry.job, entry.namespace, number(entry.v)]
    row += [str(terms.u), str(terms.b), str(terms.l), str(terms.m)]
    row += [duration(entry.waited_seconds), entry.reason]
    if wide:
        size = "?" if entry.min_available is None else str(entry.min_available)
        row += [entry.kind, f"{entry.members}/{size}"]
        row += [f"{terms.e_normalised:.3f}", f"{terms.m_normalised:.3f}", entry.message]
    return row


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
    header += ["FAILED", "AGE", "CATEGORY", "METRIC", "CURVE", "STEP", "ETA"]
    header += ["HELD", "LOOSE", "DIRECT", "LEAVING", "ATTEMPT"] if wide else []
    header += ["CHECKPOINT", "NODES", "PROBLEM"] if wide else []
    now = answer.generated_at
    rows = [_job_row(job, now, wide=wide, blocks=blocks) for job in answer.entries]
    if not rows:
        return ["there is no job"]
    left = {"JOB", "NAMESPACE", "KIND", "CATEGORY", "METRIC", "CURVE", "ETA"}
    left |= {"CHECKPOINT", "NODES", "PROBLEM"}
    return columns(header, rows, right=" ".join(set(header) - left))


def _job_row(job: api.JobEntry, now: float, *, wide: bool, blocks: bool) -> list[str]:
    counts = job.counts
    row = [job.job, job.namespace, job.kind]
    row += ["?" if job.min_available is None else str(job.min_available)]
    numbers = [counts.gated + counts.held + counts.direct, counts.seated + counts.loose]
    numbers += [counts.bound, counts.succeeded, counts.failed]
    row += [*(str(n) for n in numbers), duration(now - job.created_at)]
    row += training.progress(job.progress, blocks=blocks)
    if wide:
        rare = (counts.held, counts.loose, counts.direct, counts.leaving)
        row += [*(str(n) for n in rare), training.attempt(job.progress)]
        row += [training.checkpoint(job.checkpoint), ",".join(job.nodes) or "-"]
        row += [training.problem(job)]
    return row


def _explain(answer: api.ExplainResponse, *, wide: bool) -> list[str]:
    facts: Mapping[str, str] = {
        "Pod": f"{answer.namespace}/{answer.pod}",
        "Job": answer.job,
        "State": answer.state or "not ours",
        "Node": answer.node or "-",
        "Reason": f"{answer.reason}: {answer.message}" if answer.reason else "-",
        "Decision": answer.decision or "-",
    }
    head = [f"{name + ':':10}{text}" for name, text in facts.items()]
    shown = answer.nodes if wide else answer.nodes[:MOST_NODES]
    if not shown:
        return [*head, "", "no node can take it now"]
    header = ["NODE", "TOTAL", "AFFINITY", "LOCALITY", "PACKING", "PRICE"]
    rows = [
        [n.node, *(f"{x:.3f}" for x in (n.total, n.affinity, n.locality, n.packing, n.price))]
        for n in shown
    ]
    left = len(answer.nodes) - len(shown)
    more = [f"… and {left} more, see -o wide"] if left else []
    return [*head, "", *columns(header, rows, right=" ".join(header[1:])), *more]
