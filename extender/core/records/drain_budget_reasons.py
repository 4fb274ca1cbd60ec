"""Why evictions of a job do not wait for its checkpoint: a closed vocabulary."""

from extender.core.records.vocabulary import Vocabulary, Word


class NoBudget(Vocabulary):
    """Why a job that would be parked has no budget of ours; its value is the token."""

    OTHER_BUDGET = Word(
        "OtherBudget",
        "another PodDisruptionBudget selects its pods, and the API server evicts no pod of two",
    )
    NO_LABEL = Word(
        "NoLabel",
        "no label tells its pods from those of other jobs: give them shuntyard.io/job",
    )
