"""One file and the environment become settings; errors name the field and what is expected."""

from pathlib import Path

import pytest

from extender.core import certificates
from extender.core.certificates import Plan, Requirements
from extender.core.parameters.combined import CoreParameters
from extender.core.parameters.queue import Order
from extender.servers.tls import issuing, parsing
from extender.settings.extender import ExtenderSettings
from extender.settings.policy import core_parameters
from shared import settings
from shared.errors import SettingsError


def load(tmp_path: Path, text: str, **environ: str) -> ExtenderSettings:
    file = tmp_path / "settings.yaml"
    file.write_text(text)
    return settings.load(ExtenderSettings, file, environ)


def test_without_file_and_variables_parameters_have_their_defaults() -> None:
    found = settings.load(ExtenderSettings, None, {})
    assert core_parameters(found, "shuntyard") == CoreParameters()


def test_the_environment_wins_over_the_file(tmp_path: Path) -> None:
    text = "queue: {order: creation, settle_seconds: 1}"
    found = load(tmp_path, text, SHUNTYARD__QUEUE__SETTLE_SECONDS="0.5", SHUNTYARD_ASSETS="/x")
    assert (found.queue.order, found.queue.settle_seconds) == (Order.CREATION, 0.5)


def test_an_empty_variable_is_not_set_and_null_is_no_value(tmp_path: Path) -> None:
    text = "scheduler: {identity: host-a}\ndecision_log: {directory: /log}"
    variables = {"SHUNTYARD__SCHEDULER__IDENTITY": "", "SHUNTYARD__DECISION_LOG__DIRECTORY": "null"}
    found = load(tmp_path, text, **variables)
    assert (found.scheduler.identity, found.decision_log.directory) == ("host-a", None)


def test_a_list_is_separated_by_commas_in_the_environment(tmp_path: Path) -> None:
    found = load(tmp_path, "", SHUNTYARD__AGENTS__ACCOUNTS="one, two")
    assert found.agents.accounts == ("one", "two")
    assert load(tmp_path, "agents: {accounts: [one]}").agents.accounts == ("one",)


def test_levels_are_a_list_in_the_file_and_pairs_in_the_environment(tmp_path: Path) -> None:
    text = "topology: {levels: [{name: row, label: a/row}, {name: rack, label: a/rack}]}"
    found = load(tmp_path, text).topology
    assert [(level.name, level.label) for level in found.levels] == [
        ("row", "a/row"),
        ("rack", "a/rack"),
    ]
    variable = {"SHUNTYARD__TOPOLOGY__LEVELS": "row=a/row, rack=a/rack"}
    assert load(tmp_path, "", **variable).topology == found
    none = load(tmp_path, "topology: {levels: []}")
    assert core_parameters(none, "shuntyard").topology.levels == ()


def test_a_listener_that_is_not_opened_may_have_any_port(tmp_path: Path) -> None:
    assert load(tmp_path, "api: {listen_port: 10263}").agents.certificate is None


@pytest.mark.parametrize("text", ["", "# nothing\n", "scoring:\n", "scoring: {}\n"])
def test_empty_files_and_sections_mean_defaults(tmp_path: Path, text: str) -> None:
    variable = {"SHUNTYARD__SCORING__PRICE": "1"}
    assert load(tmp_path, text, **variable) == settings.load(ExtenderSettings, None, {})


def test_settings_cannot_be_changed_later() -> None:
    found = settings.load(ExtenderSettings, None, {})
    with pytest.raises(ValueError, match="frozen"):
        found.queue.order = Order.CREATION  # type: ignore[misc]


def test_a_dump_loads_to_the_same_settings(tmp_path: Path) -> None:
    first = load(tmp_path, "gang: {spares: 4}\nkubernetes: {kubeconfig: /etc/k}")
    assert load(tmp_path, settings.dump(first)) == first


