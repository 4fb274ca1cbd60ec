"""Device classes of dynamic resource allocation: raw JSON to ``shared.claims.DeviceClass``."""

from typing import Final

import msgspec
from msgspec import Struct

from shared.claims import DeviceClass
from shared.kube import stamps
from shared.kube.parse import Data, names_the_object
from shared.kube.wire import Meta
from shared.model import Uid


class Spec(Struct, rename="camel"):
    """``spec`` of a DeviceClass."""

    extended_resource_name: str | None = None


class Object(Struct):
    """A DeviceClass."""

    metadata: Meta
    spec: Spec | None = None


_OBJECT: Final = msgspec.json.Decoder(Object)


@names_the_object
def decode(data: Data) -> DeviceClass:
    """Return a DeviceClass.

    Raises:
        OddObjectError: It cannot be read.
    """
    raw = _OBJECT.decode(data)
    meta, spec = raw.metadata, raw.spec or Spec()
    return DeviceClass(
        name=meta.name,
        uid=Uid(meta.uid or ""),
        created_at=stamps.parse(meta.creation_timestamp),
        extended_resource=spec.extended_resource_name or "",
    )
