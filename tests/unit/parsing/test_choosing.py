"""From the format's name, or the file's, to the parser."""

import pytest

from shared.errors import InputError
from shared.parsing.base import DocumentParser, Parser, RecordParser
from shared.parsing.choosing import format_of, parser_for
from shared.places import FORMATS

NAMES = {
    "events.out.tfevents.1700000000.host.1.0": "tfevents",
    "runs/train/events.out.tfevents.1700000000.host": "tfevents",
    "checkpoint-10/trainer_state.json": "trainer-state",
    "metrics.jsonl": "jsonl",
    "wandb/run-1/run-1.wandb": "wandb",
    "mlruns/0/5f9c/metrics/val/loss": "mlflow",
    "mlruns/0/5f9c/params/loss": "auto",
    "metrics.csv": "csv",
    "results.tsv": "csv",
    "train.log": "auto",
    "": "auto",
}


@pytest.mark.parametrize(("name", "want"), NAMES.items())
def test_the_name_of_a_file_may_give_its_format(name: str, want: str) -> None:
    assert format_of("auto", name) == want
    assert format_of("keras", name) == "keras"


@pytest.mark.parametrize("kind", FORMATS)
def test_every_format_has_a_parser_that_knows_its_name(kind: str) -> None:
    parser = parser_for(kind, regex="(?P<value>.*)")
    assert parser.format == kind
    protocols = [
        isinstance(parser, protocol) for protocol in (Parser, RecordParser, DocumentParser)
    ]
    assert protocols == [
        kind not in ("tfevents", "trainer-state", "wandb"),
        kind in ("tfevents", "wandb"),
        kind == "trainer-state",
    ]


def test_each_file_has_a_parser_of_its_own() -> None:
    for kind in FORMATS:
        one, two = (parser_for(kind, regex="(?P<value>.*)") for _ in range(2))
        assert one is not two


@pytest.mark.parametrize("kind", ["xml", "regex"])
def test_an_unreadable_value_is_refused_with_the_name_of_the_annotation(kind: str) -> None:
    with pytest.raises(InputError, match=r"annotation shuntyard.io/metrics, format"):
        parser_for(kind)


def test_values_of_a_pattern_have_the_name_of_the_metric() -> None:
    parser = parser_for("regex", regex="l=(?P<value>.*)", metric="loss")
    assert isinstance(parser, Parser)
    assert parser.feed("l=1")[0].metric == "loss"
