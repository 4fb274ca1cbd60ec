"""Ask the read API, by whichever way there is; what goes wrong becomes one sentence."""

import os
from argparse import Namespace
from pathlib import Path
from typing import Protocol, TypeVar

import msgspec

from cli.by_url import ByUrl
from cli.errors import UnansweredError
from shared import api
from shared.errors import SettingsError

Answer = TypeVar("Answer", bound=api.Response)


class Way(Protocol):
    """A way to the read API.

    Attributes:
        namespace: Where whoever asks works; None if nobody says.
    """

    namespace: str | None

    def fetch(self, path: str, *, question: bytes | None = None, **query: str) -> bytes:
        """Return the body of ``GET <path>?<query>``, or of a POST of the ``question`` to it.

        Raises:
            UnansweredError: No answer, or another one than status 200.
        """
        ...


def way(asked: Namespace) -> Way:
    """Return the way that was asked for: a URL, else through the API server.

    Raises:
        UnansweredError: There is none, or what is said of it cannot be used.
    """
    return ByUrl(asked.url) if asked.url else _through_the_api_server(asked)


def understand(body: bytes, kind: type[Answer]) -> Answer:
    """Return the body as the answer it should be.

    Raises:
        UnansweredError: It is another one, or of another version.
    """
    try:
        answer = msgspec.json.decode(body, type=kind)
    except msgspec.MsgspecError as error:
        raise UnansweredError(f"the answer is not that of a Shuntyard read API: {error}") from error
    if answer.api_version != api.API_VERSION:
        spoken = f"the extender speaks {answer.api_version}, this command {api.API_VERSION}"
        raise UnansweredError(f"{spoken}: use the command of the extender's release")
    return answer


def _through_the_api_server(asked: Namespace) -> Way:
    # Reading a kubeconfig needs a parser of YAML, which takes a moment to load.
    from cli.by_service import ByService  # noqa: PLC0415 - only who goes this way waits for it
    from shared.kube import auth  # noqa: PLC0415 - as above

    file = asked.kubeconfig
    if asked.context and not file and not os.environ.get("KUBECONFIG"):
        file = Path.home() / ".kube" / "config"  # a pod's service account has no contexts
    try:
        credentials = auth.load(file, asked.context, unverified_allowed=True)
    except (SettingsError, OSError) as error:
        hint = "--kubeconfig and --context, or --url or SHUNTYARD_URL, say how to reach Shuntyard"
        raise UnansweredError(f"{error}; {hint}") from error
    return ByService(credentials, asked.service)
