"""Metrics of certificates: how long they are valid, and how renewals ended."""

from enum import StrEnum
from typing import Final

from extender.metrics.series import Series

AUTHORITY: Final = "authority"
"""Certificate of the authority that the replicas made for themselves, beside the listeners'."""


class Door(StrEnum):
    """A listener."""

    SCHEDULER = "scheduler"
    API = "api"
    AGENTS = "agents"


class Renewing(StrEnum):
    """How taking over changed files ended."""

    RENEWED = "renewed"
    REFUSED = "refused"
    """They cannot be used; the certificate before stays in use."""


class Made(StrEnum):
    """Certificates that the replicas make for themselves."""

    AUTHORITY = "authority"
    SERVER = "server"
    CLIENT = "client"


class CertificateMetrics:
    """The metrics of this module; a certificate that does not exist has no series."""

    def __init__(self, series: Series) -> None:
        self.left_seconds = series.gauge(
            "shuntyard_certificate_left_seconds",
            "How long a certificate in use is still valid: that of a listener (`scheduler`, `api`, "
            "`agents`), and the `authority` that the replicas made for themselves; negative after "
            "its end.",
            ["certificate"],
        )
        self.life_seconds = series.gauge(
            "shuntyard_certificate_life_seconds",
            "How long that certificate is valid in all, from its begin to its end.",
            ["certificate"],
        )
        self.renewals = series.counter(
            "shuntyard_certificate_renewals",
            "Checks that found changed files of a listener's certificate, by outcome; files that "
            "cannot be used are refused at every check.",
            listener=Door,
            outcome=Renewing,
        )
        self.refusals = series.counter(
            "shuntyard_tls_refusals",
            "Handshakes that failed: a wrong or missing certificate of a client, an authority that "
            "the client does not know, no TLS at all.",
            listener=Door,
        )
        self.made = series.counter(
            "shuntyard_certificates_made",
            "Certificates that this replica made and put into the Secret.",
            certificate=Made,
        )
        self.failures = series.counter(
            "shuntyard_certificate_failures",
            "Attempts of this replica to make certificates, or to publish the authorities that "
            "agents trust, that failed; there is one every ten seconds.",
        )

    def observe(self, certificate: str, begins_at: float, ends_at: float, now: float) -> None:
        """Set how long a certificate is valid; all times are seconds since the epoch."""
        self.left_seconds.labels(certificate=certificate).set(ends_at - now)
        self.life_seconds.labels(certificate=certificate).set(ends_at - begins_at)
