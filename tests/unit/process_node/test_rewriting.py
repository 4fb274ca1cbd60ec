import pytest

from devcluster.process_node.errors import RefusedError
from devcluster.process_node.sandbox import refuse_unworkable, rewrite

PLACES = {"/data": "/host/d", "/data/deep": "/host/e"}
CASES: dict[str, tuple[str, str]] = {
    "a whole path": ("/data", "/host/d"),
    "a path below": ("/data/x", "/host/d/x"),
    "the longest mount wins": ("/data/deep/x", "/host/e/x"),
    "an option": ("--dir=/data/x", "--dir=/host/d/x"),
    "a list": ("/data:/data/deep", "/host/d:/host/e"),
    "a URL": ("file:///data/x", "file:///host/d/x"),
    "a shell script": ("cd '/data'; ls /data.", "cd '/host/d'; ls /host/d."),
    "another directory stays": ("/database /data2 /data-x", "/database /data2 /data-x"),
    "a path that ends in it stays": ("/mnt/data ./data", "/mnt/data ./data"),
}


@pytest.mark.parametrize(("text", "want"), CASES.values(), ids=CASES)
def test_only_whole_mount_paths_are_rewritten(text: str, want: str) -> None:
    assert rewrite(text, PLACES) == want


REFUSED: dict[str, tuple[str, list[str]]] = {
    "the root": ("/", ["ls /"]),
    "a directory of the system": ("/etc/app", ["cat /etc/app/x"]),
    "a path without a mention": ("/data", ["ls /database"]),
}


@pytest.mark.parametrize(("place", "texts"), REFUSED.values(), ids=REFUSED)
def test_mounts_that_cannot_work_are_refused(place: str, texts: list[str]) -> None:
    with pytest.raises(RefusedError, match=f"mountPath {place} ") as caught:
        refuse_unworkable("main", [place], texts)
    assert caught.value.reason == "MountNotSupported"


def test_the_token_that_every_pod_gets_is_no_reason_to_refuse() -> None:
    refuse_unworkable("main", ["/var/run/secrets/kubernetes.io/serviceaccount"], ["true"])
