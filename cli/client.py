"""Client of the read API: the ways to reach it, straight to a URL, and lists page by page."""

from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from ssl import SSLContext, create_default_context
from typing import Any, Final, Protocol, TypeVar

import msgspec
from msgspec.structs import replace

from cli import connection, sanitize
from cli.connection import AnyApiServer, Request, Server
from cli.errors import UnansweredError
from shared.readapi import api

MOST_PAGES: Final = 10_000
"""Five million entries; a list that is longer has no end."""
_MOST_ERROR_BYTES: Final = 500
_HINTS: Final = {401: "use --token-file with a token that is valid now"}
_LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})

Answer = TypeVar("Answer", bound=api.Response)


class Way(Protocol):
    """A way to the read API.

    Attributes:
        namespace: The user's current namespace; None if it is not configured.
        api_server: The API server, with the user's credentials; None where there is none.
    """

    namespace: str | None
    api_server: AnyApiServer | None

    def fetch(self, path: str, *, question: bytes | None = None, **query: str) -> bytes:
        """Return the body of ``GET <path>?<query>``, or of a POST of the ``question`` to it.

        Raises:
            UnansweredError: No answer, or another status than 200.
        """
        ...


class ByUrl:
    """The read API at a URL, past the API server.

    Args:
        url: Base URL.
        authority: File of trusted CA certificates, PEM; None: those of the system.
        token_file: File of the bearer token to send; None: none is sent.
        server_name: Name in the server's certificate; None: the URL's host.

    Raises:
        UnansweredError: The text is not a URL, a file cannot be read, or the token would be sent
            in plain text.
    """

    namespace: str | None = None
    api_server: AnyApiServer | None = None

    def __init__(
        self,
        url: str,
        authority: Path | None = None,
        token_file: Path | None = None,
        server_name: str | None = None,
    ) -> None:
        parts = connection.split(url)
        if parts is None:
            raise UnansweredError(f"{url} is not a URL such as http://127.0.0.1:10262")
        if token_file and parts.scheme != "https" and parts.hostname not in _LOOPBACK:
            raise UnansweredError(
                f"{url}: a token is sent over https only; use an https URL, or no --token-file"
            )
        tls = None if authority is None else _trusting(authority)
        self._server = Server(parts, tls, server_name)
        self._headers = {} if token_file is None else _token_header(token_file)

    def fetch(self, path: str, *, question: bytes | None = None, **query: str) -> bytes:
        """Return the body; see ``Way``."""
        request = Request(path, query, self._headers, question)
        try:
            status, body, _ = connection.ask(self._server, request)
        except connection.FAILURES as error:
            problem = connection.failure(self._server, error)
            hint = "is the extender running? --url or SHUNTYARD_URL names its read API"
            raise UnansweredError(f"{problem}; {hint}") from error
        if status != connection.OK:
            message = body[:_MOST_ERROR_BYTES].decode(errors="replace").strip()
            raise UnansweredError(connection.refusal(message, status, _HINTS))
        return body


def way(options: Namespace) -> Way:
    """Return the way of the options: to a URL, else through the API server.

    Raises:
        UnansweredError: There is none, or its configuration cannot be used.
    """
    if options.url:
        return ByUrl(options.url, options.ca, options.token_file, options.server_name)
    # Reading a kubeconfig needs a parser of YAML, which is slow to load.
    from cli import api_server  # noqa: PLC0415 - loaded for this way only
    from cli.by_service import ByService  # noqa: PLC0415 - as above

    server = api_server.of_options(options)
    return ByService(server, options.service, options.namespace)


def parse(body: bytes, kind: type[Answer]) -> Answer:
    """Return the body as an answer of the read API.

    Raises:
        UnansweredError: It is none of this kind, or of another version.
    """
    try:
        answer = msgspec.json.decode(sanitize.json_texts(body), type=kind)
    except msgspec.MsgspecError as error:
        hint = "--url, --service or their variables name the read API"
        problem = f"the answer is not that of a Shuntyard read API: {error}"
        raise UnansweredError(f"{problem}; {hint}") from error
    if answer.api_version != api.API_VERSION:
        versions = f"the extender serves {answer.api_version}, this command reads {api.API_VERSION}"
        raise UnansweredError(f"{versions}: use the command of the extender's release")
    return answer


def fetch_all(
    way: Way, path: str, kind: type[Answer], query: dict[str, str]
) -> tuple[bytes, Answer]:
    """Return the answer with the entries of all its pages, and its body if it has one page.

    Each page is as of its own moment: an entry that has moved meanwhile is listed once.

    Raises:
        UnansweredError: A page is missing, or the list does not end.
    """
    body = way.fetch(path, question=None, **query)
    answer = first = parse(body, kind)
    entries: dict[tuple[Any, ...], Any] = {_key(entry): entry for entry in _entries(answer)}
    for _ in range(MOST_PAGES):
        if not (token := _continue(answer)):
            if answer is first:
                return body, first
            return b"", replace(first, entries=tuple(entries.values()), more="")
        page = way.fetch(path, question=None, **{**query, "continue": token})
        answer = parse(page, kind)
        for entry in _entries(answer):
            entries.setdefault(_key(entry), entry)
    raise UnansweredError(f"{path} has more than {MOST_PAGES} pages: use -n to list one namespace")


def _continue(answer: api.Response) -> str:
    return answer.more if isinstance(answer, api.Listed) else ""


def _entries(answer: api.Response) -> tuple[Any, ...]:
    entries: tuple[Any, ...] = getattr(answer, "entries", ())
    return entries


def _key(entry: Any) -> tuple[Any, ...]:
    names = ("namespace", "kind", "job", "name", "id")
    return tuple(getattr(entry, name, None) for name in names)


def _trusting(authority: Path) -> SSLContext:
    try:
        return create_default_context(cafile=authority)
    except OSError as error:
        raise UnansweredError(
            f"--ca {authority}: {_why(error)}; name a file with CA certificates (PEM)"
        ) from error


def _why(error: Exception) -> str:
    """Return why a file cannot be used, without its name."""
    return (isinstance(error, OSError) and error.strerror) or str(error)


def _token_header(token_file: Path) -> Mapping[str, str]:
    try:
        headers = connection.authorization(token_file.read_text().strip())
    except (OSError, UnicodeDecodeError, UnansweredError) as error:
        raise UnansweredError(
            f"--token-file {token_file}: {_why(error)}; name a file that holds one token"
        ) from error
    if not headers:
        hint = "`kubectl create token SERVICEACCOUNT` makes one"
        raise UnansweredError(f"--token-file {token_file}: it is empty; {hint}")
    return headers
