"""Ask the read API, by whichever way there is; what goes wrong becomes one sentence."""

from argparse import Namespace
from typing import Protocol, TypeVar

import msgspec

from cli import harmless
from cli.by_url import ByUrl
from cli.connection import AnyApiServer
from cli.errors import UnansweredError
from shared import api

Answer = TypeVar("Answer", bound=api.Response)


class Way(Protocol):
    """A way to the read API.

    Attributes:
        namespace: Where whoever asks works; None if nobody says.
        api_server: The API server, with the credentials of whoever asks; None where there is none.
    """

    namespace: str | None
    api_server: AnyApiServer | None

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
    if asked.url:
        return ByUrl(asked.url, asked.ca, asked.token_file, asked.server_name)
    # Reading a kubeconfig needs a parser of YAML, which takes a moment to load.
    from cli import api_server  # noqa: PLC0415 - only who goes this way waits for it
    from cli.by_service import ByService  # noqa: PLC0415 - as above

    return ByService(api_server.of(asked), asked.service)


def understand(body: bytes, kind: type[Answer]) -> Answer:
    """Return the body as the answer it should be.

    Raises:
        UnansweredError: It is another one, or of another version.
    """
    try:
        answer = msgspec.json.decode(harmless.answer(body), type=kind)
    except msgspec.MsgspecError as error:
        raise UnansweredError(f"the answer is not that of a Shuntyard read API: {error}") from error
    if answer.api_version != api.API_VERSION:
        spoken = f"the extender speaks {answer.api_version}, this command {api.API_VERSION}"
        raise UnansweredError(f"{spoken}: use the command of the extender's release")
    return answer
