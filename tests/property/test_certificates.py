"""Over the years there is one authority at a time, and no client that trusts it is refused."""

from dataclasses import dataclass, field

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule

from extender.core import certificates
from extender.core.certificates import Authority
from extender.servers.tls import parsing
from tests.fakes.certificates import (
    DAY,
    REQUIRED,
    Replica,
    Secret,
    accepted,
    chain,
    client_accepted,
)

LONGEST_PAUSE_DAYS = 9
"""Replicas reconcile every ten seconds; at the longest both are down for so long, which is less
than what a certificate has left when it is renewed."""


@dataclass
class Client:
    """It read the authorities to trust at some time, and perhaps never again."""

    trusted: bytes
    ends_at: float = field(default=0.0)


class Years(RuleBasedStateMachine):
    """Two replicas, one clock that jumps, and clients with lists of any age."""

    clients = Bundle("clients")

    def __init__(self) -> None:
        super().__init__()
        self.now = 1_800_000_000.0
        self.secret = Secret()
        self.replicas = (Replica(self.secret), Replica(self.secret, skew_seconds=600.0))
        self.readers: list[Client] = []

    @initialize()
    def both_start_at_once(self) -> None:
        for replica in self.replicas:
            replica.read(self.now)
        assert [replica.write() for replica in self.replicas] == [True, False]
        self.new_client()

    @rule(days=st.floats(0.01, LONGEST_PAUSE_DAYS), first=st.integers(0, 1))
    def time_passes(self, days: float, first: int) -> None:
        self.now += days * DAY
        self.replicas[first].reconcile(self.now)

    @rule(first=st.integers(0, 1))
    def both_reconcile_at_once(self, first: int) -> None:
        plans = [replica.read(self.now) for replica in self.replicas]
        wrote = [self.replicas[i].write() for i in (first, 1 - first)]
        assert sum(wrote) <= 1
        assert any(wrote) == any(not plan.nothing for plan in plans)

    @rule()
    def new_client(self) -> None:
        signing = parsing.parse(self.secret.data).authority
        assert isinstance(signing, parsing.CertifiedKey)
        trusted = self.secret.data[certificates.AUTHORITY]
        self.readers.append(Client(trusted, parsing.ends_at(signing.certificate)))

    @invariant()
    def no_client_is_refused_while_the_authority_it_trusts_is_valid(self) -> None:
        if not self.secret.data:
            return
        server, client = chain(self.secret.data), chain(self.secret.data, certificates.CLIENT)
        for reader in self.readers:
            if self.now < reader.ends_at:
                assert accepted(reader.trusted, server, self.now)
                assert client_accepted(reader.trusted, client, self.now)

    @invariant()
    def no_certificate_outlives_its_authority_and_all_match(self) -> None:
        if not self.secret.data:
            return
        observed = parsing.observed(parsing.parse(self.secret.data), self.now)
        assert isinstance(observed.authority, Authority)
        assert isinstance(observed.server, certificates.Leaf)
        assert isinstance(observed.client, certificates.Leaf)
        assert observed.server.trusted
        assert observed.client.trusted
        assert self.now < observed.server.ends_at <= observed.authority.ends_at
        assert self.now < observed.client.ends_at <= observed.authority.ends_at
        assert observed.server.names == REQUIRED.names
        assert len(chain(self.secret.data, certificates.AUTHORITY)) <= 2


TestYears = Years.TestCase
TestYears.settings = settings(max_examples=6, stateful_step_count=40, deadline=None)
