"""Amounts of resources as people read them: ``0.075 CPU``, ``2 GPUs``, ``1.5 GiB memory``.

Reasons, ``explain``, tables and the log take them from here; ``page/src/format.ts`` does the same.
Amounts are in base units: CPU in milli-CPU, memory and storage in bytes, everything else in pieces.
"""

from typing import Final

from shared import accelerators
from shared.model import CPU, PODS

_MILLI: Final = 1000
_STEP: Final = 1024
_BINARY: Final = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_IN_BYTES: Final = ("memory", "ephemeral-storage", "hugepages-")
_HUNDREDS: Final = 100
_NAMES: Final = {CPU: "CPU"}
_COUNTED: Final = {"CPU": ("CPU", "CPUs"), "GPU": ("GPU", "GPUs"), PODS: ("pod", "pods")}
"""Of a name: one piece, or a part of one, and several or none."""


def amount(resource: str, base_units: int) -> str:
    """Return an amount and of what it is: ``0.075 CPU``, ``1 GPU``, ``512 MiB memory``."""
    name = resource_name(resource)
    one, many = _COUNTED.get(name, (name, name))
    pieces = base_units / _MILLI if resource == CPU else base_units
    return f"{figure(resource, base_units)} {one if 0 < abs(pieces) <= 1 else many}"


def figure(resource: str, base_units: int) -> str:
    """Return an amount where its resource is named beside it: ``0.075``, ``2``, ``512 MiB``."""
    if resource == CPU:
        return f"{base_units / _MILLI:.3f}".rstrip("0").rstrip(".")
    return in_bytes(base_units) if resource.startswith(_IN_BYTES) else str(base_units)


def part(resource: str, base_units: int, total: int) -> str:
    """Return an amount and that of which it is a part: ``5.5 of 8``, ``448 of 512 GiB``."""
    some, whole = figure(resource, base_units), figure(resource, total)
    unit = whole.rpartition(" ")[2] if " " in whole else ""
    return f"{some.removesuffix(f' {unit}') if unit else some} of {whole}"


def in_bytes(count: int) -> str:
    """Return a number of bytes with its unit: ``512 B``, ``1.5 GiB``."""
    size, unit = float(count), 0
    while abs(size) >= _STEP and unit + 1 < len(_BINARY):
        size, unit = size / _STEP, unit + 1
    text = f"{size:.1f}" if abs(size) >= _HUNDREDS else f"{size:.2f}"
    return f"{text.rstrip('0').rstrip('.')} {_BINARY[unit]}"


def gpus(count: float) -> str:
    """Return a number of GPUs, of which slices may be parts: ``2 GPUs``, ``0.14 GPU``."""
    return f"{accelerators.text(count)} {_COUNTED['GPU'][not 0 < count <= 1]}"


def resource_name(resource: str) -> str:
    """Return a resource's name in a sentence: ``CPU``, ``GPU`` for whole ones, else its own."""
    return "GPU" if accelerators.is_whole(resource) else _NAMES.get(resource, resource)
