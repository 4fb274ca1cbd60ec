"""Every class of parameters declares its fields once, with bounds that hold the defaults."""

import dataclasses
import importlib
import pkgutil

import pytest

from extender.core import parameters
from extender.core.parameters.combined import CoreParameters
from shared.parameters import bounds, declarations

MODULES = [
    importlib.import_module(f"{parameters.__name__}.{module.name}")
    for module in pkgutil.iter_modules(parameters.__path__)
]
CLASSES = sorted(
    {
        value
        for module in MODULES
        for value in vars(module).values()
        if isinstance(value, type) and dataclasses.is_dataclass(value)
        if value.__module__ == module.__name__
        if value.__name__.endswith(("Parameters", "Weights"))
    },
    key=lambda kind: kind.__name__,
)
every_class = pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)


def tree(value):
    """Yield the classes of a value and of the parameters inside it."""
    yield type(value)
    for field in dataclasses.fields(value):
        inner = getattr(value, field.name)
        if dataclasses.is_dataclass(inner):
            yield from tree(inner)


@every_class
def test_a_field_is_declared_or_holds_parameters(kind):
    declared = {declaration.name for declaration in declarations(kind)}
    inner = {f.name for f in dataclasses.fields(kind) if f.default is dataclasses.MISSING}
    own = {"scheduler_name"} if kind is CoreParameters else set()
    assert declared | inner | own == {field.name for field in dataclasses.fields(kind)}


@every_class
def test_every_number_has_bounds_that_hold_its_default(kind):
    limits = bounds(kind)
    for declared in declarations(kind):
        if declared.type in {int, float, int | None, float | None}:
            low, high = limits[declared.name]
            assert declared.default is None or low <= declared.default <= high
        else:
            assert declared.name not in limits


@every_class
def test_parameters_are_frozen_and_given_by_keyword(kind):
    assert kind.__dataclass_params__.frozen
    assert all(field.kw_only for field in dataclasses.fields(kind))


def test_every_class_is_part_of_the_cores_parameters():
    assert set(CLASSES) == set(tree(CoreParameters()))
