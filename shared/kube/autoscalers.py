"""HorizontalPodAutoscalers: which object each changes."""

from typing import Final

import msgspec
from msgspec import Struct

from shared.kube import wire
from shared.kube.parse import Data, names_the_object
from shared.objects.disruptions import HorizontalPodAutoscaler


class Target(Struct, rename="camel"):
    """``scaleTargetRef``."""

    kind: str = ""
    name: str = ""
    api_version: str = ""


class Spec(Struct, rename="camel"):
    """``spec``."""

    scale_target_ref: Target | None = None


class Object(Struct):
    """A HorizontalPodAutoscaler."""

    metadata: wire.Meta
    spec: Spec | None = None


_DECODER: Final = msgspec.json.Decoder(Object)


@names_the_object
def decode(data: Data) -> HorizontalPodAutoscaler:
    """Return a HorizontalPodAutoscaler.

    Raises:
        OddObjectError: It cannot be read.
    """
    raw = _DECODER.decode(data)
    target = (raw.spec or Spec()).scale_target_ref or Target()
    return HorizontalPodAutoscaler(
        namespace=raw.metadata.namespace or "",
        name=raw.metadata.name,
        api_group=target.api_version.partition("/")[0],
        kind=target.kind,
        target=target.name,
    )
