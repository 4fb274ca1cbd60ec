import pytest

from devcluster.credentials.certificates import Authority
from tests.fakes.clock import FakeClock
from tests.unit.cli.doctor import healthy
from tests.unit.cli.doctor.healthy import FakeCluster


@pytest.fixture(scope="session")
def pems(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, bytes]:
    """A leaf and its CA, issued at the fake clock's time."""
    authority = Authority.create(tmp_path_factory.mktemp("pki"), FakeClock())
    authority.issue_server("server", names=("x",), addresses=())
    leaf = (authority.directory / "server.crt").read_bytes()
    return leaf, authority.certificate.read_bytes()


@pytest.fixture
def well(pems: tuple[bytes, bytes]) -> FakeCluster:
    return healthy.cluster(*pems)


@pytest.fixture
def patience(monkeypatch: pytest.MonkeyPatch, well: FakeCluster) -> None:
    """Waiting only advances the fake clock."""
    monkeypatch.setattr("cli.doctor.replicas.time.sleep", well.clock.pass_by)
