"""What a class of parameters declares of its fields: type, bounds, default and description.

Such a class is a frozen dataclass with keywords only. A field that can be set is annotated with its
bounds and its description, once, beside its default::

    spares: Annotated[int, Ge(0), Le(8), Doc("Further nodes that a placement names.")] = 2

Settings take the field from there, and so do the reference pages and the checks of annotations.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from annotated_types import Ge, Le
from typing_extensions import Doc


@dataclass(frozen=True, kw_only=True)
class Declaration:
    """One field that can be set.

    Attributes:
        name: Of the field.
        type: Its type without the annotations.
        limits: The annotations that restrict its value.
        default: Its default.
        description: What it does, for administrators.
    """

    name: str
    type: Any
    limits: tuple[Any, ...]
    default: Any
    description: str


@cache
def declarations(parameters: type) -> tuple[Declaration, ...]:
    """Return the fields of a dataclass that have a description, in their order."""
    hints = get_type_hints(parameters, include_extras=True)
    return tuple(
        declared
        for field in dataclasses.fields(parameters)
        if (declared := _declaration(field.name, hints[field.name], field.default)) is not None
    )


def bounds(parameters: type) -> Mapping[str, tuple[float, float]]:
    """Return the lowest and the highest value of each number of a dataclass, by field."""
    hints = get_type_hints(parameters, include_extras=True)
    pairs = {name: (_limit(hint, Ge), _limit(hint, Le)) for name, hint in hints.items()}
    return {
        name: (least.ge, most.le)
        for name, (least, most) in pairs.items()
        if least is not None and most is not None
    }


def _declaration(name: str, hint: Any, default: Any) -> Declaration | None:
    description = _limit(hint, Doc)
    if description is None:
        return None
    kind, *metadata = get_args(hint)
    return Declaration(
        name=name,
        type=kind,
        limits=tuple(part for part in metadata if not isinstance(part, Doc)),
        default=default,
        description=description.documentation,
    )


def _limit(hint: Any, kind: type) -> Any:
    """Return the annotation of that class; None if there is none."""
    if get_origin(hint) is not Annotated:
        return None
    return next((part for part in get_args(hint)[1:] if isinstance(part, kind)), None)
