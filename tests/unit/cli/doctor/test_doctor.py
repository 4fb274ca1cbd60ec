"""The command around the checks, and what the checks assume."""

import base64
import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from email.utils import format_datetime

import pytest
import yaml
from cryptography import x509

from cli.__main__ import main
from cli.doctor import certificates, findings, reading, rights, running, schedulers
from cli.doctor.findings import PAGE, Level, fault, ok, unknown, warning
from cli.doctor.site import Settings
from cli.views.terminal import Terminal
from devcluster.credentials.certificates import Authority
from extender.settings.extender import ExtenderSettings
from shared.kube import paths
from tests.root import ROOT
from tests.unit.cli.conftest import ApiServer
from tests.unit.cli.doctor import healthy

FINDINGS = [
    ok("clock", "all have the same time"),
    unknown("rights", "needs the right x", "ask for it"),
    warning("gate", "no gate", "apply it"),
    fault("lease", "no leader", "look there"),
]


def test_the_worst_is_fixed_first() -> None:
    text = "\n".join(findings.report(FINDINGS))
    assert [line.split()[0] for line in findings.report(FINDINGS)[:5]] == [
        "CHECK", "clock", "rights", "gate", "lease",
    ]  # fmt: skip
    assert re.findall(r"^  \d\. (\S+):", text, re.MULTILINE) == [
        "lease", "gate", "rights",
    ]  # fmt: skip
    assert text.endswith("1 ok, 1 warning, 1 fault, 1 not known")
    assert "docs/doctor.md#lease" in text


@pytest.mark.parametrize("width", [60, 80])
def test_on_a_terminal_long_findings_are_wrapped_below_their_beginning(width: int) -> None:
    long = warning("volume", "the agents mount no volume claim: " * 4, "name one, " * 20)
    screen = Terminal(width, blocks=True, colours=False, height=24)
    lines = findings.report([*FINDINGS, long], screen)
    assert max(map(len, lines)) <= width
    below = next(i for i, line in enumerate(lines) if line.startswith("volume")) + 1
    assert len(lines[below]) - len(lines[below].lstrip()) == lines[0].index("FOUND")


def test_json_has_all_fields() -> None:
    entry = json.loads(findings.as_json(FINDINGS))["entries"][3]
    assert entry == {
        "check": "lease",
        "level": "fault",
        "message": "no leader",
        "fix": "look there",
        "page": "docs/doctor.md#lease",
    }


def test_only_a_fault_sets_the_exit_code() -> None:
    assert [findings.exit_code(FINDINGS[:count]) for count in range(5)] == [0, 0, 0, 0, 1]


def test_every_check_has_a_heading_in_the_documentation() -> None:
    headings = re.findall(r"^## `([a-z-]+)`$", (ROOT / PAGE).read_text(), re.MULTILINE)
    assert headings == list(running.CHECKS)


def granted() -> Iterator[tuple[str, str, str, str]]:
    """Yield verb, resource, namespace, name of what deploy/base grants to the extender's account.

    Without Kubernetes' own roles, and without kube-scheduler's rights on its Lease.
    """
    manifests = healthy.manifests()
    bindings = [one for one in manifests if one["kind"].endswith("RoleBinding")]
    names = {
        (one["roleRef"]["kind"], one["roleRef"]["name"])
        for one in bindings
        if any(subject["name"] == rights.ACCOUNT for subject in one["subjects"])
    }
    for role in manifests:
        meta = role["metadata"]
        if (role["kind"], meta["name"]) in names and meta["name"] != "shuntyard-scheduler-lease":
            for rule in role["rules"]:
                yield from rights_of(rule, meta.get("namespace", ""))


def rights_of(rule: dict[str, list[str]], namespace: str) -> Iterator[tuple[str, str, str, str]]:
    for group in rule["apiGroups"]:
        for plural in rule["resources"]:
            resource, _, below = plural.partition("/")
            whole = f"{resource}.{group}" if group else resource
            for name in rule.get("resourceNames", [""]):
                for verb in rule["verbs"]:
                    yield verb, f"{whole}/{below}" if below else whole, namespace, name


def test_doctor_checks_exactly_the_granted_rights() -> None:
    """A right added to deploy/base, or removed, must be so in cli/doctor/rights.py too."""
    needed = [
        *rights.of_extender("shuntyard-system", healthy.cluster(b"", b"").site().settings),
        *rights.of_kinds(),
    ]
    asked = {(one.verb, one.resource, one.namespace, one.name) for one in needed}
    assert asked == set(granted())


def test_an_attached_extender_needs_its_own_lease_and_endpoint() -> None:
    overlay = ROOT / "deploy" / "overlays" / "attached"
    settings = Settings(yaml.safe_load((overlay / "settings.yaml").read_text()))
    asked = {
        (one.verb, one.resource, one.namespace, one.name)
        for one in rights.of_extender("shuntyard-system", settings)
    }
    given = {
        right
        for name in ("lease.yaml", "service.yaml")
        for one in yaml.safe_load_all((overlay / name).read_text())
        if one["kind"] == "Role"
        for rule in one["rules"]
        for right in rights_of(rule, one["metadata"]["namespace"])
    }
    assert len(given) == 5
    assert given <= asked


