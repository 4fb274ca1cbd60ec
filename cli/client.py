"""Ask the read API over HTTP; what goes wrong becomes one sentence."""

import urllib.error
import urllib.parse
import urllib.request
from http.client import HTTPException
from typing import Final, TypeVar

import msgspec

from cli.errors import UnansweredError
from shared import api

TIMEOUT_SECONDS: Final = 10.0
_MOST_ERROR_BYTES: Final = 500
_OPENER: Final = urllib.request.build_opener(urllib.request.ProxyHandler({}))
"""Without the proxies of the environment: the read API is on this host or in this cluster."""

Answer = TypeVar("Answer", bound=api.Response)


def fetch(url: str, path: str, **query: str) -> bytes:
    """Return the body of ``GET <url><path>?<query>``.

    Raises:
        UnansweredError: No connection, or another status than 200.
    """
    if not _is_http(url):
        raise UnansweredError(f"{url} is not a URL such as http://127.0.0.1:10262")
    whole = f"{url.rstrip('/')}{path}?{urllib.parse.urlencode(query)}".rstrip("?")
    try:
        with _OPENER.open(whole, timeout=TIMEOUT_SECONDS) as response:
            body: bytes = response.read()
    except urllib.error.HTTPError as error:
        with error:
            text = error.read(_MOST_ERROR_BYTES).decode(errors="replace").strip()
        raise UnansweredError(f"{text or error.reason} (status {error.code})") from error
    except (OSError, HTTPException) as error:
        reason = getattr(error, "reason", error)
        hint = "is the extender running? --url or SHUNTYARD_URL names its read API"
        raise UnansweredError(f"no answer from {url}: {reason}; {hint}") from error
    return body


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


def _is_http(url: str) -> bool:
    try:
        return urllib.parse.urlsplit(url).scheme in {"http", "https"}
    except ValueError:
        return False
