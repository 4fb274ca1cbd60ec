"""The certificate of a listener, renewed while it listens.

Each pair of files becomes a context of its own, and only a pair that can be used takes the place of
the one before; the listener's own context hands every handshake on to the latest. A context that is
given a key that does not fit its certificate accepts nobody any more, so none is ever changed.
"""

import ssl
from pathlib import Path
from typing import Final

from shared.errors import SettingsError

OLDEST_TLS: Final = ssl.TLSVersion.TLSv1_2


class ServerCertificate:
    """Certificate chain and key of a server, out of two PEM files.

    Both are read through the directory that a link leads to: a mounted Secret is renewed by one
    link, and the pair must be of one generation.

    Attributes:
        context: What the listener is opened with.

    Raises:
        SettingsError: The files cannot be used.
    """

    def __init__(self, certificate: Path, key: Path) -> None:
        self._files = (certificate, key)
        self._latest, self._read = self._load()
        self.context = self._latest
        self.context.sni_callback = self._hand_on

    def renew(self) -> bool:
        """Use the files as they are now; return whether they had changed. Blocks for file reads.

        Raises:
            SettingsError: They cannot be used; the certificate before stays in use.
        """
        if _contents(*self._resolved()) == self._read:
            return False
        self._latest, self._read = self._load()
        return True

    def _hand_on(self, connection: ssl.SSLObject, _name: str | None, _: ssl.SSLContext) -> None:
        """Called in every handshake, also where the client names no server."""
        connection.context = self._latest

    def _resolved(self) -> tuple[Path, Path]:
        certificate, key = self._files
        return certificate.resolve(), key.resolve()

    def _load(self) -> tuple[ssl.SSLContext, tuple[bytes, bytes]]:
        files = self._resolved()
        read = _contents(*files)
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.minimum_version = OLDEST_TLS
        try:
            context.load_cert_chain(*files)
        except (ssl.SSLError, OSError) as error:
            raise _unusable(*files, error) from error
        return context, read


def _contents(certificate: Path, key: Path) -> tuple[bytes, bytes]:
    try:
        return certificate.read_bytes(), key.read_bytes()
    except OSError as error:
        raise _unusable(certificate, key, error) from error


def _unusable(certificate: Path, key: Path, error: OSError) -> SettingsError:
    return SettingsError(f"certificate {certificate} and key {key} cannot be used: {error}")