@pytest.mark.parametrize("namespaces", [["one", "two"], "one, two"], ids=["file", "environment"])
def test_rights_are_checked_in_the_namespaces_of_the_settings(namespaces: list[str] | str) -> None:
    stated = {"managed": True, "namespace": "pki", "secret": "own", "authority_config_map": "trust"}
    settings = Settings({"certificates": {**stated, "authority_namespaces": namespaces}})
    asked = {
        (one.verb, one.resource, one.namespace, one.name)
        for one in rights.of_extender("shuntyard-system", settings)
        if one.resource in {"secrets", "configmaps"} and not one.optional
    }
    places = (
        ("secrets", "pki", "own"),
        ("configmaps", "one", "trust"),
        ("configmaps", "two", "trust"),
    )
    assert asked == {(verb, *place) for verb in ("get", "patch") for place in places}


def test_defaults_equal_those_of_the_extender() -> None:
    settings = ExtenderSettings()
    assert settings.gang.bind_wait_seconds == schedulers.BIND_WAIT_SECONDS
    assert settings.scheduler.listen_port == schedulers.SCHEDULER_PORT
    assert (settings.lease.namespace, settings.lease.name) == ("kube-system", "shuntyard")


RIGHTS: dict[str, str] = {
    paths.NODES: "`get` on `nodes`",
    paths.namespace("team"): "`get` on `namespaces`",
    paths.pod("team", "a", "status"): "`get` on `pods/status` in the namespace team",
    paths.lease("kube-system", "x"): (
        "`get` on `leases.coordination.k8s.io` in the namespace kube-system"
    ),
    "/version": "`get` on the path /version",
    "/apis/batch/v1": "`get` on the path /apis/batch/v1",
}


@pytest.mark.parametrize(("path", "right"), RIGHTS.items(), ids=RIGHTS.values())
def test_a_right_is_named_as_rbac_names_it(path: str, right: str) -> None:
    assert reading.right("get", path) == right


def test_the_validity_of_a_certificate_is_read(pki: Authority) -> None:
    for name in ("ca.crt", "server.crt"):
        pem = (pki.directory / name).read_bytes()
        whole = x509.load_pem_x509_certificate(pem)
        (found,) = certificates.read_validities(b"before\n" + pem + b"after")
        assert found.not_before == whole.not_valid_before_utc.timestamp()
        assert found.not_after == whole.not_valid_after_utc.timestamp()


def test_times_after_2049_have_another_format() -> None:
    long = b"\x18\x0f20510102030405Z"
    start = b"\x17\x0d300102030405Z"
    times = _packed(0x30, start + long)
    body = _packed(0xA0, b"\x02\x01\x02") + b"\x02\x01\x01" + b"\x30\x00" * 2 + times
    der = _packed(0x30, _packed(0x30, body))
    pem = b"-----BEGIN CERTIFICATE-----\n%s\n-----END CERTIFICATE-----" % (base64.b64encode(der))
    (found,) = certificates.read_validities(pem)
    assert found.not_after == datetime(2051, 1, 2, 3, 4, 5, tzinfo=UTC).timestamp()
    assert found.not_before == datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC).timestamp()


def _packed(tag: int, content: bytes) -> bytes:
    return bytes((tag, len(content))) + content


def answers(server: ApiServer, **bodies: object) -> None:
    for path, body in bodies.items():
        server.known.answers[f"/{path}"] = (200, json.dumps(body).encode())


def test_an_empty_cluster_has_faults_and_says_how_to_install(
    api_server: ApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = {"kind": "Status", "code": 404, "reason": "NotFound", "message": "not found"}
    api_server.known.answers = Everywhere((404, json.dumps(missing).encode()))
    answers(api_server, version={"gitVersion": "v1.36.3"})
    assert main(["doctor"]) == 1
    out = capsys.readouterr().out
    assert "there is no Deployment shuntyard-extender in the namespace shuntyard-system" in out
    assert "docs/install.md" in out
    assert main(["doctor", "-o", "json"]) == 1
    levels = {one["level"] for one in json.loads(capsys.readouterr().out)["entries"]}
    assert levels <= {level.value for level in Level}


class Everywhere(dict[str, tuple[int, bytes]]):
    """The same answer for every unknown path."""

    def __init__(self, default: tuple[int, bytes]) -> None:
        super().__init__()
        self.default = default

    def __missing__(self, path: str) -> tuple[int, bytes]:
        return self.default


FAILED = {
    "refused": (401, "Unauthorized"),
    "broken": (500, "InternalError"),
}


@pytest.mark.parametrize(("status", "reason"), FAILED.values(), ids=FAILED)
def test_an_api_server_that_does_not_answer_is_another_exit_code(
    api_server: ApiServer, capsys: pytest.CaptureFixture[str], status: int, reason: str
) -> None:
    body = {"kind": "Status", "code": status, "reason": reason, "message": reason}
    api_server.known.answers["/version"] = (status, json.dumps(body).encode())
    assert main(["doctor"]) == 2
    assert reason in capsys.readouterr().err


@pytest.mark.parametrize("option", [["--url", "http://x"], ["-w"]])
def test_url_and_watch_are_refused(option: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["doctor", *option])
    assert "cannot be combined with doctor" in capsys.readouterr().err


def test_a_malformed_date_is_ignored() -> None:
    cluster = healthy.FakeCluster(objects={"/version": {}})
    cluster._date = lambda: "soon"  # type: ignore[method-assign]
    reader = cluster.site().reader
    reader.get("/version")
    assert reader.ahead_seconds == 0.0
    assert format_datetime(datetime.fromtimestamp(0, UTC), usegmt=True).endswith("GMT")
