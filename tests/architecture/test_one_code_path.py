"""The live service and any other shell run the same core: there is no flag for it."""

from tests.architecture.sources import ROOT, python_files


def test_the_extender_does_not_mention_the_simulator() -> None:
    named = [
        str(p) for p in python_files("extender") if "simulat" in (ROOT / p).read_text().lower()
    ]
    assert named == []
