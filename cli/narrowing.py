"""Less of an answer: one namespace, one migration."""

from typing import Final, TypeVar

from msgspec.structs import replace

from cli.errors import UnansweredError
from shared import api
from shared.ledgers import RescalesResponse
from shared.tenancy import NamespacesResponse

Answer = TypeVar("Answer", bound=api.Response)

_LISTS: Final = (
    api.QueueResponse,
    api.JobsResponse,
    api.MigrationsResponse,
    RescalesResponse,
    NamespacesResponse,
)


def to_namespace(answer: Answer, namespace: str) -> Answer:
    """Return the answer with what concerns one namespace; nodes are in none."""
    if isinstance(answer, _LISTS):
        kept = [entry for entry in answer.entries if entry.namespace == namespace]
        answer = replace(answer, entries=tuple(kept))
    if isinstance(answer, api.MigrationsResponse | RescalesResponse):
        mine = [one for one in answer.declined if one.job.startswith(f"{namespace}/")]
        answer = replace(answer, declined=tuple(mine))
    return answer


def to_migration(answer: api.MigrationsResponse, name: str) -> api.MigrationsResponse:
    """Return the answer with the migrations of one name, and nothing that was not moved.

    Raises:
        UnansweredError: There is none.
    """
    kept = tuple(entry for entry in answer.entries if entry.name == name)
    if not kept:
        raise UnansweredError(f"there is no migration {name}")
    return replace(answer, entries=kept, declined=())
