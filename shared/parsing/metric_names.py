"""Metric names: what they mean, and bounded memory of something per name.

A name means the step, or a validation value, or which way the value should go. Names are kept as
the source prints them, so that users find the names of their logs in our tables.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from sys import getsizeof
from typing import Final, Generic, NamedTuple, TypeVar

from shared.parsing.counters import (
    EPOCH_KEYS,
    MOST_REMEMBERED,
    STEP_KEYS,
    TOTAL_EPOCH_KEYS,
    TOTAL_STEP_KEYS,
)
from shared.progress import Goal

TIME_KEYS: Final = ("time", "timestamp", "_timestamp", "wall_time")
NOT_METRICS: Final = frozenset(
    (
        *(*STEP_KEYS, *EPOCH_KEYS, *TOTAL_STEP_KEYS, *TOTAL_EPOCH_KEYS, *TIME_KEYS),
        *("_runtime", "percentage", "eta_seconds", "data_time", "time_elapsed", "fps"),
    )
)
"""Keys of steps and times, which are not metrics."""
_BOOKKEEPING: Final = re.compile(
    r".*(?:_runtime|_per_second|_total_flos)|total_flos|num_input_tokens_seen|v_num"
    r"|.*loss[_ ]?scale.*",
    re.IGNORECASE,
)
_OTHER_VALUE: Final = re.compile(
    r"(?:best|lowest|highest|target|prev(?:ious)?|old|min(?:imum)?|max(?:imum)?|num(?:ber)?)_.*"
    r"|.*_(?:weights?|coef\w*|factor|ratio|margin|delta|std|stddev|var|variance|times?|secs?|seconds"
    r"|duration|count|num|size|interval|counter|threshold|min(?:imum)?"
    r"|max(?:imum)?|best|hours|lr)"
    r"|(?:.*_)?(?:improv\w*|decreas\w*|increas\w*|not|did|than|from|below|above|reached|until|since"
    r"|patience)(?:_.*)?"
)
"""Not the present value: ``best_loss``, ``loss_weight``, ``val_loss did not improve from``."""
_SEPARATORS: Final = re.compile(r"[\s_/.\-]+")
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z][a-z])|(?<=[A-Z])(?=[A-Z][a-z])")
"""Between the words of ``ValLoss``."""
_VALIDATION: Final = r"(?:eval(?:uation)?|val(?:id?|idation)?|dev|cv)(?:_\d+)?(?:'s)?"
_TRAINING: Final = r"(?:train(?:ing)?|fit)"
_MEAN: Final = r"(?:(?:avg|avr|average|mean|epoch|total|tot|all|overall|running|reduced)_)*"
_MEAN_WORD: Final = re.compile(r"(?:^|_)(?:mean|avg|average)(?=_|$)")
_LOG: Final = r"(?:(?:binary_|multi_|m)?log)?"
"""The log loss of LightGBM and XGBoost is a loss, and better to follow than an AUC beside it."""
_MODEL: Final = r"(?:(?:lm|main)_)?"
"""Of the model alone, where a run also prints its loss with all that is added to it."""
_LOSS_OF: Final = rf"(?:{_TRAINING}(?:_total)?|total)"
_TRAINING_LOSS: Final = re.compile(rf"(?!(?:.*_)?(?:{_VALIDATION}|test)(?:_|$)).*loss.*")
_EPISODE: Final = r"(?:(?:ep|episode|episodic|mean|avg|average|total|cumulative)_?)*"
_OF_EPISODE: Final = rf"{_EPISODE}(?:ep|episode|episodic)_?{_EPISODE}"
_QUALITY: Final = (
    r"(?:acc(?:uracy)?(?:@?[15])?|top@?[15]|auc|f1|bleu|map(?:50)?|m?iou|dice|wer|cer|ppl|perplexity"
    r"|rmse|mae|mse|err(?:or)?(?:_rate)?|(?:binary_|multi_|m)?logloss|auc(?:pr)?|psnr|ssim|bpb|bpc|fid(?:[0-9]+k?)?(?:_full)?)"
)


class _Tier(NamedTuple):
    """Names that mean the same.

    Attributes:
        pattern: Of a whole name in lower case, with ``_`` for every separator.
        alike: They are spellings of one thing: any will do. Otherwise one may only be chosen if
            the run has no other of them.
    """

    pattern: re.Pattern[str]
    alike: bool


_TIERS: Final = tuple(
    _Tier(re.compile(pattern), alike)
    for pattern, alike in (
        (rf"{_MEAN}eval_{_MEAN}{_MODEL}{_LOG}loss", True),
        (
            rf"{_MEAN}{_VALIDATION}_{_MEAN}{_MODEL}{_LOG}loss(?:_epoch)?|loss_(?:{_VALIDATION})(?:_epoch)?",
            True,
        ),
        (rf"(?:rollout_|env_|test_)?{_OF_EPISODE}(?:rew(?:ards?)?|return)(?:_mean)?", False),
        (
            rf"(?:rollout_|env_|test_|critic_)?{_EPISODE}(?:rew(?:ards?)?|return|epret)(?:_mean)?",
            False,
        ),
        (
            rf"{_MEAN}(?:{_TRAINING}_)?{_MEAN}loss(?:_epoch)?|loss_{_LOSS_OF}(?:_loss|_epoch)?",
            True,
        ),
        (rf"{_MEAN}{_MODEL}(?:{_TRAINING}_)?{_MEAN}{_MODEL}{_MEAN}loss", True),
        (rf"(?:{_TRAINING}_)?(?:batch_loss|loss_step|step_loss)|loss_{_TRAINING}_step", True),
        (r"test_loss|loss_test", True),
        (r".*map(?:50|_50|@0?_?5)[-_:]0?_?95.*|.*bbox_map", False),
        (rf"{_VALIDATION}_{_MEAN}(?:ppl|perplexity|xent|nll|cross_?entropy|bp[bc])", True),
        (rf"{_VALIDATION}_(?:.*{_QUALITY}|l[12])|{_QUALITY}_{_VALIDATION}", False),
        (rf"(?:{_VALIDATION}_|{_TRAINING}_)?{_MEAN}{_EPISODE}score", True),
        (r"\w*loss_\w*total|\w+_total_loss", False),
        (rf"{_VALIDATION}_.*loss.*", False),
        (r"(?!.*(?:ppl|perplexity)).*loss.*|l_(?!(?:r|rate|max|min|len|norm)(?:_|$))\w+", False),
        (rf"(?:{_VALIDATION}_|test_)?(?:pearson|spearman)r?", True),
        (r"(?:test_)?(?:ppl|perplexity|xent|nll|cross_?entropy|bp[bc])", True),
        (rf"(?:test_.*|{_TRAINING}_)?{_MEAN}{_QUALITY}", False),
        (
            rf"(?:{_VALIDATION}_|test_|{_TRAINING}_)?(?:epe|mpjpe|gauc|mrr|ndcg(?:@?[0-9]{{1,3}})?)",
            False,
        ),
        (r".*objective_function.*", False),
        (rf"{_MEAN}(?:{_TRAINING}_)?{_MEAN}cost", True),
        (r"value", True),
    )
)
"""The first is the best."""
_MIN: Final = re.compile(
    r"loss|cost|ppl|perplexity|err|mae|mse|wer\b|cer\b|nll|xent|bp[bc]\b|\bepe\b|mpjpe|\bfid(?:[0-9]|\b)",
    re.IGNORECASE,
)
_MAX: Final = re.compile(
    r"acc|auc|f1|bleu|mAP|map\b|rew|return|ret\b|score|psnr|ssim|iou|dice|precision|recall|top.?[15]"
    r"|pearson|spearman|objective function|ndcg|mrr\b",
    re.IGNORECASE,
)
_ADVERSARIAL: Final = re.compile(
    r"rew(?:ard)?s?(?:_|$)|return|epret|episod|(?:^|_)ep_len"
    r"|(?:^|(?<!cross)_)(?:policy|pi|value|vf|qf?\d?|actor|critic|entropy|td|pg|alpha)(?:_\w+)?_(?:loss|error)"
    r"|loss_(?:policy|pi|value|vf|q|actor|critic|entropy)(?:_|$)|approx_kl|clip_?frac"
    r"|(?:^|_)(?:g|d|gen|dis|disc|gan|adv|generator|discriminator|adversarial)\d?(?:_\w+)?_loss"
    r"|loss_?(?:g|d|gen|dis|disc|gan|adv)\d?(?:_|$)|err_?[gd](?:_|$)|(?<![a-z])[gd]loss|^l_[gd](?:_|$)"
    r"|generator|discriminator|adversarial|(?:^|_)gan(?:_|$)"
)
"""Of a whole name in lower case, with ``_`` for every separator."""
_PART: Final = re.compile(
    r"(?:.*_)?(?:reg|regulari[sz]ation|aux|auxiliary|penalty|l2|commitment|router|balancing|kld?)_loss"
)
"""A loss that is added to another one; alone it does not show how far a run is."""
_DATA: Final = re.compile(rf"(?:{_TRAINING}|test(?:ing)?)_")
"""Before a name: of what data it is."""
_EPISODES: Final = re.compile(r"(?:n_|num_|total_)?episodes?")
MOST_METRICS: Final = 256
"""Names of one source; a training script has ten, a thorough one a hundred."""
ENTRY_BYTES: Final = 160
"""Memory of a name's entry and a small value."""
T = TypeVar("T")


