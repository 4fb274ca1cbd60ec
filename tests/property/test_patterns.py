"""Laws of users' patterns: what is taken finds what Python's own ``re`` finds."""

import re
import warnings

from hypothesis import assume, example, given
from hypothesis import strategies as st

from agent.parsing.patterns import compiled
from shared.errors import InputError

PIECES = [
    *("a", "b", "1", ".", "loss", "=", " ", r"\d", r"\s", r"\S", r"\w", r"\b", r"\.", r"\{", r"\["),
    *("*", "+", "?", "*?", "++", "{2}", "{1,3}", "{,2}", "{2,}", "{,}", "{}", "{", "}", "{e<=1}"),
    *("{e}", "{i}", "[ab]", "[^a]", "[]a]", "[a[b]", "[[:alpha:]]", "[a-c]", "[^]]", "[a&&b]"),
    *("(", ")", "(?:", "|", "^", "$", "(?=", "(?!", "(?<=a)", r"\Z", r"\A", "(?i:", "(?>"),
    *("(?P<step>", "(?P=step)", r"\1", r"\N{COLON}", r"\x61", r"\n", "#", "&", "-"),
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
@example("[[:alpha:]]", "", [":]1", "a1"])
@example("a{,}", "", ["aaa1"])
def test_a_pattern_finds_what_re_finds(before: str, after: str, lines: list[str]) -> None:
    pattern = f"{before}(?P<value>[0-9a-c]+?){after}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ours = compiled(pattern, "annotation")
        except InputError:
            assume(False)
            return
        wanted = re.compile(pattern)
    assert set(ours.groupindex) == set(wanted.groupindex)
    for line in lines:
        mine, theirs = ours.search(line, timeout=60.0), wanted.search(line)
        assert (mine and mine.span("value")) == (theirs and theirs.span("value")), (pattern, line)
        assert (mine and mine.span()) == (theirs and theirs.span()), (pattern, line)
