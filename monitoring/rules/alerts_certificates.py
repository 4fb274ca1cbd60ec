"""Alerts about certificates: they end, they are not made anew, they are not taken."""

from typing import Final

from monitoring.rules.model import Alert, Severity

DAY_SECONDS: Final = 86400
SOON_SECONDS: Final = 90 * DAY_SECONDS
"""An authority is good for years; a sixth of that is no reason to look."""
LEFT: Final = "shuntyard_certificate_left_seconds"
LIFE: Final = "shuntyard_certificate_life_seconds"


def _less_than(seconds: int) -> str:
    """Return what is left where that is less than so much, and than a sixth of the whole life.

    Renewal is due when a third is left. Of a certificate that is good for an hour, less than a day
    is always left.
    """
    return f"min by (job, certificate) ({LEFT} < clamp_max({LIFE} / 6, {seconds}))"


CERTIFICATES: Final = (
    Alert(
        "ShuntyardCertificateEndsSoon",
        Severity.WARNING,
        _less_than(SOON_SECONDS),
        "15m",
        "The certificate {{ $labels.certificate }} of {{ $labels.job }} ends in "
        "{{ $value | humanizeDuration }}.",
        "It should have been renewed when a third of its life was left. It is still good; whoever "
        "renews it does not do it, or the extender cannot use the new one.",
    ),
    Alert(
        "ShuntyardCertificateEnds",
        Severity.CRITICAL,
        _less_than(DAY_SECONDS),
        "5m",
        "The certificate {{ $labels.certificate }} of {{ $labels.job }} ends in "
        "{{ $value | humanizeDuration }}.",
        "After its end agents, and a kube-scheduler elsewhere, refuse the extender: nothing is "
        "known of training, and where kube-scheduler asks over TLS no pod is scheduled.",
    ),
    Alert(
        "ShuntyardCertificatesNotMade",
        Severity.WARNING,
        "sum by (job, instance) (increase(shuntyard_certificate_failures_total[15m])) > 5",
        "15m",
        "{{ $labels.instance }} cannot make certificates, or cannot say whom to trust.",
        "The replica cannot read or write the Secret with the certificates or the ConfigMap with "
        "the authority, or what is in the Secret is broken. What is in use stays in use.",
    ),
    Alert(
        "ShuntyardCertificateRefused",
        Severity.WARNING,
        "sum by (job, instance, listener) "
        '(increase(shuntyard_certificate_renewals_total{outcome="refused"}[15m])) > 5',
        "10m",
        "The listener {{ $labels.listener }} of {{ $labels.instance }} cannot use its new files.",
        "The files of a listener's certificate have changed, and they cannot be used: a key that "
        "does not fit, half a file, a file that is gone. The certificate before stays in use.",
    ),
    Alert(
        "ShuntyardHandshakesFail",
        Severity.WARNING,
        "sum by (job, listener) (rate(shuntyard_tls_refusals_total[15m])) > 0.03",
        "15m",
        "The listener {{ $labels.listener }} of {{ $labels.job }} refuses {{ $value }} handshakes "
        "a second.",
        "Somebody tries again and again to connect and does not trust our certificate, shows none "
        "or a wrong one, or speaks no TLS. Agents that are refused report nothing.",
    ),
)
