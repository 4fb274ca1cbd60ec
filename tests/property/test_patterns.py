"""Laws of users' patterns: an accepted pattern matches as Python's own ``re`` does."""

import re
import warnings

from hypothesis import assume, example, given
from hypothesis import strategies as st

from shared.errors import InputError
from shared.parsing.patterns import compiled

PIECES = [
    *("a", "b", "1", ".", "loss", "=", " ", r"\d", r"\s", r"\S", r"\w", r"\b", r"\.", r"\{", r"\["),
    *("*", "+", "?", "*?", "++", "{2}", "{1,3}", "{,2}", "{2,}", "{,}", "{}", "{", "}", "{e<=1}"),
    *("{e}", "{i}", "[ab]", "[^a]", "[]a]", "[a[b]", "[a-c]", "[^]]", "[a&&b]"),
    *("(", ")", "(?:", "|", "^", "$", "(?=", "(?!", "(?<=a)", r"\Z", r"\A", "(?i:", "(?>"),
    *("(?P<step>", "(?P<total>", "(?P=step)", r"\1", r"\N{COLON}", r"\x61", r"\n", "#", "&", "-"),
]
LINES = [
    "a",
    "b",
    "c",
    "1",
    "loss",
    "=",
    " ",
    ".",
    "{",
    "}",
    "[",
    "]",
    "e",
    "<",
    ":",
    "&",
    "A",
    ",",
]
texts = st.lists(st.sampled_from(PIECES), max_size=8).map("".join)


@given(texts, texts, st.lists(st.lists(st.sampled_from(LINES), max_size=12).map("".join)))
@example("{e<=1}", "x", ["{e<=1}1", "1x"])
@example("a{,}", "", ["aaa1"])
@example("a{,2}", "", ["aaa1"])
def test_a_pattern_finds_what_re_finds(before: str, after: str, lines: list[str]) -> None:
    pattern = f"{before}(?P<value>[0-9a-c]+?){after}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ours, wanted = compiled(pattern), re.compile(pattern)
        except (InputError, re.error):
            assume(False)
            return
    for line in lines:
        mine, theirs = ours.search(line), wanted.search(line)
        groups = theirs and theirs.groupdict(default="")
        found = groups and tuple(groups.get(name, "") for name in ("value", "step", "total"))
        assert mine == found, (pattern, line)
