"""The pod templates of the job kinds of other projects, those of the workers first."""

from collections.abc import Iterable
from typing import Final

from shared.kube import job_sets, sizes
from shared.kube.pod_templates import Template

Templates = Iterable[Template | None]

_WORKER: Final = "worker"


def kubeflow(spec: sizes.KubeflowSpec) -> Templates:
    """Return those of the roles."""
    roles = sizes.roles_of(spec)
    workers_first = sorted(roles, key=lambda role: role.lower() != _WORKER)
    return [found.template for role in workers_first if (found := roles[role]) is not None]


def ray_cluster(spec: sizes.RayClusterSpec) -> Templates:
    """Return those of the groups of workers, then the head's."""
    head = spec.head_group_spec
    workers = [group.template for group in spec.worker_group_specs or ()]
    return [*workers, head.template if head else None]


def leader_worker_set(spec: sizes.LeaderWorkerSetSpec) -> Templates:
    """Return the workers', then the leader's; without the latter one is for both."""
    group = spec.leader_worker_template
    return [group.worker_template, group.leader_template] if group else ()


def volcano_job(spec: sizes.VolcanoJobSpec) -> Templates:
    """Return those of the tasks."""
    tasks = sorted(spec.tasks or (), key=lambda task: task.name.lower() != _WORKER)
    return [task.template for task in tasks]


def job_set(found: job_sets.JobSet) -> Templates:
    """Return of each replicated job that of its pods, then what its Job is annotated with."""
    jobs = (found.spec.replicated_jobs if found.spec else None) or []
    made = [job.template for job in sorted(jobs, key=lambda one: one.name.lower() != _WORKER)]
    of_pods = [one.spec.template for one in made if one is not None and one.spec is not None]
    return [*of_pods, *(Template(one.metadata) for one in made if one is not None)]
