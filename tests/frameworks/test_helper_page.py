"""The programs of docs/checkpoint-helper.md as they stand, with the real frameworks."""

from __future__ import annotations

import pytest

from tests.docs.helper_programs import PROGRAMS, moves
from tests.frameworks.training import WITHIN_SECONDS, needs, skip_without_any
from tests.unit.trainer import processes

skip_without_any()
NEEDS = {
    "pytorch.py": ("torch",),
    "pytorch_data.py": ("torch", "torchdata"),
    "lightning_fit.py": ("lightning", "torchdata"),
    "keras_fit.py": ("keras", "torch"),
    "huggingface_train.py": ("transformers", "accelerate"),
    "jax_train.py": ("jax",),
}


@pytest.fixture(autouse=True)
def _none_stays():
    yield
    processes.kill_all()


def test_every_program_that_needs_a_framework_is_here():
    own = {"plain.py", "train.sh"}  # tests/docs/test_checkpoint_helper.py
    assert set(NEEDS) == set(PROGRAMS) - own


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=needs(*packages)) for name, packages in NEEDS.items()]
)
def test_a_program_of_the_page_goes_on_in_another_pod_where_it_was(tmp_path, name):
    moves(tmp_path, name, WITHIN_SECONDS, KERAS_BACKEND="torch", PYTHONWARNINGS="ignore")