@lru_cache(maxsize=1024)
def is_metric(name: str) -> bool:
    """Return True if a key of a structured line may be a metric: no step, time or bookkeeping."""
    return name.lower().replace("-", "_") not in NOT_METRICS and not _BOOKKEEPING.fullmatch(name)


def is_known(name: str) -> bool:
    """Return True for a name that may be followed without being named, alone or beside others."""
    return is_metric(name) and _tier(name) is not None


def preferred(names: Iterable[str]) -> str | None:
    """Return the metric to follow where the user named none; None if none is known, or several are.

    ``eval_loss`` before ``val_loss`` before ``loss`` or ``total_loss``, each also as other
    frameworks spell it (``eval/loss``, ``val_epoch_loss``, ``train_loss``, ``lm loss``); then
    losses inside an epoch and on test data; mean average precision; another value on validation
    data, a reward, another loss, an accuracy or error, if there is only one of that kind; last the
    value of a custom pattern.
    """
    best = best_of(names)
    return best[0] if len(best) == 1 else None


def best_of(names: Iterable[str]) -> list[str]:
    """Return the names that are equally good to follow; one if a choice among them is safe.

    The loss of a policy, of a critic or of one side of a GAN is never the only one; nor is what is
    added to a loss, or a loss beside a count of episodes.
    """
    found = tuple(sorted(set(names)))
    return list(_remembered(found) if len(found) <= MOST_REMEMBERED else _best_of(found))


