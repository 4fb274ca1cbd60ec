"""Why evictions of a job do not wait for its checkpoint: a closed vocabulary."""

from extender.core.records.vocabulary import Vocabulary, Word


class NoBudget(Vocabulary):
    """Why a job that would be parked has no budget of ours; its value is the token."""

    OTHER_BUDGET = Word(
        "OtherBudget",
        "another PodDisruptionBudget selects its pods; a pod with two budgets cannot be evicted",
    )
    NO_LABEL = Word(
        "NoLabel",
        "no label is on its pods alone: give them the label shuntyard.io/job",
    )
