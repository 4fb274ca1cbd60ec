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
    WANTED,
    Replica,
    Shelf,
    accepted,
    chain,
    client_accepted,
)

LONGEST_PAUSE_DAYS = 9
"""Replicas pass every ten seconds; at most both are down for so long, which is less than a
certificate's remaining life when it is renewed."""


@dataclass
class Client:
    """It read the list of authorities at some time, and perhaps never again."""

    trusted: bytes
    ends_at: float = field(default=0.0)


class Years(RuleBasedStateMachine):
    """Two replicas, one clock that jumps, and clients with lists of any age."""

    clients = Bundle("clients")

    def __init__(self) -> None:
        super().__init__()
        self.now = 1_800_000_000.0
        self.shelf = Shelf()
        self.replicas = (Replica(self.shelf), Replica(self.shelf, skew_seconds=600.0))
        self.readers: list[Client] = []

    @initialize()
    def both_begin_at_once(self) -> None:
        for replica in self.replicas:
            replica.read(self.now)
        assert [replica.write() for replica in self.replicas] == [True, False]
        self.new_client()

    @rule(days=st.floats(0.01, LONGEST_PAUSE_DAYS), first=st.integers(0, 1))
    def time_passes(self, days: float, first: int) -> None:
        self.now += days * DAY
        self.replicas[first].look(self.now)

    @rule(first=st.integers(0, 1))
    def both_look_at_once(self, first: int) -> None:
        plans = [replica.read(self.now) for replica in self.replicas]
        wrote = [self.replicas[i].write() for i in (first, 1 - first)]
        assert sum(wrote) <= 1
        assert any(wrote) == any(not plan.nothing for plan in plans)

    @rule()
    def new_client(self) -> None:
        signing = parsing.parse(self.shelf.data).authority
        assert isinstance(signing, parsing.CertifiedKey)
        trusted = self.shelf.data[certificates.AUTHORITY]
        self.readers.append(Client(trusted, parsing.ends_at(signing.certificate)))

    @invariant()
    def no_client_is_refused_while_its_authority_is_valid(self) -> None:
        if not self.shelf.data:
            return
        server, client = chain(self.shelf.data), chain(self.shelf.data, certificates.CLIENT)
        for reader in self.readers:
            if self.now < reader.ends_at:
                assert accepted(reader.trusted, server, self.now)
                assert client_accepted(reader.trusted, client, self.now)

    @invariant()
    def nothing_outlives_who_signed_it_and_all_fits(self) -> None:
        if not self.shelf.data:
            return
        held = parsing.observed(parsing.parse(self.shelf.data), self.now)
        assert isinstance(held.authority, Authority)
        assert isinstance(held.server, certificates.Leaf)
        assert isinstance(held.client, certificates.Leaf)
        assert held.server.trusted
        assert held.client.trusted
        assert self.now < held.server.ends_at <= held.authority.ends_at
        assert self.now < held.client.ends_at <= held.authority.ends_at
        assert held.server.names == WANTED.names
        assert len(chain(self.shelf.data, certificates.AUTHORITY)) <= 2


TestYears = Years.TestCase
TestYears.settings = settings(max_examples=6, stateful_step_count=40, deadline=None)
