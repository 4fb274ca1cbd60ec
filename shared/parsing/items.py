"""The numbers of a line, and the words before each: what they may mean.

::

    step   20/18865 | loss 10.950 (+nanz)| norm 15.3 | lr 1.71e-06 | 2650.6 ms | 55.2% bf16 MFU

has the counter ``step`` with a total, and the metric ``loss``.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from math import isfinite
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from shared.parsing.base import NUMBER
from shared.parsing.metric_names import is_known

LONGEST_WORDS: Final = 160
"""Characters before a number that are read for its name."""
MOST_NUMBERS: Final = 100
"""Numbers of a line that are read."""
_ITEM: Final = re.compile(
    r"(?<![\w./+@-])(?:(?<![0-9]:)|(?<=[A-Za-z][0-9]:))(?<![0-9],)"
    r"(?P<value>[-+]?(?:[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]+)?|[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
    r"(?!,?[0-9])"
    r"(?:[eE][-+]?[0-9]+)?|[-+]?(?:nan|inf)\b)"
    r"(?:(?:\s{0,3}/\s{0,6}|\s{1,4}(?:out )?of\s{1,4})"
    r"(?P<total>[0-9]+(?:,[0-9]{3})*)(?![0-9.]*(?!epoch)[\w/]))?"
    r"(?!:[0-9])(?P<suffix>[%A-Za-z/]*)"
    r"(?: (?P<unit>(?-i:s|secs?|seconds?|ms|mins?|minutes?|hrs?|hours?|[KMG]i?B))\b"
    r"(?!\s{0,2}[:=(]?\s{0,2}[-+.0-9]|\())?",
    re.IGNORECASE,
)
_UNCOUNTED: Final = re.compile(r".*(?:\.[0-9]*[1-9]|\.[0-9]{2}|[eE]).*")
"""A number that no program counts with: ``4.707e-03``, ``0.000``."""
_LIMIT: Final = re.compile(r"\s[<>]=?\s*")
"""Before a bound, as in ``until loss < 0.1``."""
_WORDS: Final = re.compile(r"[A-Za-z_@][\w.@/'-]*(?: [A-Za-z_@][\w.@/'-]*){0,3}$")
_BRACKETED: Final = re.compile(r"\((?:curr|current)\)", re.IGNORECASE)
_PHASE_BEHIND: Final = re.compile(r"[ _]?\((train|val|valid|test|eval)\)", re.IGNORECASE)
_WRAPPED: Final = re.compile(r"\b(?:tensor|array|param|np\.float[0-9]{2})\($", re.IGNORECASE)
"""Around a value, as in ``loss: tensor(0.3, device='cuda:0')``."""
_ARROW: Final = re.compile(r"[-=]{1,2}>\s{0,4}$")
"""Between a name and its value, as in ``loss -> 0.3``."""
_TRAILING: Final = " \t:=[(#\"'|<"
_ELLIPSIS: Final = re.compile(r"\s{0,4}(?:\.{2,}|…)$")
"""Behind a name, as in ``Epoch... (39/116 | Loss: 0.19)``."""
_SEPARATORS: Final = re.compile(r"[][(){},;|\t\"<>]|(?<!\w)'|'(?!\w)| {2,}|: | - | = ")
_GLOBAL_STEP: Final = re.compile(
    r"(?:.* )?(?:global|total|optimizer|optim|completed|learning|train|training)[ _]?"
    r"(?:step|iteration|iter|update|timestep)s?(?:_num)?|total t"
    r"|n(?:um)?_?updates|env_steps?|num_timesteps|(?:.*/)?global_step"
)
_STEP: Final = re.compile(
    r"(?:.* )?(?:step|iteration|iter|it|update|timestep|round|(?:mini)?batch|tick|episode"
    r"|generation)e?s?|batch_idx?|up\."
)
_EPOCH: Final = re.compile(r"(?:.* )?(?:train |training |train_)?(?:epoch|ep\.?)")
_OTHER_COUNTER: Final = re.compile(
    r".*(?:ppo|per|last|best|next|warm-?up|num|total|inner|micro|accum|skip|decay|patience|remain"
    r"|episode (?:steps|length)|\b(?:one|each|max|maximum|log|save|val|valid|validation"
    r"|eval\w*|test|bad|left|since)\b).*"
)
_VALIDATED_AT: Final = re.compile(
    r"(?:val|valid|validation|eval|evaluation|test) (?:at|after) (?:epoch|step|iter|iteration)"
)
"""The counter of the training, at which other data was looked at; ``val step`` is not."""
_PHASE: Final = re.compile(r"(?:.*[\s_/])?(?:train|training)")
_RANK: Final = re.compile(r"(?:.*[ _])?(?:rank|worker|replica|client|agent|node|host|process|env)")
_NOISE: Final = re.compile(
    r"^(?:.*? )??(?=(?:train|training|val|valid|validation|eval|test|dev|mean|avg|average|running"
    r"|total|value|surrogate|policy|actor|critic|unsupervised|lm|batch|epoch|step|reduced|smoothed"
    r"|gen|generator|disc|discriminator|adv|adversarial"
    r"|loss|acc|accuracy)\b)",
    re.IGNORECASE,
)
_EXTREME: Final = re.compile(
    r"\b(?:best|lowest|highest|target|previous|min|minimum|max|maximum)\b", re.IGNORECASE
)
"""Among the words before a value: ``Best Loss``."""
_KIND: Final = re.compile(
    r"\b(?:reg|regulari[sz]ation|aux|auxiliary|penalty|l1|l2|commitment|router|balancing|kl|kld) $",
    re.IGNORECASE,
)
"""Words that are no noise: of a part of a loss."""
_OF_CLASS: Final = re.compile(
    r"(?!(?:info|debug|warning|current|curr|cur|the|overall|final|top|model|new|root)\b)"
    r"[a-z-]+ acc",
    re.IGNORECASE,
)
"""An accuracy of something: ``plane accuracy``."""
_NO_METRIC: Final = re.compile(
    r".*(?:best|lowest|highest|target|previous).*|(?:.* )?err(?:or)?s?(?: rate)?|value"
    r"|.*\.(?:py|cc|cpp|cu|c|h|hpp|go|rs|java|scala|lua|jl|js|ts)",
    re.IGNORECASE,
)
"""Other values than the present one, what every server counts, and lines of source files."""
_VALUE_AT: Final = re.compile(
    r"((?:[A-Za-z]{1,20} ){0,3}(?:loss|cost(?= a(?:t|fter) )|accuracy"
    r"|objective function(?: for '[\w.-]{1,40}')?))"
    r"(?: of (?:the )?(?:global |trained )?(?:model|network)(?: trained)?)?"
    r"(?: \([\w ]{1,40}\))? (?:at|after|for|in|of)"
    r" (?:step|iteration|iter|epoch|(?:mini)?batch(?:es)?) "
    rf"[0-9]{{1,12}}(?:-[0-9]{{1,12}})? ?(?:[:=]|is:?) ?({NUMBER})"
    r"(?![.,]?\w|\s?/|\s{0,2}(?:s|secs?|seconds?|ms|mins?|minutes?|hrs?|hours?)\b)",
    re.IGNORECASE,
)
_VALUE_BEFORE: Final = re.compile(
    rf"(?:^|[,;|:])\s*({NUMBER}) ((?:(?:avg|average|mean|total|train|val|validation|test) )?loss)"
    r"(?=\s*(?:[,;|]|$))",
    re.IGNORECASE,
)
_REACHED: Final = re.compile(rf"'([\w/.-]{{1,80}})' reached ({NUMBER})")
_SCALED: Final = re.compile(
    r"([0-9]+(?:\.[0-9]+)?)([kMG]?)(?:it|step|ex)/([0-9]+(?:\.[0-9]+)?)([kMG]?)(?:it|step|ex)\b"
)
_IN_PERCENT: Final = re.compile(r"(?<=[0-9]) ?\( {0,3}[0-9]{1,3}(?:\.[0-9]{1,9})?%\)")
_ASCII_BAR: Final = re.compile(r"%\|#{0,400}[0-9] {0,400}\|")
_BAR_ENDS: Final = re.compile(r"(?:it/s|s/it)[^\]]{0,400}\](?=[A-Z{])")
_JULIA: Final = re.compile(r"(\.[0-9]{1,17})f(?=[-+]?[0-9]{1,2}(?![\w.]))")
"""Before the exponent of a number of 32 bits: ``87.793724f0``."""
_TAB: Final = "#011"
"""A tab as SageMaker's logs have it, in octal digits."""
_NARROW: Final = str.maketrans("\uff1a\uff0c\uff1b\uff08\uff09\uff1d\uff0f", ":,;()=/")
_WIDE: Final = re.compile("[\uff1a\uff0c\uff1b\uff08\uff09\uff1d\uff0f]")
"""Signs of full width, as Chinese and Japanese texts have them."""
_OF_DATA: Final = re.compile(r"\b((?:loss|accuracy|acc))\([A-Za-z][\w, .]{0,40}\) =")
"""A value as the call that computes it: ``loss(x, y) = 0.3``."""
_ESPNET: Final = re.compile(r"\b([0-9]{1,9})epoch:train:[0-9]{1,12}-([0-9]{1,12})batch:")
_THOUSANDS: Final = {"k": 1e3, "K": 1e3, "M": 1e6}
"""Of a counter of the whole run: ``step:31K``."""
_ORDINALS: Final = ("st", "nd", "rd", "th")
_SCALES: Final = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9}


