"""The certificate of a listener, and whom it lets in by theirs, renewed while it listens.

Each set of files becomes a context of its own, and only one that can be used takes the place of the
one before; the listener's own context hands every handshake on to the latest. A context that is
given a key that does not fit its certificate accepts nobody any more, so none is ever changed.
"""

import ssl
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


@dataclass(frozen=True)
class _Loaded:
    context: ssl.SSLContext
    contents: tuple[bytes, ...]
    begins_at: float
    ends_at: float


class ServerCertificate:
    """Certificate chain and key of a server, out of PEM files, and whose clients it takes.

    All are read through the directory that a link leads to: a mounted Secret is renewed by one
    link, and the pair must be of one generation.

    Args:
        certificate: The chain.
        key: Its key.
        clients: Authorities; a client must show a certificate that one of them has signed. None:
            clients show nothing.

    Attributes:
        context: What the listener is opened with.
        refused: Told of every handshake that failed, with the reason: the other side often hears
            no more than that the connection ended.

    Raises:
        SettingsError: The files cannot be used.
    """

    def __init__(self, certificate: Path, key: Path, clients: Path | None = None) -> None:
        self._files = (certificate, key, *([] if clients is None else [clients]))
        self._latest = self._load()
        self.refused: Callable[[str], None] = lambda _why: None
        self.context = self._latest.context
        self.context.sslobject_class = self._telling()
        self.context.sni_callback = self._hand_on

    @property
    def begins_at(self) -> float:
        """Second since the epoch from which the certificate in use is good."""
        return self._latest.begins_at

    @property
    def ends_at(self) -> float:
        """Second since the epoch to which the certificate in use is good."""
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

    def _telling(self) -> type[ssl.SSLObject]:
        """Return the class of connections; what fails in their handshakes is told."""

        class Told(ssl.SSLObject):
            @override
            def do_handshake(connection) -> None:  # noqa: N805 - self is the certificate
                try:
                    super().do_handshake()
                except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
                    raise
                except ssl.SSLError as error:
                    self.refused(_reason(error))
                    raise

        return Told

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
    """Return the seconds since the epoch at which it begins and ends to be good."""
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
