"""Every package that is installed is locked by version and hash (defect A11)."""

import re
import tomllib

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from release import locks
from release.errors import ReleaseError
from release.locks import LOCKS, ROOT, Lock

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
HASH = re.compile(r"[0-9a-f]{64}")


def wanted(lock: Lock):
    """The ranges that a lock has to answer, those of our own extras included."""
    optional = PROJECT["project"]["optional-dependencies"]
    extras, pending = set(), list(lock.extras)
    while pending:
        extra = pending.pop()
        extras.add(extra)
        for text in optional[extra]:
            one = Requirement(text)
            if one.name == "shuntyard":
                pending += [inner for inner in one.extras if inner not in extras]
    texts = [text for extra in extras for text in optional[extra]]
    if "pyproject.toml" in lock.sources:
        texts += PROJECT["project"]["dependencies"]
    for source in lock.sources:
        if source.endswith(".in"):
            texts += [
                line for line in (ROOT / source).read_text().splitlines() if line and line[0] != "#"
            ]
    return [one for one in map(Requirement, texts) if one.name != "shuntyard"]


def held(lock: Lock):
    here = default_environment()
    return {
        canonicalize_name(one.requirement.name): one
        for one in locks.pinned(lock.file.read_text())
        if one.requirement.marker is None or one.requirement.marker.evaluate(here)
    }


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_every_range_has_a_locked_version_and_every_version_its_hashes(lock: Lock):
    found = held(lock)
    for one in wanted(lock):
        version = str(found[canonicalize_name(one.name)].requirement.specifier).removeprefix("==")
        assert one.specifier.contains(version), f"{lock.name}: {one} is locked at {version}"
    for name, one in found.items():
        assert one.hashes, f"{lock.name}: {name} has no hash"
        assert all(HASH.fullmatch(text) for text in one.hashes)


def test_the_images_have_the_versions_that_were_tested():
    tested = {name: str(one.requirement) for name, one in held(LOCKS[1]).items()}
    assert LOCKS[1].name == "dev"
    for lock in LOCKS[2:5]:
        for name, one in held(lock).items():
            if name in tested:
                assert str(one.requirement) == tested[name], lock.name


def test_the_build_backend_is_one_exact_version_that_is_locked_too():
    trainer = tomllib.loads((ROOT / "trainer/pyproject.toml").read_text())
    (locked,) = held(LOCKS[0]).values()
    assert PROJECT["build-system"]["requires"] == [str(locked.requirement)]
    assert trainer["build-system"]["requires"] == [str(locked.requirement)]


def test_nothing_is_installed_past_the_locks():
    """Each pip call of Makefile and Dockerfiles is held to hashes, or downloads nothing."""
    for file in ("Makefile", "Dockerfile.extender", "Dockerfile.agent"):
        text = (ROOT / file).read_text().replace("\\\n", " ").replace("$(ITSELF)", "--no-deps")
        calls = re.findall(r"pip[^\n&]* (?:install|wheel) [^\n&]*", text)
        assert calls, file
        for call in calls:
            assert "--require-hashes" in call or "--no-deps" in call, f"{file}: {call}"


def test_a_line_without_one_exact_version_is_refused():
    with pytest.raises(ReleaseError, match=r"aiohttp>=3: expected one exact version"):
        locks.pinned("aiohttp>=3 \\\n    --hash=sha256:00\n")
