"""``shuntyard rotate-signing-key``: the previous key stays valid, the one before it does not."""

import asyncio
import base64

import pytest

from cli import api_server
from cli.__main__ import main
from cli.api_server import ApiServer
from shared import signing_secret
from shared.kube import paths
from tests.component.shell import put_keys
from tests.fakes.kube import FakeKube


@pytest.fixture
def rotate(fake: FakeKube, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(api_server, "of_options", lambda _options: ApiServer(fake.credentials))
    return lambda: asyncio.to_thread(main, ["rotate-signing-key"])


def held(fake: FakeKube) -> dict[str, bytes]:
    (secret,) = fake.objects(paths.SECRETS)
    return {key: base64.b64decode(value) for key, value in secret["data"].items()}


async def test_the_previous_key_stays_valid_and_the_one_before_it_does_not(fake, rotate, capsys):
    first, second = (base64.b64encode(signing_secret.new_key()).decode() for _ in range(2))
    put_keys(fake, current=first, previous=second)
    assert await rotate() == 0
    keys = held(fake)
    assert keys[signing_secret.PREVIOUS] == base64.b64decode(first)
    assert len(keys[signing_secret.CURRENT]) == signing_secret.KEY_BYTES
    assert keys[signing_secret.CURRENT] not in map(base64.b64decode, (first, second))
    assert "stay valid until the next rotation" in capsys.readouterr().out


async def test_the_first_key_is_made(fake, rotate, capsys):
    put_keys(fake)
    assert await rotate() == 0
    assert set(held(fake)) == {signing_secret.CURRENT}
    assert "until" not in capsys.readouterr().out


async def test_without_the_secret_it_names_the_manifest(fake, rotate, capsys):
    assert await rotate() == 1
    assert "not found: apply deploy/base/our-keys.yaml" in capsys.readouterr().err


async def test_a_malformed_key_is_left_alone(fake, rotate, capsys):
    put_keys(fake, current=base64.b64encode(b"short").decode())
    assert await rotate() == 1
    assert "is not a key of 32 bytes" in capsys.readouterr().err
    assert held(fake) == {signing_secret.CURRENT: b"short"}
