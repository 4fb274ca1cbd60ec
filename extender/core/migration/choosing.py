"""Who is to move where, by the policy's rule.

``specon``: converged containers that ask (``converging``), then hosts that ran short
(``rebalancing``). ``count``: count balancing alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from extender.core.cluster.session import Reading
from extender.core.cluster.snapshot import Snapshot
from extender.core.migration import converging, hosts, rebalancing
from extender.core.migration.commands import MigrationCommand
from extender.core.migration.ledger import Ledger
from extender.core.migration.proposals import Proposals
from extender.core.parameters.migration import MigrationParameters, MigrationPolicy
from shared.ledgers import Declined
from shared.model import Uid


@dataclass(frozen=True)
class Choice:
    """What was chosen.

    Attributes:
        commands: Migrations to be made, each with an Event.
        stayed: Pods that Algorithm 2 found best where they are, since when.
        declined: Why jobs were not moved when they were looked at last, by job.
    """

    commands: tuple[MigrationCommand, ...]
    stayed: Mapping[Uid, float]
    declined: Mapping[str, Declined]


def choose(
    snapshot: Snapshot,
    book: Ledger,
    stayed: Mapping[Uid, float],
    declined: Mapping[str, Declined],
    reading: Reading,
    params: MigrationParameters,
    *,
    installed: bool,
) -> Choice:
    """Return the migrations that should begin now; ``stayed`` and ``declined`` as of before."""
    known = stayed if params.target.stay_counts_as_move else {}
    seen = hosts.seen(
        snapshot, book, reading, params.agent_reports.stale_seconds, known, params.topology
    )
    proposals = Proposals(
        snapshot, book, reading, params, seen, dict(stayed), dict(declined), installed
    )
    if params.policy is MigrationPolicy.SPECON:
        converging.propose(proposals)
        rebalancing.fill(proposals)
    elif params.policy is MigrationPolicy.COUNT:
        rebalancing.even_out(proposals)
    return Choice(tuple(proposals.commands), proposals.stayed, proposals.declined)