def _best_of(found: tuple[str, ...]) -> tuple[str, ...]:
    tiers: dict[int, list[str]] = {}
    for name in found:
        if is_metric(name) and (tier := _tier(name)) is not None:
            tiers.setdefault(tier, []).append(name)
    if not tiers:
        return ()
    best = min(tiers)
    names = tiers[best][:1] if _TIERS[best].alike else _held_out(_means(tiers[best]))
    plays = any(_EPISODES.fullmatch(_plain(name)) for name in found)
    is_part = _PART.fullmatch(_plain(names[0])) is not None
    is_side = is_part or plays or not measures_convergence(names[0])
    is_one_side = "loss" in names[0].lower() and is_side
    return () if len(names) == 1 and is_one_side else tuple(names)


_remembered = lru_cache(maxsize=128)(_best_of)


def _means(names: list[str]) -> list[str]:
    """Return the mean alone where the names are one thing and its mean."""
    without = {_MEAN_WORD.sub("", _plain(name)).strip("_") for name in names}
    means = [name for name in names if _MEAN_WORD.search(_plain(name))]
    return means if len(without) == 1 == len(means) else names


def _held_out(names: list[str]) -> list[str]:
    """Return the name on test data alone where the names are one thing on two sets of data."""
    without = {_DATA.sub("", _plain(_HUMP.sub("_", name))) for name in names}
    tests = [name for name in names if _plain(name).startswith("test")]
    return tests if len(without) == 1 == len(tests) else names