WRONG: dict[str, tuple[str, dict[str, str], str]] = {
    "unknown field": ("queue: {odrer: cps}", {}, "queue.odrer: there is no such field; known here"),
    "unknown section": ("queues: {}", {}, "known here: queue, gang"),
    "unknown variable": ("", {"SHUNTYARD__QUEUE__X": "1"}, "queue.x (from SHUNTYARD__QUEUE__X)"),
    "out of bounds": ("gang: {spares: 99}", {}, "gang.spares: expected less than or equal to 8"),
    "not a choice": (
        "queue: {order: fifo}",
        {},
        "queue.order: expected 'cps', 'creation', 'weighting' or 'service'",
    ),
    "not a number": (
        "",
        {"SHUNTYARD__API__LISTEN_PORT": "http"},
        "api.listen_port (from SHUNTYARD__API__LISTEN_PORT): expected a valid integer",
    ),
    "not a section": ("api: 10262", {}, "api: expected a section, found 10262"),
    "a variable in no section": (
        "api: 10262",
        {"SHUNTYARD__API__LISTEN_PORT": "1"},
        "SHUNTYARD__API__LISTEN_PORT: api is 10262 in the file, expected a section",
    ),
    "rising weights": ("priority: {low: 60}", {}, "priority: high, normal, low: 100, 50, 60"),
    "no weight at all": (
        "scoring: {affinity: 0, locality: 0, packing: 0, price: 0}",
        {},
        "scoring: at least one weight must be above 0",
    ),
    "a ceiling below the floor": (
        "gang: {backoff_seconds: 9, most_backoff_seconds: 3}",
        {},
        "most_backoff_seconds 3 must not be below backoff_seconds 9",
    ),
    "target weights that rise": (
        "migration: {watching_weight: 3}",
        {},
        "migration: progressing_weight, watching_weight, converged_weight: 2, 3, 1 must not rise",
    ),
    "a hold that ends before the eviction": (
        "migration: {hold_seconds: 30}",
        {},
        "hold_seconds 30 must not be below evict_seconds 60",
    ),
    "one port twice": (
        "api: {listen_port: 10261}",
        {},
        "scheduler.listen_port and api.listen_port are both 10261",
    ),
    "the agents' port too": (
        "agents: {listen_port: 10262, certificate: /c, key: /k}",
        {},
        "api.listen_port and agents.listen_port are both 10262",
    ),
    "a certificate without its key": (
        "agents: {certificate: /c}",
        {},
        "agents: certificate and key: expected both or none of them",
    ),
    "client certificates without TLS": (
        "scheduler: {client_authority: /c}",
        {},
        "scheduler: client_authority: expected certificate and key beside it",
    ),
    "a key without its certificate": (
        "api: {key: /k}",
        {},
        "api: certificate and key: expected both or none of them",
    ),
    "an authority that ends with what it signs": (
        "certificates: {authority_valid_days: 100}",
        {},
        "authority_valid_days 100: expected at least four times valid_days 90",
    ),
    "a name that no certificate can have": (
        "certificates: {names: [büro.example]}",
        {},
        "certificates.names: 'büro.example': expected a DNS name or an IP address",
    ),
    "a name in two parts": ("certificates: {names: ['a b']}", {}, "certificates.names: 'a b'"),
    "a name that is empty": ("certificates: {names: ['']}", {}, "certificates.names: ''"),
    "a name with two dots": ("certificates: {names: [a..b]}", {}, "certificates.names: 'a..b'"),
    "a listener without authentication on all addresses": (
        "scheduler: {listen_host: 0.0.0.0}",
        {},
        "scheduler: listen_host '0.0.0.0': expected a loopback address",
    ),
    "a name that may lead anywhere": (
        "scheduler: {listen_host: yard.example}",
        {},
        "scheduler: listen_host 'yard.example': expected a loopback address",
    ),
    "a holder that ends after another begins": (
        "lease: {renew_deadline_seconds: 20}",
        {},
        "retry_seconds, renew_deadline_seconds, duration_seconds: 2, 20, 15 must rise",
    ),
    "a Service without this pod's address": (
        "endpoint: {service: x}",
        {},
        "endpoint: address: expected this pod's IP address",
    ),
    "an address that is none": (
        "endpoint: {address: here}",
        {},
        "endpoint.address: 'here' does not appear to be an IPv4 or IPv6 address",
    ),
    "a level of which half is missing": (
        "topology: {levels: [{name: rack}]}",
        {},
        "topology.levels.0.label: ",
    ),
    "a level without a label": (
        "",
        {"SHUNTYARD__TOPOLOGY__LEVELS": "zone"},
        "topology.levels.0.label",
    ),
    "a level twice": (
        "topology: {levels: [{name: rack, label: a/b}, {name: row, label: a/b}]}",
        {},
        "topology: levels: 'a/b' names two levels",
    ),
    "no account": ("agents: {accounts: []}", {}, "agents.accounts: "),
    "not YAML": ("queue: [", {}, "is not YAML"),
    "a list": ("- queue", {}, "expected sections, found ['queue']"),
}


@pytest.mark.parametrize(("text", "environ", "want"), WRONG.values(), ids=WRONG.keys())
def test_an_error_names_the_field_and_what_was_expected(
    tmp_path: Path, text: str, environ: dict[str, str], want: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        load(tmp_path, text, **environ)
    assert want in str(caught.value)
    assert "pydantic" not in str(caught.value)


def test_certificate_names_are_spelled_as_in_a_certificate(tmp_path: Path) -> None:
    """With another spelling the certificate would be made again and again."""
    names = "[Yard.Example.ORG, '*.example.org', 'FD00:0::0:1', 10.0.0.1]"
    found = load(tmp_path, f"certificates: {{names: {names}}}").certificates
    assert found.names == ("yard.example.org", "*.example.org", "fd00::1", "10.0.0.1")
    required = Requirements(frozenset(found.names), found.client_name, 1e6, 1e7)
    everything = Plan(authority=True, server=True, client=True)
    made = issuing.issue(parsing.parse({}), everything, required, 1e9)
    assert certificates.plan(parsing.observed(parsing.parse(made), 1e9), required, 1e9).nothing


def test_the_error_for_a_missing_file_names_it(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"missing\.yaml: No such file"):
        settings.load(ExtenderSettings, tmp_path / "missing.yaml", {})


def test_an_error_lists_every_mistake(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as caught:
        load(tmp_path, "queue: {order: fifo}\ngang: {spares: -1}")
    assert len(str(caught.value).splitlines()) == 3


@pytest.mark.parametrize("weights", ["paper-experiments", "paper-section-3"])
def test_both_printed_sets_of_weights_can_be_chosen(tmp_path: Path, weights: str) -> None:
    chosen = load(tmp_path, f"priority: {{weights: {weights}}}")
    found = core_parameters(chosen, "shuntyard").priority
    want = {"paper-experiments": (100, 50, 1), "paper-section-3": (10, 5, 1)}[weights]
    assert (found.high, found.normal, found.low) == want
