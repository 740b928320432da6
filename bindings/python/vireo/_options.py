"""What sessions can be asked for, as the C API's struct."""
from __future__ import annotations

import ctypes
import dataclasses
import numbers
import os
from typing import Any, Callable, List, Mapping, Optional, Tuple, TypedDict, Union

from . import _abi as s
from ._errors import INVALID_ARGUMENT, Callbacks, VireoError, text

Bounds = Mapping[str, Union[int, Tuple[int, int]]]
_PACKING = {"default": 0, "always": 1, "never": 2}
_MATH = {"exact": 0, "f16": 1}
_PRIORITY = {"normal": 0, "low": 1, "high": 2}


@dataclasses.dataclass(frozen=True)
class Candidate:
    """One way to run a node. key: of what its time depends on, the same on every machine."""
    key: int
    node: str
    device: str
    kernel: str


@dataclasses.dataclass(frozen=True)
class Preference:
    """Which of several ways a session takes: the highest rank runs the node. time_ns: what a way was measured to take here, 0 unknown."""
    rank: Callable[[Candidate], int]
    time_ns: Optional[Callable[[Candidate], float]] = None


class SessionOptions(TypedDict, total=False):
    """What Model.session(), memory(), placement() and devices() take beside bounds.

    device          "auto", or names with commas between them, the one to be preferred first
    threads         at most this many of the runtime's; 0: all
    profile         keep the time of each node
    seed            of random operators without a seed of their own
    cache           a folder for packed weights and compiled parts, which the next process maps
    cache_bytes     its files together; 0: 2 GiB
    packing         "default", "always" or "never": copies of weights as kernels read them fastest
    preference      which of several ways runs a node
    device_timeout  seconds that one part may take on a device beside the host; 0: 10
    failover        False: a lost device ends the run
    require         a share of the nodes that must run on one device: "npu>=95%"
    target          the file's plan that places nodes; None: the first that fits; "": none
    math            "exact", or "f16": devices may round operands of products to float16
    state_stays     True: carried state of one device with memory of its own stays there, without a copy after each run
    priority        "normal", "low" or "high": whose work a device takes first
    slice           seconds of work on a device after which it may turn to others; 0: each part in one piece
    """
    device: Optional[str]
    threads: int
    profile: bool
    seed: int
    cache: Union[str, "os.PathLike[str]", None]
    cache_bytes: int
    packing: str
    preference: Optional[Preference]
    device_timeout: float
    failover: bool
    require: Optional[str]
    target: Optional[str]
    math: str
    state_stays: bool
    priority: str
    slice: float


_NAMES = tuple(SessionOptions.__annotations__)


def _encoded(value: Optional[str]) -> Optional[bytes]:
    return None if value is None else value.encode()


def _pairs(bounds: Optional[Bounds]) -> List[Tuple[str, Tuple[int, int]]]:
    """(name, (min, max)) for each bound."""
    if bounds is not None and not isinstance(bounds, Mapping):
        raise TypeError(f'bounds are a dict such as {{"batch": (1, 8)}}, not a {type(bounds).__name__}')
    pairs: List[Tuple[str, Tuple[int, int]]] = []
    for name, value in (bounds or {}).items():
        both = tuple(value) if isinstance(value, (tuple, list)) else (value, value)
        if len(both) != 2 or not all(isinstance(extent, numbers.Integral) for extent in both) or not 0 <= both[0] <= both[1]:
            raise VireoError(INVALID_ARGUMENT, f"bound {value!r} of dimension {name!r} is neither a whole number nor (least, most)")
        pairs.append((name, (int(both[0]), int(both[1]))))
    return pairs


def candidate_of(told: Any) -> Candidate:
    return Candidate(told.key, text(told.node), text(told.device), text(told.kernel))


class Asked:
    """`struct` and what it points to, which lives as long as this object. done() raises what a preference raised."""

    def __init__(self, bounds: Optional[Bounds], options: SessionOptions):
        for name in options:
            if name not in _NAMES:
                raise TypeError(f"there is no option {name!r}; there are {', '.join(_NAMES)}")
        self.struct = o = s.sized(s.SessionOptions)
        self.callbacks = Callbacks()
        self._keep: List[Any] = []
        pairs = _pairs(bounds)
        self.bounds = (s.Bound * max(len(pairs), 1))()
        for row, (name, (lo, hi)) in zip(self.bounds, pairs):
            row.name, row.min, row.max = name.encode(), lo, hi
        o.bounds, o.bound_count = self.bounds, len(pairs)
        cache, packing = options.get("cache"), options.get("packing", "default")
        if packing not in _PACKING:
            raise VireoError(INVALID_ARGUMENT, f"packing {packing!r} is none of {', '.join(_PACKING)}")
        o.device, o.require, o.target = _encoded(options.get("device")), _encoded(options.get("require")), _encoded(options.get("target"))
        if options.get("threads", 0) < 0:
            raise VireoError(INVALID_ARGUMENT, f"threads is {options.get('threads')}: give a number, or 0 for all")
        o.threads, o.seed = options.get("threads", 0), options.get("seed", 0)
        o.profile, o.packing = int(options.get("profile", False)), _PACKING[packing]
        o.cache, o.cache_bytes = None if cache is None else os.fsencode(cache), options.get("cache_bytes", 0)
        o.device_timeout_ns, o.failover = int(options.get("device_timeout", 0) * 1e9), int(not options.get("failover", True))
        math, priority = options.get("math", "exact"), options.get("priority", "normal")
        if math not in _MATH:
            raise VireoError(INVALID_ARGUMENT, f"math {math!r} is none of {', '.join(_MATH)}")
        if priority not in _PRIORITY:
            raise VireoError(INVALID_ARGUMENT, f"priority {priority!r} is none of {', '.join(_PRIORITY)}")
        piece = float(options.get("slice", 0))
        if not 0 <= piece < 1e9:
            raise VireoError(INVALID_ARGUMENT, f"slice is {piece}: give the seconds of a piece, or 0 for whole parts")
        o.math, o.priority, o.slice_ns = _MATH[math], _PRIORITY[priority], int(piece * 1e9)
        o.state_stays = int(options.get("state_stays", False))
        preference = options.get("preference")
        if preference is not None:
            self._prefer(preference)

    def _prefer(self, preference: Preference) -> None:
        asked = s.sized(s.Preference)
        rank, time_ns = preference.rank, preference.time_ns
        asked.rank = s.Preference_rank(self.callbacks(lambda _, c: int(rank(candidate_of(c[0]))), 0))
        if time_ns is not None:
            measured = time_ns
            asked.time_ns = s.Preference_time_ns(self.callbacks(lambda _, c: float(measured(candidate_of(c[0]))), 0.0))
        self._keep.append(asked)
        self.struct.preference = ctypes.pointer(asked)

    def done(self) -> None:
        self.callbacks.done()
