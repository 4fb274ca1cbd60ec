"""The whole run: all checks, ordered so that causes come before what they cause."""

from argparse import Namespace
from collections.abc import Callable, Iterator
from typing import Final, TextIO

import msgspec

from cli import api_server, release
from cli.connection import AnyApiServer
from cli.doctor import (
    agents,
    certificates,
    cluster,
    definition,
    findings,
    policies,
    replicas,
    rights,
    schedulers,
)
from cli.doctor.findings import Finding, unknown
from cli.doctor.reading import Reader
from cli.doctor.site import Site
from cli.errors import UnansweredError, UnreadableError
from cli.service import Service
from cli.views.terminal import of_stream
from shared.system_clock import SystemClock

Check = Callable[[Site], Iterator[Finding]]

CHECKS: Final[dict[str, Check]] = {
    cluster.VERSIONS: cluster.check_versions,
    cluster.CLOCK: cluster.check_clock,
    cluster.NAMESPACES: cluster.check_namespaces,
    definition.DEFINITION: definition.check_definition,
    rights.RIGHTS: rights.check_rights,
    replicas.DEPLOYMENT: replicas.check_deployment,
    schedulers.CONFIGURATION: schedulers.check_configuration,
    replicas.LEASE: replicas.check_lease,
    replicas.READ_API: replicas.check_read_api,
    certificates.CERTIFICATES: certificates.check_certificates,
    agents.VOLUME: agents.check_volume,
    agents.AGENTS: agents.check_agents,
    policies.GATE: policies.check_gate,
    policies.OUR_KEYS: policies.check_our_keys,
    schedulers.NEIGHBOURS: schedulers.check_neighbours,
}
_MALFORMED: Final = (KeyError, TypeError, ValueError, AttributeError)
"""Errors from reading an object that does not have Kubernetes' form."""


def run(options: Namespace, out: TextIO) -> int:
    """Check, print, and return the exit code.

    Raises:
        UnansweredError: The API server does not answer.
    """
    results = examine(api_server.of_options(options), options.service)
    if options.output == "json":
        print(msgspec.json.format(findings.as_json(results), indent=2).decode(), file=out)
    else:
        print("\n".join(findings.report(results, of_stream(out))), file=out)
    return findings.exit_code(results)


def examine(server: AnyApiServer, service: Service) -> list[Finding]:
    """Return the findings of all checks, read with the user's rights.

    Args:
        server: The API server.
        service: Of the read API.

    Raises:
        UnansweredError: The API server does not answer.
    """
    reader = Reader(server.ask, SystemClock())
    _connect(reader)
    return list(check_all(Site(reader, service, release.name())))


def check_all(site: Site) -> Iterator[Finding]:
    """Yield the findings of each check; a check that fails does not stop the others."""
    for name, check in CHECKS.items():
        try:
            yield from check(site)
        except (UnreadableError, UnansweredError) as error:
            yield unknown(name, str(error))
        except _MALFORMED as error:
            message = f"an object is malformed: {type(error).__name__} {error}"
            yield unknown(name, message)


def _connect(reader: Reader) -> None:
    """Fail early if the API server does not answer or refuses the credentials."""
    try:
        reader.get("/version")
    except UnreadableError as error:
        raise UnansweredError(str(error)) from error
