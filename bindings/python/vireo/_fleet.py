"""Several sessions of one model at work: runs that overlap, and a batch over several devices."""
from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import threading
import time
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

import numpy as np

from . import _abi as s
from ._errors import BUSY, INVALID_ARGUMENT, Handle, Turn, VireoError, check, text
from ._library import LIBRARY as _lib
from ._model import Model, input_tensors
from ._options import Asked, Bounds, SessionOptions
from ._types import PACKED, STRING, Array, from_tensor, numpy_dtype

if TYPE_CHECKING:
    from typing_extensions import Unpack

_SLICE = 0.2  # seconds


@dataclasses.dataclass(frozen=True)
class Load:
    """One device's part in a run, or in all runs so far (Pipeline.loads). timed: how many of its nodes have a time."""
    device: str
    nodes: int
    timed: int
    busy_ns: float


@dataclasses.dataclass(frozen=True)
class Estimate:
    """What a placement promises when runs overlap: the busiest device decides. known: every node outside of control flow has a time."""
    devices: str
    loads: Tuple[Load, ...]
    bottleneck: str
    known: bool
    latency_ns: float
    bottleneck_ns: float
    runs_per_second: float  # 0: not known
    reason: str


@dataclasses.dataclass(frozen=True)
class Finished:
    """A run that Pipeline.wait() gives back. number: 0, 1, ... in order of submission; user: as submit() got it."""
    number: int
    outputs: List[Array]
    user: Any
    run_ns: int


@dataclasses.dataclass(frozen=True)
class Share:
    """A device's part of a batch. weight: of the next run; rows: in the last one; row_ns: measured, 0 not yet."""
    device: str
    lost: bool
    weight: float
    rows: int
    most_rows: int
    row_ns: float


class RunFailed(VireoError):
    """A run of a pipeline that failed; number and user tell which. The others go on."""
    number = -1
    user: Any = None


def _load(told: Any) -> Load:
    return Load(text(told.device), told.nodes, told.timed, told.busy_ns)


def _room() -> Any:
    """An array of loads that the library fills, each as long as its first one says."""
    loads = (s.Load * s.FLEET_DEVICES)()
    loads[0].struct_size = ctypes.sizeof(s.Load)
    return loads


def _estimate(told: Any, shares: Any) -> Estimate:
    loads = tuple(_load(l) for l in shares[:told.load_count])
    return Estimate(text(told.devices), loads, loads[told.bottleneck].device if loads else "", bool(told.known), told.latency_ns,
                    told.bottleneck_ns, told.runs_per_second, text(told.reason))


def estimate(model: Model, bounds: Optional[Bounds] = None, *, emulated: bool = False, **options: "Unpack[SessionOptions]") -> Estimate:
    """What runs that overlap would give, without a session; devices may compile. emulated: consider emulated devices, too."""
    asked, out, loads, error = Asked(bounds, options), s.sized(s.Estimate), _room(), s.sized(s.Error)
    status = _lib.vireo_fleet_estimate(model._open(), ctypes.byref(asked.struct), int(emulated), ctypes.byref(out), loads, len(loads),
                                       ctypes.byref(error))
    asked.done()
    check(status, error)
    return _estimate(out, loads)


class _Run:
    """What one submitted run borrows until it is given back."""

    def __init__(self, outputs: Any, arrays: List[Array], keep: List[Any], user: Any):
        self.outputs, self.arrays, self.keep, self.user = outputs, arrays, keep, user


