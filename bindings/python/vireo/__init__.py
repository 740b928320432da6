"""Vireo from Python: load a .vireo file, ask what it takes, run it on numpy arrays.

    import numpy as np, vireo

    model = vireo.Model("digits.vireo")
    session = model.session()
    logits, = session.run(image=np.zeros((1, 1, 32, 32), np.float32))

A thin layer over vireo.h: arrays are read in place, errors of the library become exceptions that name node and tensor.
bfloat16 and float8 travel as uint16 and uint8 bits, 4- and 2-bit integers as int8 or uint8.
"""
from __future__ import annotations

import ctypes
import dataclasses
import os
from typing import Iterable, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np

from . import _library as c
from ._types import from_tensor, numpy_dtype, to_tensor

__version__ = "0.1.0"
__all__ = ["Runtime", "Model", "Session", "Bound", "Value", "Device", "Node", "Memory", "VireoError", "version"]

_lib = c.LIBRARY
_STATUS = ("ok", "invalid argument", "invalid model", "unsupported", "out of arena", "device lost", "io", "busy", "cancelled")


class VireoError(RuntimeError):
    """What the library refused. status is its name ("invalid argument"); node and tensor are "" when none is to blame."""

    def __init__(self, status: int, message: str, node: str = "", tensor: str = ""):
        self.status = _STATUS[status] if status < len(_STATUS) else str(status)
        self.message, self.node, self.tensor = message, node, tensor
        place = "".join(f" ({kind} {name!r})" for kind, name in (("node", node), ("tensor", tensor)) if name)
        super().__init__(f"{message or self.status}{place}")


def _check(status: int, error: c.Error) -> None:
    if status:
        raise VireoError(status, error.message.decode(errors="replace"), error.node.decode(errors="replace"),
                         error.tensor.decode(errors="replace"))


def _text(value: Optional[bytes]) -> str:
    return (value or b"").decode(errors="replace")


def version() -> str:
    v = _lib.vireo_version()
    return f"{v >> 16}.{v >> 8 & 255}.{v & 255}"


@dataclasses.dataclass(frozen=True)
class Device:
    name: str
    delegate: str
    detail: str


@dataclasses.dataclass(frozen=True)
class Value:
    """An input or output. shape holds numbers, and (name, min, max) where a dimension is symbolic (max None: open)."""
    name: str
    dtype: np.dtype
    shape: Tuple[Union[int, Tuple[str, int, Optional[int]]], ...]
    state_of: int = -1  # inputs: the output that feeds it after each run, -1 none
    onnx_dtype: int = 0


@dataclasses.dataclass(frozen=True)
class Node:
    """Where a node runs. calls and total_ns are 0 unless the session profiles. operations: multiplications and additions of products and
    convolutions; bytes: of all that goes in and comes out. Both at the shapes of the last run."""
    name: str
    op: str
    device: str
    kernel: str
    reason: str
    depth: int
    calls: int
    total_ns: int
    operations: int = 0
    bytes: int = 0


@dataclasses.dataclass(frozen=True)
class Memory:
    """Bytes that a session takes; no plan can hold the tensors in less than lower_bound. packed: beside the total, shared by the model's
    sessions; mapped: packed weights that are read where they lie, in the model's file or the cache; compiled: what devices compiled of the
    model so far; device: buffers on devices with memory of their own."""
    total: int
    tensors: int
    scratch: int
    state: int
    lower_bound: int
    packed: int
    mapped: int = 0
    compiled: int = 0
    device: int = 0


class _Handle:
    """Owns one handle of the C API; close() and the end of a with block release it at once."""
    _release = None

    def __init__(self):
        self._handle = ctypes.c_void_p()

    def close(self) -> None:
        if self._handle:
            type(self)._release(self._handle)
            self._handle = ctypes.c_void_p()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        if getattr(self, "_handle", None):
            self.close()

    def _open(self) -> ctypes.c_void_p:
        if not self._handle:
            raise VireoError(1, f"this {type(self).__name__} is closed")
        return self._handle


