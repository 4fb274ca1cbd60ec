"""The body of a heartbeat as pydantic checks it: every bad field is found, not only the first.

The models are made from the structs of ``shared.wire`` and ``shared.progress``, so that a field and
its bounds are written once. Unknown keys are errors, and so are numbers that are not finite.
"""

from functools import cache, reduce
from operator import or_
from types import GenericAlias, UnionType
from typing import Annotated, Any, Final, Union, get_args, get_origin

import msgspec
from msgspec import NODEFAULT, Meta, Struct
from pydantic import BaseModel, ConfigDict, Field, create_model

from shared import wire


class Body(BaseModel):
    """Frozen; unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


@cache
def model_of(struct: type[Struct]) -> type[Body]:
    """Return the model with the fields and bounds of a struct."""
    fields: dict[str, Any] = {
        field.name: (_checked(field.type), ... if field.default is NODEFAULT else field.default)
        for field in msgspec.structs.fields(struct)
    }
    return create_model(f"{struct.__name__}Body", __base__=Body, **fields)


def _checked(kind: Any) -> Any:
    """Return the type that pydantic checks for a type of a struct's field."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        bounds = [_bounds(meta) for meta in arguments[1:] if isinstance(meta, Meta)]
        return Annotated[(_checked(arguments[0]), *bounds)]
    if origin is tuple:
        return GenericAlias(tuple, (_checked(arguments[0]), ...))
    if origin in (Union, UnionType):
        return reduce(or_, map(_checked, arguments))
    if isinstance(kind, type) and issubclass(kind, Struct):
        return model_of(kind)
    return kind


def _bounds(meta: Meta) -> Any:
    return Field(ge=meta.ge, le=meta.le, min_length=meta.min_length, max_length=meta.max_length)


HEARTBEAT: Final = model_of(wire.Heartbeat)
