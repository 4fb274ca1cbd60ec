"""What was checked is what runs."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from agent import parameters
from agent.parameters import AgentParameters, Extender, Identity, Paths
from agent.settings import AgentSettings
from tests.fakes.extender import NODE

TEXTS = st.text(min_size=1, max_size=20)


def test_the_defaults_are_those_of_the_settings() -> None:
    found = AgentSettings().parameters()
    assert found == AgentParameters(version=found.version)
    assert found.version


@given(name=TEXTS, urls=st.lists(TEXTS), folder=TEXTS, group=st.integers(0, 2**32 - 2) | st.none())
def test_parameters_cross_to_the_process_that_runs(
    name: str, urls: list[str], folder: str, group: int | None
) -> None:
    sent = AgentParameters(
        identity=Identity(node=name),
        extender=Extender(urls=tuple(urls)),
        paths=Paths(volume=Path(folder), checkpoint_gid=group),
    )
    assert parameters.decoded(parameters.encoded(sent)) == sent


def test_a_preset_is_resolved_before() -> None:
    settings = AgentSettings.model_validate(
        {"agent": {"node": NODE}, "convergence": {"preset": "printed", "alpha": 0.5}}
    )
    found = settings.parameters()
    assert (found.identity.node, found.convergence.alpha, found.convergence.signed) == (
        NODE,
        0.5,
        False,
    )
