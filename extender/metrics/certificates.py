"""What is counted of certificates: how long they are good, and what became of renewing them."""

from enum import StrEnum
from typing import Final

from extender.metrics.series import Series

AUTHORITY: Final = "authority"
"""Beside the listeners, what has an end: the authority that the replicas made for themselves."""


class Door(StrEnum):
    """A listener."""

    SCHEDULER = "scheduler"
    API = "api"
    AGENTS = "agents"


class Renewing(StrEnum):
    """What became of files that had changed."""

    RENEWED = "renewed"
    REFUSED = "refused"
    """They cannot be used, and the certificate before stays."""


class Made(StrEnum):
    """What the replicas make for themselves."""

    AUTHORITY = "authority"
    SERVER = "server"
    CLIENT = "client"


class CertificateMetrics:
    """See the module; series of what is not there are not there."""

    def __init__(self, series: Series) -> None:
        self.left_seconds = series.gauge(
            "shuntyard_certificate_left_seconds",
            "How long a certificate in use is still good: that of a listener (`scheduler`, `api`, "
            "`agents`), and the `authority` that the replicas made for themselves; negative after "
            "its end.",
            ["certificate"],
        )
        self.life_seconds = series.gauge(
            "shuntyard_certificate_life_seconds",
            "How long that certificate is good in all, from its begin to its end.",
            ["certificate"],
        )
        self.renewals = series.counter(
            "shuntyard_certificate_renewals",
            "Looks at which the files of a listener's certificate had changed, by what became of "
            "it: one that cannot be used is refused at every look.",
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
            "What kept this replica from making certificates, or from saying whom to trust; "
            "counted at every look, ten seconds apart.",
        )

    def observe(self, certificate: str, begins_at: float, ends_at: float, now: float) -> None:
        """Say how long a certificate is good; all are seconds since the epoch."""
        self.left_seconds.labels(certificate=certificate).set(ends_at - now)
        self.life_seconds.labels(certificate=certificate).set(ends_at - begins_at)
