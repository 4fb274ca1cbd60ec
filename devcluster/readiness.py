"""Waiting until a component answers."""

import http.client
import ssl
import time
import urllib.parse
from collections.abc import Callable
from pathlib import Path
from typing import Final

from devcluster.errors import ComponentError
from devcluster.state import Component, Probe

_POLL_SECONDS: Final = 0.05
_ANSWER_SECONDS: Final = 5.0


def wait_until_ready(
    name: str, component: Component, authority: Path, alive: Callable[[], bool]
) -> float:
    """Wait until the component's probe succeeds; returns the seconds that took.

    Raises:
        ComponentError: It ended, or was not ready within its ``ready_seconds``.
    """
    begun = time.monotonic()
    log = Path(component.log)
    while component.probe is not None and not succeeds(component.probe, authority):
        if not alive():
            raise ComponentError(name, "ended before it was ready", log)
        if time.monotonic() - begun > component.ready_seconds:
            raise ComponentError(name, f"was not ready in {component.ready_seconds:.0f} s", log)
        time.sleep(_POLL_SECONDS)
    return time.monotonic() - begun


def succeeds(probe: Probe, authority: Path) -> bool:
    """Return whether the probe's GET answers 200; servers are verified against the CA."""
    parts = urllib.parse.urlsplit(probe.url)
    connection = _connection(parts, probe, authority)
    try:
        connection.request("GET", parts.path)
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _connection(
    parts: urllib.parse.SplitResult, probe: Probe, authority: Path
) -> http.client.HTTPConnection:
    address = parts.hostname or "", parts.port
    if parts.scheme == "http":
        return http.client.HTTPConnection(*address, timeout=_ANSWER_SECONDS)
    context = ssl.create_default_context(cafile=str(authority))
    if probe.certificate is not None:
        context.load_cert_chain(probe.certificate, probe.key)
    return http.client.HTTPSConnection(*address, timeout=_ANSWER_SECONDS, context=context)


def answers(url: str, timeout_seconds: float) -> bool:
    """Return whether a GET in the clear answers 200 in time, as a kubelet's probe asks."""
    parts = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(
        parts.hostname or "", parts.port, timeout=timeout_seconds
    )
    try:
        connection.request("GET", parts.path)
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