class Runtime(_Handle):
    """Threads and devices, shared by models. threads=0: one per core."""
    _release = _lib.vireo_runtime_release

    def __init__(self, threads: int = 0):
        super().__init__()
        options, error = c.sized(c.RuntimeOptions), c.sized(c.Error)
        options.threads = threads
        _check(_lib.vireo_runtime_create(c.byref(options), c.byref(self._handle), c.byref(error)), error)

    @property
    def devices(self) -> List[Device]:
        found, error = [], c.sized(c.Error)
        for i in range(_lib.vireo_runtime_device_count(self._open())):
            info = c.sized(c.DeviceInfo)
            _check(_lib.vireo_runtime_device(self._handle, i, c.byref(info), c.byref(error)), error)
            found.append(Device(_text(info.name), _text(info.delegate), _text(info.detail)))
        return found


class Model(_Handle):
    """A verified .vireo file, from a path or from bytes. check_hashes: also compare every byte with the file's hash tree."""
    _release = _lib.vireo_model_release

    def __init__(self, source: Union[str, os.PathLike, bytes, bytearray, memoryview], runtime: Optional[Runtime] = None, *,
                 check_hashes: bool = True):
        super().__init__()
        self.runtime = runtime or Runtime()
        error = c.sized(c.Error)
        if isinstance(source, (bytes, bytearray, memoryview)):
            data = np.frombuffer(source, np.uint8)
            room = np.empty(data.size + 64, np.uint8)  # the library reads in place and wants an alignment of 64
            start = -room.ctypes.data % 64
            self._bytes = room[start:start + data.size]
            self._bytes[:] = data
            status = _lib.vireo_model_load_memory(self.runtime._open(), self._bytes.ctypes.data, data.size, c.byref(self._handle), c.byref(error))
        else:
            status = _lib.vireo_model_load_file(self.runtime._open(), os.fsencode(source), c.byref(self._handle), c.byref(error))
        _check(status, error)
        if check_hashes:
            _check(_lib.vireo_model_check_hashes(self._handle, c.byref(error)), error)
        self.inputs = self._values(_lib.vireo_model_input_count, _lib.vireo_model_input)
        self.outputs = self._values(_lib.vireo_model_output_count, _lib.vireo_model_output)

    def _values(self, count, read) -> List[Value]:
        values, error = [], c.sized(c.Error)
        for i in range(count(self._handle)):
            info = c.sized(c.ValueInfo)
            _check(read(self._handle, i, c.byref(info), c.byref(error)), error)
            shape = []
            for d in range(info.rank):
                lo, hi, name = info.min_dims[d], info.max_dims[d], _text(info.dim_names[d])
                shape.append(hi if lo == hi else (name, lo, hi if hi >= 0 else None))
            values.append(Value(_text(info.name), numpy_dtype(info.dtype), tuple(shape), info.state_of, info.dtype))
        return values

    @property
    def about(self) -> dict:
        """Where the file comes from and what it holds."""
        about, error = c.sized(c.About), c.sized(c.Error)
        _check(_lib.vireo_model_describe(self._open(), c.byref(about), c.byref(error)), error)
        return {"format": f"{about.format_major}.{about.format_minor}", "integer_only": bool(about.integer_only), "nodes": about.node_count,
                "plans": about.plan_count, "segments": about.segment_count, "file_bytes": about.file_bytes, "weight_bytes": about.weight_bytes,
                "source": _text(about.source), "producer": _text(about.producer), "converter": _text(about.converter)}

    @property
    def test_count(self) -> int:
        return _lib.vireo_model_test_count(self._open())

    def memory(self, bounds: Optional[Mapping[str, Union[int, Tuple[int, int]]]] = None, *, device: Optional[str] = None,
               threads: int = 0, cache: Union[str, os.PathLike, None] = None) -> Memory:
        """What a session takes, to the byte, before it exists."""
        options, keep = _session_options(bounds, device, threads, False, 0, cache)
        memory, error = c.sized(c.Memory), c.sized(c.Error)
        _check(_lib.vireo_model_memory(self._open(), c.byref(options), c.byref(memory), c.byref(error)), error)
        del keep
        return Memory(memory.total_bytes, memory.tensor_bytes, memory.scratch_bytes, memory.state_bytes, memory.lower_bound_bytes,
                      memory.packed_bytes, memory.mapped_bytes, memory.compiled_bytes, memory.device_bytes)

    def session(self, bounds: Optional[Mapping[str, Union[int, Tuple[int, int]]]] = None, *, device: Optional[str] = None, threads: int = 0,
                profile: bool = False, seed: int = 0, cache: Union[str, os.PathLike, None] = None) -> "Session":
        """bounds: {"batch": 4} or {"batch": (1, 8)} for open dimensions, named as in inputs[i].shape.

        cache: a folder for packed weights, which the next process then maps instead of packing them.
        """
        return Session(self, bounds, device=device, threads=threads, profile=profile, seed=seed, cache=cache)

    def bounds_for(self, *inputs: np.ndarray, **named: np.ndarray) -> dict:
        """The bounds that fit just these inputs: {"batch": 1, "sequence": 128}."""
        bounds = {}
        for value, array in zip(self.inputs, _ordered(self.inputs, inputs, named)):
            if array is None:
                continue
            for dim, extent in zip(value.shape, np.shape(array)):
                if isinstance(dim, tuple) and dim[2] is None:
                    bounds[dim[0]] = extent
        return bounds


