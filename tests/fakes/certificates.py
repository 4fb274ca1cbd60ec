"""A Secret in memory shared by replicas, and clients that verify a server's certificate."""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from cryptography import x509
from cryptography.x509.verification import PolicyBuilder, Store, VerificationError

from extender.core import certificates
from extender.core.certificates import Plan, Requirements
from extender.servers.tls import issuing, parsing

HOST = "shuntyard-agents.shuntyard-system.svc"
DAY = 86400.0
REQUIRED = Requirements(
    names=frozenset([HOST]),
    client_name="shuntyard-kube-scheduler",
    valid_seconds=30 * DAY,
    authority_valid_seconds=120 * DAY,
)


@dataclass
class Secret:
    """The Secret: only a write of the version that was read succeeds."""

    data: Mapping[str, bytes] = field(default_factory=dict)
    version: int = 1

    def write(self, version: int, changes: Mapping[str, bytes]) -> bool:
        if version != self.version:
            return False
        self.data = {**self.data, **changes}
        self.version += 1
        return True


@dataclass
class Replica:
    """Reads, and some time later writes what it has issued."""

    secret: Secret
    required: Requirements = REQUIRED
    skew_seconds: float = 0.0
    _changes: tuple[int, Mapping[str, bytes]] | None = None

    def read(self, now: float) -> Plan:
        now += self.skew_seconds
        pairs = parsing.parse(self.secret.data)
        plan = certificates.plan(parsing.observed(pairs, now), self.required, now)
        if not plan.nothing:
            changes = issuing.issue(pairs, plan, self.required, now)
            self._changes = (self.secret.version, changes)
        return plan

    def write(self) -> bool:
        changes, self._changes = self._changes, None
        return changes is not None and self.secret.write(*changes)

    def reconcile(self, now: float) -> Plan:
        plan = self.read(now)
        self.write()
        return plan


def fresh(now: float, **changes: object) -> dict[str, bytes]:
    """Return what a Secret holds after the first pass."""
    secret = Secret()
    Replica(secret, replace(REQUIRED, **changes)).reconcile(now)  # type: ignore[arg-type]
    return dict(secret.data)


def chain(data: Mapping[str, bytes], key: str = certificates.SERVER) -> list[x509.Certificate]:
    return x509.load_pem_x509_certificates(data[key])


def accepted(trusted: bytes, shown: list[x509.Certificate], now: float, host: str = HOST) -> bool:
    """True if a client that trusts ``trusted`` accepts a server's certificate."""
    at = dt.datetime.fromtimestamp(now, dt.UTC)
    store = Store(x509.load_pem_x509_certificates(trusted))
    verifier = PolicyBuilder().store(store).time(at).build_server_verifier(x509.DNSName(host))
    try:
        verifier.verify(shown[0], shown[1:])
    except VerificationError:
        return False
    return True


def client_accepted(trusted: bytes, shown: list[x509.Certificate], now: float) -> bool:
    """True if a server that trusts ``trusted`` accepts a client's certificate."""
    store = Store(x509.load_pem_x509_certificates(trusted))
    at = dt.datetime.fromtimestamp(now, dt.UTC)
    try:
        PolicyBuilder().store(store).time(at).build_client_verifier().verify(shown[0], shown[1:])
    except VerificationError:
        return False
    return True
