"""The whole look: all checks in an order in which causes come before what they cause."""

from argparse import Namespace
from collections.abc import Callable, Iterator
from typing import Final, TextIO

import msgspec

from cli import api_server, release
from cli.doctor import (
    agents,
    certificates,
    clock,
    configuration,
    definition,
    deployment,
    gate,
    lease,
    namespaces,
    neighbours,
    our_keys,
    read_api,
    report,
    rights,
    versions,
    volume,
)
from cli.doctor.findings import Finding, unknown
from cli.doctor.reading import Reader
from cli.doctor.site import Site
from cli.errors import UnansweredError, UnreadableError
from shared.system_clock import SystemClock

Check = Callable[[Site], Iterator[Finding]]

CHECKS: Final[dict[str, Check]] = {
    module.CHECK: module.check
    for module in (
        *(versions, clock, namespaces, definition, rights, deployment, configuration),
        *(lease, read_api, certificates, volume, agents, gate, our_keys, neighbours),
    )
}
_ODD: Final = (KeyError, TypeError, ValueError, AttributeError)
"""What reading an object raises that is not as Kubernetes has it."""


def run(asked: Namespace, out: TextIO) -> int:
    """Look, print, and return the exit code.

    Raises:
        UnansweredError: The API server cannot be asked.
    """
    server = api_server.of(asked)
    reader = Reader(server.ask, SystemClock())
    _greet(reader)
    findings = list(look(Site(reader, asked.service, release.name())))
    if asked.output == "json":
        print(msgspec.json.format(report.as_json(findings), indent=2).decode(), file=out)
    else:
        print("\n".join(report.lines(findings)), file=out)
    return report.exit_code(findings)


def look(site: Site) -> Iterator[Finding]:
    """Yield what each check says; one that cannot be made does not keep others from it."""
    for name, check in CHECKS.items():
        try:
            yield from check(site)
        except (UnreadableError, UnansweredError) as error:
            yield unknown(name, str(error))
        except _ODD as error:
            said = f"an object is not as it should be: {type(error).__name__} {error}"
            yield unknown(name, said)


def _greet(reader: Reader) -> None:
    """Find out early that nobody answers, or that the credentials are refused."""
    try:
        reader.get("/version")
    except UnreadableError as error:
        raise UnansweredError(str(error)) from error