def _session_options(bounds, device, threads, profile, seed, cache=None):
    options = c.sized(c.SessionOptions)
    pairs = [(name, value if isinstance(value, (tuple, list)) else (value, value)) for name, value in (bounds or {}).items()]
    table = (c.Bound * max(len(pairs), 1))()
    for row, (name, (lo, hi)) in zip(table, pairs):
        row.name, row.min, row.max = name.encode(), lo, hi
    options.device = None if device is None else device.encode()
    options.bounds, options.bound_count = table, len(pairs)
    options.threads, options.profile, options.seed = threads, int(profile), seed
    options.cache = None if cache is None else os.fsencode(cache)
    return options, table


def _ordered(values: Sequence[Value], positional: Iterable, named: Mapping) -> list:
    arrays = list(positional)
    if len(arrays) > len(values):
        raise VireoError(1, f"{len(arrays)} inputs are given, the model takes {len(values)}")
    arrays += [None] * (len(values) - len(arrays))
    names = [v.name for v in values]
    for name, array in named.items():
        if name not in names:
            raise VireoError(1, f"the model has no input {name!r}; it has {', '.join(map(repr, names))}", tensor=name)
        if arrays[names.index(name)] is not None:
            raise VireoError(1, f"input {name!r} is given twice", tensor=name)
        arrays[names.index(name)] = array
    return arrays


class Bound:
    """A session with its inputs fixed, see Session.bind(): a run costs a microsecond besides the model's own time."""

    def __init__(self, session: "Session", inputs, named):
        self._session, self._keep, self._views = session, [], None
        self._tensors = session._tensors(inputs, named, self._keep, in_place=True)
        self._results = (c.Tensor * max(len(session.model.outputs), 1))()
        self._error = c.sized(c.Error)
        self._error_ref = c.byref(self._error)

    def run(self) -> List[np.ndarray]:
        """Runs once. The outputs are views of the session's memory, valid until its next call."""
        status = _lib.vireo_session_run(self._session._open(), self._tensors, self._results, self._error_ref)
        if status:
            _check(status, self._error)
        results = self._results
        places = [(t.data, t.rank, t.dims[:t.rank]) for t in results]
        if self._views is None or places != self._places:
            self._places = places
            self._views = [from_tensor(t, False) for t in results[:len(self._session.model.outputs)]]
        return list(self._views)