@lru_cache(maxsize=1024)
def _tier(name: str) -> int | None:
    """Return the index of the best tier of a name, also with its humps as words (``ValLoss``)."""
    spelled = {_plain(name), _plain(_HUMP.sub("_", name))}
    if any(map(_OTHER_VALUE.fullmatch, spelled)):
        return None
    found = (i for i, tier in enumerate(_TIERS) if any(map(tier.pattern.fullmatch, spelled)))
    return next(found, None)


def goal_of(name: str) -> Goal | None:
    """Return the direction in which a metric improves, by its name; None if unknown."""
    if _MIN.search(name):
        return Goal.MIN
    return Goal.MAX if _MAX.search(name) else None


def is_whole_loss(name: str) -> bool:
    """Return True for the loss of a training or validation, and not one of several parts of it."""
    tier = _tier(name) if "loss" in name.lower() else None
    return tier is not None and _TIERS[tier].alike


def is_training_loss(name: str) -> bool:
    """Return True for a loss that is not named as one on other data than the training's."""
    return _TRAINING_LOSS.fullmatch(_plain(name)) is not None


@lru_cache(maxsize=1024)
def measures_convergence(name: str) -> bool:
    """Return False if a series does not show how far a run has converged.

    A reward depends on what the policy tries; losses of a policy, a critic, or of one side of a GAN
    follow the other side, and stand still or rise while the run improves.
    """
    return _ADVERSARIAL.search(_plain(_HUMP.sub("_", name))) is None


def _plain(name: str) -> str:
    """Return a name in lower case, with ``_`` for every separator."""
    return _SEPARATORS.sub("_", name.lower()).strip("_")


class Names(Generic[T]):
    """A small value for each name; names beyond the limit are not kept, programs invent names.

    Attributes:
        held_bytes: Approximate memory of all.
    """

    def __init__(self) -> None:
        self.held_bytes = 0
        self._values: dict[str, T] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def get(self, name: str) -> T | None:
        """Return the value of a name; None if it has none."""
        return self._values.get(name)

    def put(self, name: str, value: T) -> bool:
        """Keep a small value; return False if there is no room for the name."""
        if name not in self._values:
            if len(self._values) >= MOST_METRICS:
                return False
            self.held_bytes += getsizeof(name) + ENTRY_BYTES
        self._values[name] = value
        return True

    def clear(self) -> None:
        """Remove all names."""
        self._values = {}
        self.held_bytes = 0

    def without(self, names: "set[str] | dict[str, float]") -> list[str]:
        """Return the kept names that are not among ``names``, sorted."""
        return sorted(self._values.keys() - names)


class Repeats:
    """Keeps a step for its first point only: some steps are too coarse to distinguish points.

    Hugging Face prints the epoch with four digits, DeepSpeed the step every tenth time: several
    different points then have the same step. All but the first get none.

    Attributes:
        held_bytes: See ``HoldsMemory``.
    """

    def __init__(self) -> None:
        self.held_bytes = 0
        self._last: dict[str, float] = {}

    def exact(self, metric: str, step: float | None) -> float | None:
        """Return ``step``; None if the last point of this metric had it already.

        Also None for a metric that there is no room to keep.
        """
        last = self._last.get(metric)
        if step is None or last == step:
            return None
        if last is None:
            if len(self._last) == MOST_METRICS:
                return None
            self.held_bytes += getsizeof(metric) + ENTRY_BYTES
        self._last[metric] = step
        return step
