"""What names of metrics mean: which is the step, which is validation, which way it should go.

Names are kept as the source prints them, so that a user finds in our tables what is in his log.
"""

import re
from collections.abc import Iterable
from typing import Final

from shared.progress import Goal

STEP_KEYS: Final = ("step", "global_step", "_step", "iteration", "iter", "num_updates", "epoch")
"""Keys of structured lines that count; the first that is there is the step."""
TOTAL_KEYS: Final = ("total_steps", "max_steps")
TIME_KEYS: Final = ("time", "timestamp", "_timestamp", "wall_time")
NOT_METRICS: Final = frozenset((*STEP_KEYS, *TOTAL_KEYS, *TIME_KEYS, "_runtime"))
"""Keys that place a value and are none."""
_BOOKKEEPING: Final = re.compile(
    r".*(?:_runtime|_per_second|_total_flos)|total_flos|num_input_tokens_seen|v_num"
)
_DEFAULTS: Final = (
    r"eval[_/ ]loss",
    r"(?:val|valid|validation)[_/ ](?:epoch_)?(?:lm )?loss|loss[_/](?:val|valid|validation|eval)",
    r"loss|epoch_loss|train[_/ ](?:epoch_)?loss(?:_epoch)?|loss[_/]train|lm loss",
    r"(?:train[_/ ])?(?:batch_loss|loss_step)",
    r"test[_/ ]loss|loss[_/]test",
    r".*loss.*",
    r"value",
)
_MIN: Final = re.compile(r"loss|ppl|perplexity|err|mae|mse|wer\b", re.IGNORECASE)
_MAX: Final = re.compile(r"acc|auc|f1|bleu|mAP|map\b|reward|iou|dice|precision|recall")


def is_metric(name: str) -> bool:
    """Return whether a key of a structured line may be a metric: no step, time or bookkeeping."""
    return name not in NOT_METRICS and not _BOOKKEEPING.fullmatch(name)


def preferred(names: Iterable[str]) -> str | None:
    """Return the metric that is followed where the user named none; None if none is a loss.

    ``eval_loss`` before ``val_loss`` before ``loss``, each also as other frameworks spell it
    (``eval/loss``, ``val_epoch_loss``, ``train_loss``, ``lm loss``); then what is measured inside
    an epoch, on test data, and all with ``loss`` in its name; last the value of a custom pattern.
    """
    known = sorted(set(names))
    for pattern in _DEFAULTS:
        for name in known:
            if re.fullmatch(pattern, name, re.IGNORECASE):
                return name
    return None


def goal_of(name: str) -> Goal | None:
    """Return which way a metric should go, by its name; None if that does not say."""
    if _MIN.search(name):
        return Goal.MIN
    return Goal.MAX if _MAX.search(name) else None