class Session(_Handle):
    """One running instance. Not for two threads at once. Memory is allocated here and never again until close()."""
    _release = _lib.vireo_session_release

    def __init__(self, model: Model, bounds=None, *, device: Optional[str] = None, threads: int = 0, profile: bool = False, seed: int = 0,
                 cache: Union[str, os.PathLike, None] = None):
        super().__init__()
        self.model = model
        options, keep = _session_options(bounds, device, threads, profile, seed, cache)
        error = c.sized(c.Error)
        _check(_lib.vireo_session_create(model._open(), c.byref(options), c.byref(self._handle), c.byref(error)), error)
        del keep

    def run(self, *inputs: np.ndarray, copy: bool = True, feed: Optional[Mapping[str, np.ndarray]] = None, **named: np.ndarray) -> List[np.ndarray]:
        """Runs once. Inputs by position, by name, or (names that are no identifiers) in feed; a carried state may be left out.

        Arrays are read in place when they are contiguous. copy=False returns views of the session's memory, valid until its
        next call.
        """
        handle, error, keep = self._open(), c.sized(c.Error), []
        tensors = self._tensors(inputs, {**(feed or {}), **named}, keep)
        results = (c.Tensor * max(len(self.model.outputs), 1))()
        _check(_lib.vireo_session_run(handle, tensors, results, c.byref(error)), error)
        return [from_tensor(t, copy) for t in results[:len(self.model.outputs)]]

    def _tensors(self, inputs, named, keep: list, in_place: bool = False):
        arrays = _ordered(self.model.inputs, inputs, named)
        tensors = (c.Tensor * max(len(arrays), 1))()
        for i, (value, array) in enumerate(zip(self.model.inputs, arrays)):
            if array is None:
                if value.state_of < 0:
                    raise VireoError(1, f"input {value.name!r} is missing", tensor=value.name)
                continue
            array = np.asarray(array)
            if not (array.dtype == value.dtype or (value.dtype.kind == "U" and array.dtype.kind in "UOS")):
                raise VireoError(1, f"input {value.name!r} takes {value.dtype}, got {array.dtype}", tensor=value.name)
            if array.ndim > c.MAX_RANK:
                raise VireoError(1, f"input {value.name!r} has {array.ndim} dimensions, at most {c.MAX_RANK} are possible", tensor=value.name)
            tensors[i] = to_tensor(array, value.onnx_dtype, keep)
            if in_place and (array.nbytes == 0 or tensors[i].data != array.__array_interface__["data"][0]):
                raise VireoError(1, f"input {value.name!r} cannot be bound: it is no contiguous array of numbers", tensor=value.name)
        return tensors

    def bind(self, *inputs: np.ndarray, feed: Optional[Mapping[str, np.ndarray]] = None, **named: np.ndarray) -> "Bound":
        """Inputs as run() takes them, for many runs: each reads the arrays where they lie, with what was written there since."""
        return Bound(self, inputs, {**(feed or {}), **named})

    def reset(self) -> None:
        """Carried state back to zeros."""
        error = c.sized(c.Error)
        _check(_lib.vireo_session_reset(self._open(), c.byref(error)), error)

    def reserve(self, bounds: Mapping[str, Union[int, Tuple[int, int]]]) -> None:
        """Replans for other bounds; carried state is kept."""
        options, table = _session_options(bounds, None, 0, False, 0)
        error = c.sized(c.Error)
        self._open()
        _check(_lib.vireo_session_reserve(c.byref(self._handle), table, options.bound_count, c.byref(error)), error)

    def cancel(self) -> None:
        """From another thread: a run under way ends with a VireoError of status "cancelled"."""
        _lib.vireo_session_cancel(self._open())

    def selftest(self) -> None:
        """Runs the file's own tests; raises VireoError naming the worst output when one fails, or when there are none."""
        if self.model.test_count == 0:
            raise VireoError(3, "the file carries no tests; convert it with --embed-tests")
        error = c.sized(c.Error)
        for i in range(self.model.test_count):
            _check(_lib.vireo_session_selftest(self._open(), i, c.byref(error)), error)

    @property
    def nodes(self) -> List[Node]:
        found, error = [], c.sized(c.Error)
        for i in range(_lib.vireo_session_node_count(self._open())):
            n = c.sized(c.NodeInfo)
            _check(_lib.vireo_session_node(self._handle, i, c.byref(n), c.byref(error)), error)
            found.append(Node(_text(n.name), _text(n.op), _text(n.device), _text(n.kernel), _text(n.reason), n.depth, n.calls, n.total_ns,
                              n.operations, n.bytes))
        return found
