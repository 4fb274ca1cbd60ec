from pathlib import Path

from devcluster.process_node.names import (
    SERVICES,
    Endpoint,
    HeadlessService,
    Named,
    Names,
    render,
    table,
)
from shared.model import Replace, Upsert

RING = HeadlessService("ns", "ring", {"app": "ring"})


def endpoint(name: str, *, ready: bool = True, subdomain: str = "ring") -> Endpoint:
    return Endpoint(
        "ns",
        name,
        f"127.20.0.{len(name)}",
        hostname=name,
        subdomain=subdomain,
        labels={"app": "ring"},
        ready=ready,
    )


def names(*rows: tuple[str, str, str]) -> set[str]:
    return {name for _, _, name in rows}


def test_ready_pods_of_a_headless_service_have_its_name_and_their_own() -> None:
    rows = table([RING], [endpoint("a"), endpoint("bb")])
    assert names(*rows) == {"ring", "a.ring", "bb.ring"}


def test_a_pod_that_is_not_ready_has_no_name_unless_the_service_says_so() -> None:
    waiting = endpoint("a", ready=False)
    eager = HeadlessService("ns", "ring", {"app": "ring"}, publishes_unready=True)
    assert table([RING], [waiting]) == ()
    assert names(*table([eager], [waiting])) == {"ring", "a.ring"}


def test_without_a_service_of_the_subdomains_name_there_is_no_name() -> None:
    assert table([], [endpoint("a")]) == ()
    assert names(*table([RING], [endpoint("a", subdomain="other")])) == {"ring"}


def test_a_hosts_file_has_short_names_of_its_own_namespace_only() -> None:
    rows = table([RING], [endpoint("a")])
    inside = render(endpoint("bb"), rows, [{"ip": "10.0.0.1", "hostnames": ["db", "db2"]}])
    lines = inside.splitlines()
    assert "127.20.0.2\tbb.ring.ns.svc.cluster.local\tbb" in lines
    assert "10.0.0.1\tdb\tdb2" in lines
    assert "127.20.0.1\ta.ring\ta.ring.ns\ta.ring.ns.svc\ta.ring.ns.svc.cluster.local" in lines
    outside = render(Endpoint("far", "x", "127.20.0.9"), rows)
    assert "127.20.0.1\ta.ring.ns\ta.ring.ns.svc\ta.ring.ns.svc.cluster.local" in outside


def service(cluster_ip: str) -> bytes:
    return (
        '{"metadata":{"namespace":"ns","name":"ring","uid":"1"},'
        f'"spec":{{"clusterIP":"{cluster_ip}","selector":{{"app":"ring"}}}}}}'
    ).encode()


def test_files_follow_the_services_and_keep_their_inode(tmp_path: Path) -> None:
    file = tmp_path / "hosts"
    keeper = Names(lambda: [Named(endpoint("a"), file, ())])
    keeper.refresh()
    assert "a.ring.ns.svc" not in file.read_text().replace("a.ring.ns.svc.cluster.local\ta\n", "")
    inode = file.stat().st_ino
    keeper.apply(Upsert(SERVICES.decode(service("None"))))
    assert "a.ring\ta.ring.ns\t" in file.read_text()
    keeper.apply(Upsert(SERVICES.decode(service("10.0.0.7"))))
    assert "a.ring\ta.ring.ns\t" not in file.read_text()
    keeper.apply(Replace("Service", "Service", (SERVICES.decode(service("None")),)))
    assert "a.ring\ta.ring.ns\t" in file.read_text()
    assert file.stat().st_ino == inode
