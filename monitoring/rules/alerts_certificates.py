"""Alerts about certificates that expire, are not renewed, or are refused."""

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
        "ShuntyardCertificateExpiresSoon",
        Severity.WARNING,
        _less_than(SOON_SECONDS),
        "15m",
        "The certificate {{ $labels.certificate }} of {{ $labels.job }} ends in "
        "{{ $value | humanizeDuration }}.",
        "It should have been renewed when a third of its life was left. It is still valid, but it "
        "is not renewed, or the extender cannot use the new one.",
    ),
    Alert(
        "ShuntyardCertificateExpires",
        Severity.CRITICAL,
        _less_than(DAY_SECONDS),
        "5m",
        "The certificate {{ $labels.certificate }} of {{ $labels.job }} ends in "
        "{{ $value | humanizeDuration }}.",
        "After its end agents, and a kube-scheduler elsewhere, refuse the extender: training is "
        "unknown, and if kube-scheduler calls over TLS no pod is scheduled.",
    ),
    Alert(
        "ShuntyardCertificatesNotIssued",
        Severity.WARNING,
        "sum by (job, instance) (increase(shuntyard_certificate_failures_total[15m])) > 5",
        "15m",
        "{{ $labels.instance }} cannot make certificates, or cannot publish its CA.",
        "The replica cannot read or write the Secret with the certificates or the ConfigMap with "
        "the CA, or the content of the Secret is broken. Present certificates stay in use.",
    ),
    Alert(
        "ShuntyardCertificateRefused",
        Severity.WARNING,
        "sum by (job, instance, listener) "
        '(increase(shuntyard_certificate_renewals_total{outcome="refused"}[15m])) > 5',
        "10m",
        "The listener {{ $labels.listener }} of {{ $labels.instance }} cannot use its new files.",
        "The files of a listener's certificate changed and cannot be used: a wrong key, half a "
        "file, a missing file. The previous certificate stays in use.",
    ),
    Alert(
        "ShuntyardHandshakesFail",
        Severity.WARNING,
        "sum by (job, listener) (rate(shuntyard_tls_refusals_total[15m])) > 0.03",
        "15m",
        "The listener {{ $labels.listener }} of {{ $labels.job }} refuses {{ $value }} handshakes "
        "a second.",
        "A client repeatedly fails to connect: it does not trust our certificate, shows none or a "
        "wrong one, or does not use TLS. Refused agents report nothing.",
    ),
)
