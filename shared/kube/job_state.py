"""State of a ``batch/v1`` Job: size, suspension, and failures it survives."""

from typing import Final

from msgspec import Struct

from shared import labels, model

DEFAULT_BACKOFF_LIMIT: Final = 6
"""Default; the API server writes it into every Job."""

BUILT_IN: Final = frozenset({"", "kubernetes.io/job-controller"})
"""Values of ``spec.managedBy`` that mean the built-in controller."""

EVICTED_EXIT_CODE: Final = 143
"""Exit code of a trainer after SIGTERM (docs/checkpoint-contract.md)."""


class Condition(Struct):
    """``onPodConditions[]``."""

    type: str = ""
    status: str = "True"


class ExitCodes(Struct):
    """``onExitCodes``."""

    operator: str = ""
    values: list[int] | None = None


class Rule(Struct, rename="camel"):
    """``podFailurePolicy.rules[]``."""

    action: str = ""
    on_pod_conditions: list[Condition] | None = None
    on_exit_codes: ExitCodes | None = None


class FailurePolicy(Struct):
    """``podFailurePolicy``."""

    rules: list[Rule] | None = None


class JobSpec(Struct, rename="camel"):
    """``spec`` of a Job."""

    parallelism: int | None = None
    completions: int | None = None
    suspend: bool | None = None
    backoff_limit: int | None = None
    backoff_limit_per_index: int | None = None
    pod_failure_policy: FailurePolicy | None = None
    managed_by: str | None = None
    completion_mode: str | None = None


class JobStatus(Struct):
    """``status`` of a Job."""

    active: int | None = None
    failed: int | None = None


def size(spec: JobSpec) -> int:
    """Return how many pods run concurrently: min(parallelism, completions)."""
    parallelism = 1 if spec.parallelism is None else spec.parallelism
    return parallelism if spec.completions is None else min(parallelism, spec.completions)


def counts(spec: JobSpec) -> tuple[model.WorkerCount, ...]:
    """Return the changeable number of an elastic Indexed Job: both fields, kept equal.

    Source:
        kubernetes.io: Jobs, "Elastic Indexed Jobs" (stable since 1.31).
    """
    parallelism = spec.parallelism
    if spec.completion_mode != "Indexed" or parallelism is None or parallelism != spec.completions:
        return ()
    fields = ("/spec/parallelism", "/spec/completions")
    return (model.WorkerCount(count=parallelism, fields=fields),)


def state(spec: JobSpec, status: JobStatus, job_labels: dict[str, str]) -> model.JobState:
    """Return the state for decisions about moving its pods."""
    per_index = spec.backoff_limit_per_index
    limit = DEFAULT_BACKOFF_LIMIT if spec.backoff_limit is None else spec.backoff_limit
    foreign = (spec.managed_by or "") not in BUILT_IN or labels.KUEUE_QUEUE in job_labels
    return model.JobState(
        suspended=bool(spec.suspend),
        active=status.active or 0,
        failures_left=limit - (status.failed or 0) if per_index is None else per_index,
        per_index=per_index is not None,
        fails_with_pod=_fails(spec.pod_failure_policy),
        managed=foreign,
    )


def _fails(policy: FailurePolicy | None) -> bool:
    """Return True if the first rule that an evicted pod matches ends the Job or the index."""
    for rule in (policy.rules if policy else None) or ():
        if _matches(rule):
            return rule.action in {"FailJob", "FailIndex"}
    return False


def _matches(rule: Rule) -> bool:
    if rule.on_exit_codes is not None:
        values = rule.on_exit_codes.values or []
        return (EVICTED_EXIT_CODE in values) == (rule.on_exit_codes.operator == "In")
    conditions = rule.on_pod_conditions or ()
    return any(c.type == "DisruptionTarget" and c.status == "True" for c in conditions)