class Pipeline(Handle):
    """Runs that overlap, in order: submit() queues one, wait() gives back the oldest. Throughput; a single run does not get faster.

    depth: runs under way at once, 0 as many as the placement has devices; capacity: runs submitted and not yet given back, 0 twice the
    depth. Outputs get arrays of their own, at the session's bounds: open dimensions need one. Several threads may call at once;
    only close() raises VireoError of status "busy" while another call is under way.
    """
    _release = _lib.vireo_pipeline_release

    def __init__(self, model: Model, bounds: Optional[Bounds] = None, *, depth: int = 0, capacity: int = 0, emulated: bool = False,
                 **options: "Unpack[SessionOptions]"):
        super().__init__()
        self.model = model
        self._asked = Asked(bounds, options)
        self._room = _output_room(model, bounds or {})
        self._runs: Dict[int, _Run] = {}
        self._next = 1  # 0 is what a NULL user reads as
        self._calls = 0  # under way
        self._lock = threading.Lock()
        wanted, error = s.sized(s.PipelineOptions), s.sized(s.Error)
        wanted.depth, wanted.capacity, wanted.emulated, wanted.session = depth, capacity, int(emulated), ctypes.pointer(self._asked.struct)
        status = _lib.vireo_pipeline_create(model._open(), ctypes.byref(wanted), ctypes.byref(self._handle), ctypes.byref(error))
        self._asked.done()
        check(status, error)

    @contextlib.contextmanager
    def _inside(self) -> Iterator[ctypes.c_void_p]:
        """The handle for a call, which close() does not free meanwhile."""
        with self._lock:
            handle = self._open()
            self._calls += 1
        try:
            yield handle
        finally:
            with self._lock:
                self._calls -= 1

    def submit(self, *inputs: Array, feed: Optional[Mapping[str, Array]] = None, user: Any = None, block: bool = True, **named: Array) -> None:
        """Queues a run; inputs as Session.run() takes them, not to be changed until wait() gives it back. Where capacity runs are queued it
        waits for room (block=False: VireoError of status "busy")."""
        keep: List[Any] = []
        tensors = input_tensors(self.model.inputs, inputs, {**(feed or {}), **named}, keep)
        arrays = [np.empty(max(shape, 1), np.uint8) for shape in self._room]
        outputs = (s.Tensor * max(len(arrays), 1))()
        for tensor, array in zip(outputs, arrays):
            tensor.data, tensor.capacity = array.ctypes.data, array.nbytes
        error = s.sized(s.Error)
        with self._inside() as handle:
            with self._lock:
                key = self._next
                self._next += 1
                self._runs[key] = _Run(outputs, arrays, [keep, tensors], user)
            status = _lib.vireo_pipeline_submit(handle, tensors, len(self.model.inputs), outputs, len(arrays), key, int(not block),
                                                ctypes.byref(error))
            if status:
                with self._lock:
                    del self._runs[key]
        check(status, error)

    def wait(self, timeout: Optional[float] = None) -> Optional[Finished]:
        """The oldest run, once it is done; None where that takes longer than timeout seconds. RunFailed where the run itself failed."""
        done, error = s.sized(s.Finished), s.sized(s.Error)
        end = None if timeout is None else time.monotonic() + timeout
        while True:  # in slices: between them Python handles an interrupt from the keyboard
            left = _SLICE if end is None else min(_SLICE, max(0.0, end - time.monotonic()))
            with self._inside() as handle:
                status = _lib.vireo_pipeline_wait(handle, int(left * 1e9), ctypes.byref(done), ctypes.byref(error))
                if not status:
                    with self._lock:
                        run = self._runs.pop(done.user)
            if status != BUSY:
                break
            if end is not None and time.monotonic() >= end:
                return None
        check(status, error)
        if done.status:
            failed = RunFailed(done.status, text(error.message), text(error.node), text(error.tensor))
            failed.number, failed.user = done.number, run.user
            raise failed
        return Finished(done.number, [from_tensor(t, True) for t in run.outputs[:len(run.arrays)]], run.user, done.run_ns)

    def cancel(self) -> None:
        """Every run submitted so far and not finished ends with status "cancelled"; wait() still gives each back."""
        with self._inside() as handle:
            _lib.vireo_pipeline_cancel(handle)

    @property
    def depth(self) -> int:
        with self._inside() as handle:
            return int(_lib.vireo_pipeline_depth(handle))

    @property
    def estimate(self) -> Estimate:
        """The placement that was chosen, with the reason."""
        out, loads, error = s.sized(s.Estimate), _room(), s.sized(s.Error)
        with self._inside() as handle:
            check(_lib.vireo_pipeline_estimate(handle, ctypes.byref(out), loads, len(loads), ctypes.byref(error)), error)
        return _estimate(out, loads)

    @property
    def loads(self) -> List[Load]:
        """How long devices were busy in all runs. Needs profile=True and no run under way."""
        found, count, error = _room(), ctypes.c_uint32(), s.sized(s.Error)
        with self._inside() as handle:
            check(_lib.vireo_pipeline_loads(handle, found, len(found), ctypes.byref(count), ctypes.byref(error)), error)
        return [_load(l) for l in found[:min(count.value, len(found))]]

    def close(self) -> None:
        """Cancels what is under way and waits until no thread touches an array of ours."""
        with self._lock:
            if self._calls:
                raise VireoError(BUSY, "another thread is in a call of this pipeline: let it return before close()")
            handle, self._handle = self._handle, ctypes.c_void_p()
        if handle:
            type(self)._release(handle)
        self._runs.clear()