class Name(Struct, frozen=True):
    """The words before a number, and what they may mean.

    Attributes:
        text: As printed, without words that say nothing (``INFO current loss``); may be empty.
        whole: All of them.
    """

    text: str
    whole: str
    is_epoch: bool
    is_step: bool
    is_global_step: bool
    is_phase: bool
    is_rank: bool
    is_metric: bool


class Item(Struct):
    """A number of a line.

    Attributes:
        name: The words before it.
        gap: The text between it and the number before it.
        value: The number.
        total: What follows it after a slash.
        suffix: The letters right behind it, or its unit.
        may_count: It is printed as counters are: without decimals.
    """

    name: Name
    gap: str
    value: float
    total: int | None
    suffix: str
    may_count: bool = True


def items_of(line: str) -> Iterator[Item]:
    """Yield the numbers of a line, in order."""
    for item, _ in located(line):
        yield item


def located(line: str) -> Iterator[tuple[Item, re.Match[str]]]:
    """Yield the numbers of a line with where they are, in order; groups ``value``, ``total``."""
    end = 0
    for count, match in enumerate(_ITEM.finditer(line)):
        if count == MOST_NUMBERS:
            return
        gap = line[end : match.start()]
        name, value = _name(gap[-LONGEST_WORDS:]), float(match["value"].replace(",", ""))
        if not isfinite(value) and not name.is_metric:
            continue  # a word
        if "," in match["value"] and (gap.endswith("[") or (name.is_metric and value.is_integer())):
            continue  # two numbers, or one with a decimal comma
        end = match.end()
        total, suffix = match["total"], match["suffix"] or match["unit"] or ""
        suffix = "" if suffix in _ORDINALS else suffix
        is_compared = name.is_metric and ("<" in gap or ">" in gap)
        is_compared = is_compared and line[end : end + 1] != ">"  # ``loss: <0.3>``
        if is_compared and _LIMIT.fullmatch(gap[len(gap.rstrip(" <>=")) :]):
            name = replace(name, is_metric=False)
        if suffix in _THOUSANDS and (name.is_step or name.is_global_step):
            value, suffix = value * _THOUSANDS[suffix], ""
            name = replace(name, is_step=False, is_global_step=True)
        item = Item(
            name,
            gap.strip(),
            value,
            None if total is None else int(total.replace(",", "")),
            suffix,
            may_count=match["value"].isdigit() or _UNCOUNTED.fullmatch(match["value"]) is None,
        )
        yield item, match


