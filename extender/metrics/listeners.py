"""Metrics of the listeners: their connections and their certificates."""

from collections.abc import Sized
from enum import StrEnum
from typing import Final

from extender.metrics.series import Series

AUTHORITY: Final = "authority"
"""Certificate of the authority that the replicas made for themselves, beside the listeners'."""


class ListenerName(StrEnum):
    """A listener."""

    SCHEDULER = "scheduler"
    API = "api"
    AGENTS = "agents"


class ConnectionEnd(StrEnum):
    """Why a connection was ended."""

    CROWDED = "crowded"
    """The limit was reached; the connection was idle, or one too many."""
    LATE = "late"
    """The body of its request took too long."""


class ConnectionMetrics:
    """Open and ended connections of the listeners."""

    def __init__(self, series: Series) -> None:
        self.open = series.gauge(
            "shuntyard_connections", "Open connections of a listener.", listener=ListenerName
        )
        self.ended = series.counter(
            "shuntyard_connections_ended",
            "Connections that a listener ended or rejected, by why: `crowded`, the limit of open "
            "connections was reached; `late`, the body of a request took too long.",
            listener=ListenerName,
            why=ConnectionEnd,
        )

    def watch(self, name: ListenerName, connections: Sized) -> None:
        """Read the number of open connections at every scrape."""
        self.open.labels(listener=name.value).set_function(lambda: float(len(connections)))


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
    """Validity and renewals of certificates; one that does not exist has no series."""

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
            listener=ListenerName,
            outcome=Renewing,
        )
        self.refusals = series.counter(
            "shuntyard_tls_refusals",
            "Handshakes that failed: a wrong or missing certificate of a client, an authority that "
            "the client does not know, no TLS at all.",
            listener=ListenerName,
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
