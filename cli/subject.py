"""What ``shuntyard explain`` is asked about: a pod or a job, in one of several forms."""

from typing import Final

FORMS: Final = "NAME, pod/NAME, job/NAME, NAMESPACE/NAME or NAMESPACE/KIND/NAME"


def split(text: str) -> tuple[str | None, str, str]:
    """Return namespace, kind and name out of what was asked for.

    The namespace is None and the kind empty where nothing is said of them. ``NAMESPACE/KIND/NAME``
    is how jobs are named everywhere.
    """
    first, _, rest = text.partition("/")
    if not rest:
        return None, "", first
    if first in {"pod", "job"} and "/" not in rest:
        return None, first, rest
    kind, _, name = rest.partition("/")
    return (first, kind, name) if name else (first, "", rest)


def query(text: str, namespace: str) -> dict[str, str]:
    """Return the query for what was asked for: the pod of the name, else the job."""
    of, kind, name = split(text)
    parts = {"namespace": of or namespace}
    if kind == "pod" or not kind:
        return parts | {"pod" if kind else "name": name}
    named = {"kind": kind} if of else {}  # `job/NAME` alone is a job of whatever kind
    return parts | {"job": name} | named
