"""What ``shuntyard what-if`` asks: a manifest, checked by the API server where there is one."""

from argparse import Namespace
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from cli import harmless, manifest
from cli.client import Way
from shared import api
from shared.explanation import Checked
from shared.plain import plain

BY_URL = "asked by --url, where no kubeconfig says who asks"


class Trial(NamedTuple):
    """A manifest that is asked about.

    Attributes:
        body: What is sent.
        checked: Whether the API server has checked it; None where there is no manifest.
    """

    body: bytes
    checked: Checked | None

    @property
    def is_unchecked(self) -> bool:
        """Whether there is a manifest that the API server has not checked."""
        return self.checked is not None and not self.checked.by_api_server

    def told(self, answer: api.WhatIfResponse) -> api.WhatIfResponse:
        """Return the extender's answer with what was checked."""
        return replace(answer, checked=self.checked)

    def told_as_json(self, body: bytes) -> bytes:
        """Return the same of an answer as it came, with fields that this command does not know."""
        answer: Any = msgspec.json.decode(harmless.as_json(body))
        return msgspec.json.encode({**answer, "checked": self.checked})


def of(asked: Namespace, way: Way, namespace: str) -> Trial:
    """Return what is to be asked, after the API server has seen it.

    Raises:
        UnansweredError: The file cannot be read, or the API server would refuse an object of it.
    """
    documents = manifest.of(asked)
    if not asked.file:
        return Trial(manifest.encoded(documents), None)
    if way.api_server is None:
        return Trial(manifest.encoded(documents), Checked(by_api_server=False, reason=BY_URL))
    from cli.dry_run import checking  # noqa: PLC0415 - only who gives a file waits for it

    result = checking.check(way.api_server, documents, namespace)
    checked = replace(result.checked, reason=plain(result.checked.reason))
    return Trial(manifest.encoded(result.documents), checked)