@lru_cache(maxsize=2048)
def _name(gap: str) -> Name:
    """Return the name of the number that follows the text."""
    whole = _words(gap)
    noise = _NOISE.match(whole)
    begins = noise.end() if noise else 0
    if _KIND.search(whole[:begins]) or (begins and _OF_CLASS.match(whole)):
        begins = 0
    text = whole[begins:]
    lower = text.lower()
    is_other = not lower or (
        _OTHER_COUNTER.fullmatch(whole.lower()) is not None
        and _VALIDATED_AT.fullmatch(whole.lower()) is None
    )
    return Name(
        text,
        whole,
        is_epoch=not is_other and _EPOCH.fullmatch(lower) is not None,
        is_step=not is_other and _STEP.fullmatch(lower) is not None,
        is_global_step=_GLOBAL_STEP.fullmatch(lower) is not None,
        is_phase=_PHASE.fullmatch(lower) is not None,
        is_rank=_RANK.fullmatch(lower) is not None,
        is_metric=is_known(text)
        and _NO_METRIC.fullmatch(text) is None
        and not _EXTREME.search(whole),
    )


def _words(gap: str) -> str:
    text = _PHASE_BEHIND.sub(r"_\1", _BRACKETED.sub("", _WRAPPED.sub("", gap)))
    text = _ELLIPSIS.sub("", _ARROW.sub("", text).rstrip(_TRAILING).removesuffix(" is"))
    words = _WORDS.search(_SEPARATORS.split(text)[-1].rpartition(":")[2].strip())
    is_of_address = words is not None and words.string[: words.start()].endswith(("?", "&"))
    return "" if words is None or is_of_address else words[0]


