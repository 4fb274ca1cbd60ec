"""TLS contexts that are renewed while they are in use: a listener's, and a client's.

Each set of a listener's files becomes a context of its own, and only one that can be used replaces
the one before; the context with which the listener is open hands every handshake on to the latest.
A context that is given a key that does not fit its certificate accepts no client any more, so none
is ever changed.
"""

import logging
import ssl
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cryptography import x509
from typing_extensions import override

from shared.errors import SettingsError

OLDEST_TLS: Final = ssl.TLSVersion.TLSv1_2
OLDEST_MUTUAL_TLS: Final = ssl.TLSVersion.TLSv1_3
"""Where clients show certificates: in 1.2 a client resumes a session without showing it again, and
Python cannot switch that off. Go, and so kube-scheduler, has 1.3 since 2019."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Loaded:
    context: ssl.SSLContext
    contents: tuple[bytes, ...]
    begins_at: float
    ends_at: float


class ServerCertificate:
    """Certificate chain and key of a server, out of PEM files, and the clients that it accepts.

    All are read through the directory that a link leads to: a mounted Secret is renewed by one
    link, and the pair must be of one generation.

    Args:
        certificate: The chain.
        key: Its key.
        clients: Authorities; a client must show a certificate that one of them has signed. None:
            clients show nothing.

    Attributes:
        context: The one with which the listener is opened.
        refused: Called for every handshake that failed, with the reason: often the other side
            learns only that the connection ended.

    Raises:
        SettingsError: The files cannot be used.
    """

    def __init__(self, certificate: Path, key: Path, clients: Path | None = None) -> None:
        self._files = (certificate, key, *([] if clients is None else [clients]))
        self._latest = self._load()
        self.refused: Callable[[str], None] = lambda _why: None
        self.context = self._latest.context
        self.context.sslobject_class = self._reporting_class()
        self.context.sni_callback = self._hand_on

    @property
    def begins_at(self) -> float:
        """Second since the epoch from which the certificate in use is valid."""
        return self._latest.begins_at

    @property
    def ends_at(self) -> float:
        """Second since the epoch to which the certificate in use is valid."""
        return self._latest.ends_at

    def renew(self) -> bool:
        """Use the files as they are now; return whether they had changed. Blocks for file reads.

        Raises:
            SettingsError: They cannot be used; what was read before stays in use.
        """
        if _contents(self._resolved()) == self._latest.contents:
            return False
        self._latest = self._load()
        return True

    def _hand_on(self, connection: ssl.SSLObject, _name: str | None, _: ssl.SSLContext) -> None:
        """Called in every handshake, also where the client names no server."""
        connection.context = self._latest.context

    def _reporting_class(self) -> type[ssl.SSLObject]:
        """Return the class of connections, which reports handshakes that fail."""

        class Reporting(ssl.SSLObject):
            @override
            def do_handshake(connection) -> None:  # noqa: N805 - self is the certificate
                try:
                    super().do_handshake()
                except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
                    raise
                except ssl.SSLError as error:
                    self.refused(_reason(error))
                    raise

        return Reporting

    def _resolved(self) -> tuple[Path, ...]:
        return tuple(file.resolve() for file in self._files)

    def _load(self) -> _Loaded:
        files = self._resolved()
        contents = _contents(files)
        try:
            return _Loaded(_context(files), contents, *_span(contents[0]))
        except (ssl.SSLError, OSError, ValueError) as error:
            raise _unusable(files, error) from error


def _context(files: Sequence[Path]) -> ssl.SSLContext:
    certificate, key, *clients = files
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = OLDEST_TLS
    context.load_cert_chain(certificate, key)
    for authorities in clients:
        context.load_verify_locations(authorities)
        context.verify_mode = ssl.CERT_REQUIRED
        context.minimum_version = OLDEST_MUTUAL_TLS
        context.num_tickets = 0  # every connection is checked, none is resumed
    return context


def _reason(error: ssl.SSLError) -> str:
    """Return why a handshake failed, in OpenSSL's words without its source line."""
    checked = getattr(error, "verify_message", "")
    words = (error.reason or str(error)).replace("_", " ").lower()
    return f"{words}: {checked}" if checked else words


def _span(chain: bytes) -> tuple[float, float]:
    """Return the seconds since the epoch from and to which the first certificate is valid."""
    leaf = x509.load_pem_x509_certificates(chain)[0]
    return leaf.not_valid_before_utc.timestamp(), leaf.not_valid_after_utc.timestamp()


def _contents(files: Sequence[Path]) -> tuple[bytes, ...]:
    try:
        return tuple(file.read_bytes() for file in files)
    except OSError as error:
        raise _unusable(files, error) from error


def _unusable(files: Sequence[Path], error: Exception) -> SettingsError:
    certificate, key, *clients = files
    beside = "".join(f" and client authority {file}" for file in clients)
    text = f"certificate {certificate} and key {key}{beside} cannot be used: {error}"
    return SettingsError(text)


class ClientTrust:
    """The context of a client, kept while its file stays the same: so connections are kept, too.

    Args:
        authority: Authorities in PEM; None: those of the system, which do not change while we run.
    """

    def __init__(self, authority: Path | None) -> None:
        self._authority = authority
        self._lock = threading.Lock()
        self._context: ssl.SSLContext | None = None
        self._contents = b""
        self._logged = ""

    def context(self) -> ssl.SSLContext:
        """Return the context that verifies servers now. Blocks for file reads.

        A file that cannot be used is logged once, and the context before stays in use.

        Raises:
            OSError: It cannot be used, and there is no context before it.
        """
        with self._lock:
            try:
                context = self._latest()
            except OSError as error:  # no such authorities: an ssl.SSLError, which is one too
                if self._context is None:
                    raise
                context = self._context
                self._log(f"authorities {self._authority} stay as they were: {error}")
            else:
                self._logged = ""
            return context

    def _latest(self) -> ssl.SSLContext:
        contents = b"" if self._authority is None else self._authority.read_bytes()
        if self._context is None or contents != self._contents:
            self._context = ssl.create_default_context(cafile=self._authority)
            self._contents = contents
        return self._context

    def _log(self, problem: str) -> None:
        if problem != self._logged:
            log.warning("%s", problem)
        self._logged = problem
