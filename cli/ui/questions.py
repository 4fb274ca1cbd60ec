"""What the page asks beside reads: what-if of a manifest, and the checks of the installation.

Both are answered as the commands of the same names answer them, with the user's own rights.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from cli import manifest, sanitize
from cli.client import Way
from cli.connection import AnyApiServer
from cli.doctor.findings import Finding
from cli.errors import UnansweredError
from cli.service import Service
from shared.clock import Clock
from shared.readapi import api

Check = Callable[[AnyApiServer], list[Finding]]
"""Examines an installation."""


class Report(api.Response, frozen=True, kw_only=True):
    """The findings of ``shuntyard doctor``."""

    entries: tuple[Finding, ...] = ()


def checks(service: Service) -> Check:
    """Return what examines the installation whose read API is behind a Service."""
    from cli.doctor import running  # noqa: PLC0415 - slow to load, and rarely needed

    return lambda server: running.examine(server, service)


def what_if(way: Way, body: bytes, namespace: str) -> bytes:
    """Return the answer about the job of a manifest, checked by the API server where there is one.

    Args:
        way: To the read API.
        body: JSON: an object, or a ``List`` of objects.
        namespace: Of objects that state none.

    Raises:
        UnansweredError: It is not JSON, the API server would refuse an object, or there is no
            answer.
    """
    try:
        document: Any = msgspec.json.decode(body)
    except msgspec.DecodeError as error:
        raise UnansweredError(f"the manifest is not JSON: {error}") from error
    trial = manifest.checked(way, manifest.objects([document]), namespace)
    answer = way.fetch("/v1/what-if", question=trial.body, namespace=namespace)
    return sanitize.json_texts(trial.add_to_json(answer))


def report(server: AnyApiServer, check: Check, clock: Clock) -> bytes:
    """Return the findings of the checks as JSON.

    Raises:
        UnansweredError: The API server does not answer.
    """
    found = check(server)
    body = Report(generated_at=clock.now(), entries=tuple(found))
    return sanitize.json_texts(msgspec.json.encode(body))