def _output_room(model: Model, bounds: Bounds) -> List[int]:
    """Bytes of each output at its bounds."""
    sizes: List[int] = []
    for value in model.outputs:
        if value.onnx_dtype == STRING:
            raise VireoError(INVALID_ARGUMENT, f"output {value.name!r} is text, which a pipeline has no memory for: use a session", tensor=value.name)
        count = 1
        for dim in value.shape:
            if isinstance(dim, tuple):
                name, _, most = dim
                given = bounds.get(name)
                top = given if isinstance(given, int) else given[1] if given is not None else most
                if top is None:
                    raise VireoError(INVALID_ARGUMENT, f"output {value.name!r} has the open dimension {name or 'that data decide'!r}: give it a bound", tensor=value.name)
                count *= top
            else:
                count *= dim
        sizes.append(-(-count // PACKED[value.onnx_dtype]) if value.onnx_dtype in PACKED else count * numpy_dtype(value.onnx_dtype).itemsize)
    return sizes


class Split(Handle):
    """A batch over several devices: each takes its rows of the whole arrays, at the same time.

    devices: for each share the option `device` of a session, "cpu" or "npu,cpu"; batch: the most rows of a run; weights: of the shares,
    fixed then, None as devices turn out to be; deterministic: shares stay as they were at first. That a row of the outputs depends on its
    row of the inputs alone is the caller's word. For one thread at a time, as a session: else VireoError of status "busy".
    """
    _release = _lib.vireo_split_release

    def __init__(self, model: Model, devices: Sequence[str], batch: int, bounds: Optional[Bounds] = None, *,
                 weights: Optional[Sequence[float]] = None, deterministic: bool = False, **options: "Unpack[SessionOptions]"):
        super().__init__()
        if isinstance(devices, str):
            raise TypeError('devices is a list: ["cpu", "npu,cpu"]')
        if weights is not None and len(weights) != len(devices):
            raise VireoError(INVALID_ARGUMENT, f"{len(weights)} weights for {len(devices)} devices")
        self.model, self.devices, self._turn = model, tuple(devices), Turn("split")
        self._asked = Asked(bounds, options)
        wanted, error = s.sized(s.SplitOptions), s.sized(s.Error)
        names = (ctypes.c_char_p * max(len(devices), 1))(*(d.encode() for d in devices))
        wanted.device_count, wanted.devices, wanted.batch, wanted.deterministic = len(devices), names, batch, int(deterministic)
        if weights is not None:
            wanted.weights = (ctypes.c_double * max(len(weights), 1))(*weights)
        wanted.session = ctypes.pointer(self._asked.struct)
        status = _lib.vireo_split_create(model._open(), ctypes.byref(wanted), ctypes.byref(self._handle), ctypes.byref(error))
        self._asked.done()
        check(status, error)

    def run(self, *inputs: Array, feed: Optional[Mapping[str, Array]] = None, **named: Array) -> List[Array]:
        """Runs one batch, of as many rows as the inputs have."""
        error = s.sized(s.Error)
        keep: List[Any] = []
        tensors = input_tensors(self.model.inputs, inputs, {**(feed or {}), **named}, keep)
        rows = tensors[0].dims[0] if len(self.model.inputs) and tensors[0].rank > 0 else 0
        arrays: List[Array] = []
        outputs = (s.Tensor * max(len(self.model.outputs), 1))()
        for tensor, value in zip(outputs, self.model.outputs):
            shape = (rows, *(d if isinstance(d, int) else d[2] or 0 for d in value.shape[1:]))  # the others are fixed
            arrays.append(np.empty(shape, value.dtype))
            tensor.data, tensor.capacity = arrays[-1].ctypes.data or None, arrays[-1].nbytes
        with self._turn:
            check(_lib.vireo_split_run(self._open(), tensors, len(self.model.inputs), outputs, len(self.model.outputs), ctypes.byref(error)), error)
        return [from_tensor(t, True) if value.onnx_dtype in PACKED else array
                for t, value, array in zip(outputs, self.model.outputs, arrays)]

    @property
    def shares(self) -> List[Share]:
        found: List[Share] = []
        error = s.sized(s.Error)
        with self._turn:
            for i in range(len(self.devices)):
                one = s.sized(s.Share)
                check(_lib.vireo_split_share(self._open(), i, ctypes.byref(one), ctypes.byref(error)), error)
                found.append(Share(text(one.device), bool(one.lost), one.weight, one.rows, one.most_rows, one.row_ns))
        return found

    def close(self) -> None:
        """Releases it; a second call does nothing. While another thread runs it: VireoError of status "busy"."""
        with self._turn:
            super().close()