def value_at(line: str) -> dict[str, float]:
    """Return the value of ``Training loss (for one batch) at step 200: 0.9``, ``2.57 avg loss,``.

    Also of ``objective function for 'output' for minibatches 0-9 is -0.4``, of ``Accuracy of model
    trained at epoch 3: 0.9``, and, where Lightning keeps a checkpoint, of ``'val_loss' reached
    0.06882``.
    """
    if "' reached " in line and (value := _REACHED.search(line)) and is_known(value[1]):
        return {value[1]: float(value[2])}
    if (value := _VALUE_AT.search(line)) and not _EXTREME.search(value[1]):
        return {value[1].strip(): float(value[2])}
    return {value[2]: float(value[1])} if (value := _VALUE_BEFORE.search(line)) else {}


def text_behind_bar(line: str) -> int:
    """Return where another line begins behind a bar that did not end its own; 0 if none does.

    ``0/34 [00:00<?, ?it/s]Epoch 1 elapsed: 84.2s``: one is written to stderr, one to stdout.
    """
    if "it/s" not in line and "s/it" not in line:
        return 0
    bar = _BAR_ENDS.search(line)
    return bar.end() if bar else 0


def unscaled(line: str) -> str:
    """Return a line with counters such as ``10.0it/50.0kit`` written out.

    The digit with which a bar in ASCII ends (``44%|####8     |``) is a part of the bar. What ``1/3
    ( 33%)`` says in percent it says before.
    """
    line = _SCALED.sub(_counter, line) if "it/" in line else line
    line = _ESPNET.sub(r"epoch: \1 batch: \2, ", line) if "epoch:train:" in line else line
    if not line.isascii() and _WIDE.search(line):
        line = line.translate(_NARROW)
    line = line.replace(_TAB, "\t") if _TAB in line else line
    if ") = " in line:
        line = _OF_DATA.sub(r"\1 =", line)
    if "f" in line:
        line = _JULIA.sub(r"\1e", line)
    line = _IN_PERCENT.sub("", line) if "%)" in line else line
    return _ASCII_BAR.sub("%|#|", line) if "%|" in line else line


def _counter(match: re.Match[str]) -> str:
    """Return ``10.0it/50.0kit`` as a counter with its total."""
    done, total = (float(match[i]) * _SCALES[match[i + 1]] for i in (1, 3))
    return f" step {round(done)}/{round(total)} "
