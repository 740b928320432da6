"""Where nodes would run, and which device suits a model."""
from __future__ import annotations

import ctypes
import dataclasses
from typing import Any, List, Optional, Sequence, Tuple

from . import _abi as s
from ._errors import Callbacks, check, text
from ._library import LIBRARY as _lib
from ._options import Asked

_ALONE = 2**32 - 1


@dataclasses.dataclass(frozen=True)
class Verdict:
    """One device's word on one node. reason: why it leaves the node, or why no faster way was open; time_ns: that it expects, 0 unknown."""
    device: str
    takes: bool
    allowed: bool  # by the session's options
    kernel: str
    reason: str
    time_ns: float


@dataclasses.dataclass(frozen=True)
class PlacedNode:
    """Where a session would run a node. second: where it runs when the device is lost, "" nowhere; part: nodes with the same number are
    run as a whole, None: alone; bytes_crossing: inputs that another device made."""
    name: str
    op: str
    device: str
    second: str
    kernel: str
    reason: str
    depth: int
    part: Optional[int]
    part_nodes: int
    part_ns: float
    bytes_crossing: int
    verdicts: Tuple[Verdict, ...]


@dataclasses.dataclass(frozen=True)
class Limits:
    """What a run may take; 0: any. memory: bytes of a session; latency: seconds; energy: joules; cost: by prices, one for each device of
    the runtime, of one second there. vendors: their devices come first, in this order. emulated: consider emulated devices, too."""
    memory: int = 0
    latency: float = 0.0
    energy: float = 0.0
    cost: float = 0.0
    vendors: Sequence[str] = ()
    prices: Optional[Sequence[float]] = None
    emulated: bool = False


@dataclasses.dataclass(frozen=True)
class Choice:
    """One device for a model. devices: for the option `device`; reason: why it does not fit, ""; source: the weakest of what expected_ns
    comes from ("compiler", "measured", "declared", "assumed")."""
    devices: str
    fits: bool
    reason: str
    expected_ns: float
    source: str
    energy: float
    cost: float
    memory: int
    nodes: int
    nodes_there: int


def _placed(told: Any) -> PlacedNode:
    verdicts = tuple(Verdict(text(v[0].device), bool(v[0].takes), bool(v[0].allowed), text(v[0].kernel), text(v[0].reason), v[0].time_ns)
                     for v in told.verdicts[:told.verdict_count])
    return PlacedNode(text(told.name), text(told.op), text(told.device), text(told.second), text(told.kernel), text(told.reason), told.depth,
                      None if told.part == _ALONE else told.part, told.part_nodes, told.part_ns, told.bytes_crossing, verdicts)


def placement(model: ctypes.c_void_p, asked: Asked) -> List[PlacedNode]:
    nodes: List[PlacedNode] = []
    callbacks, visitor, error = Callbacks(), s.PlacementVisitor(), s.sized(s.Error)
    visitor.node = s.PlacementVisitor_node(callbacks(lambda _, node: nodes.append(_placed(node[0])), None))
    status = _lib.vireo_model_placement(model, ctypes.byref(asked.struct), ctypes.byref(visitor), ctypes.byref(error))
    asked.done()
    callbacks.done()
    check(status, error)
    return nodes


def choices(model: ctypes.c_void_p, asked: Asked, limits: Limits, device_count: int) -> List[Choice]:
    l, error, count = s.sized(s.Limits), s.sized(s.Error), ctypes.c_uint32()
    l.emulated, l.memory_bytes, l.latency_ns = int(limits.emulated), limits.memory, limits.latency * 1e9
    l.energy_j, l.cost, l.vendors = limits.energy, limits.cost, ",".join(limits.vendors).encode() or None
    if limits.prices is not None:
        if len(limits.prices) != device_count:
            raise ValueError(f"{len(limits.prices)} prices, the runtime has {device_count} devices")
        l.prices = (ctypes.c_double * max(device_count, 1))(*limits.prices)
    found = (s.DeviceChoice * max(device_count, 1))()
    for one in found:
        one.struct_size = ctypes.sizeof(s.DeviceChoice)
    status = _lib.vireo_model_devices(model, ctypes.byref(asked.struct), ctypes.byref(l), found, len(found), ctypes.byref(count), ctypes.byref(error))
    asked.done()
    check(status, error)
    return [Choice(text(f.devices), bool(f.fits), text(f.reason), f.expected_ns, text(f.source), f.energy_j, f.cost, f.memory_bytes, f.node_count,
                   f.nodes_there) for f in found[:min(count.value, len(found))]]
