"""Model: a verified .vireo file, what it takes and gives, what a session of it would need and where it would run."""
from __future__ import annotations

import ctypes
import dataclasses
import os
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np

from . import _placement as placing
from . import _abi as s
from ._errors import INVALID_ARGUMENT, Handle, VireoError, check, text
from ._library import LIBRARY as _lib
from ._options import Asked, Bounds, SessionOptions
from ._runtime import Runtime
from ._trust import Signature, signature_of
from ._types import Array, numpy_dtype, to_tensor

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._fleet import Pipeline, Split
    from ._session import Session

Dim = Union[int, Tuple[str, int, Optional[int]]]


@dataclasses.dataclass(frozen=True)
class Value:
    """An input or output. shape holds numbers, and (name, min, max) where a dimension is symbolic (max None: open)."""
    name: str
    dtype: "np.dtype[Any]"
    shape: Tuple[Dim, ...]
    state_of: int = -1  # inputs: the output that feeds it after each run, -1 none
    onnx_dtype: int = 0

    def __str__(self) -> str:
        return f"{self.name} {self.dtype}[{','.join(str(d if isinstance(d, int) else d[0]) for d in self.shape)}]"


@dataclasses.dataclass(frozen=True)
class Memory:
    """Bytes that a session takes; no plan can hold the tensors in less than lower_bound. packed: beside the total, shared by the model's
    sessions; mapped: packed weights that are read where they lie, in the model's file or the cache; compiled: what devices compiled of the
    model so far; device: buffers on devices with memory of their own; text: what devices said of the model's nodes so far;
    device_packed: packed weights in buffers on devices, which the model's sessions share."""
    total: int
    tensors: int
    scratch: int
    state: int
    lower_bound: int
    packed: int
    mapped: int = 0
    compiled: int = 0
    device: int = 0
    text: int = 0
    device_packed: int = 0


@dataclasses.dataclass(frozen=True)
class Plan:
    """Where a model that was converted for a target places its nodes; the first, portable one places none. reason: why it cannot be used
    here, "" where it can."""
    target: str
    devices: Tuple[str, ...]
    usable: bool
    automatic: bool
    reason: str


class Model(Handle):
    """A verified .vireo file, from a path or from bytes. check_hashes: also compare every byte with the file's hash tree."""
    _release = _lib.vireo_model_release

    def __init__(self, source: Union[str, "os.PathLike[str]", bytes, bytearray, memoryview], runtime: Optional[Runtime] = None, *,
                 check_hashes: bool = True):
        super().__init__()
        self.runtime = runtime or Runtime()
        error = s.sized(s.Error)
        if isinstance(source, (bytes, bytearray, memoryview)):
            data = np.frombuffer(source, np.uint8)
            room = np.empty(data.size + 64, np.uint8)  # the library reads in place and wants an alignment of 64
            start = -room.ctypes.data % 64
            self._bytes = room[start:start + data.size]
            self._bytes[:] = data
            status = _lib.vireo_model_load_memory(self.runtime._open(), self._bytes.ctypes.data, data.size, ctypes.byref(self._handle),
                                                  ctypes.byref(error))
        else:
            status = _lib.vireo_model_load_file(self.runtime._open(), os.fsencode(source), ctypes.byref(self._handle), ctypes.byref(error))
        check(status, error)
        if check_hashes:
            check(_lib.vireo_model_check_hashes(self._handle, ctypes.byref(error)), error)
        self.inputs = self._values(_lib.vireo_model_input_count, _lib.vireo_model_input)
        self.outputs = self._values(_lib.vireo_model_output_count, _lib.vireo_model_output)

    def _about(self) -> str:
        return f" {', '.join(map(str, self.inputs))} -> {', '.join(map(str, self.outputs))}"

    def _values(self, count: Callable[[Any], int], read: Callable[..., int]) -> List[Value]:
        values: List[Value] = []
        error = s.sized(s.Error)
        for i in range(count(self._handle)):
            info = s.sized(s.ValueInfo)
            check(read(self._handle, i, ctypes.byref(info), ctypes.byref(error)), error)
            shape: List[Dim] = []
            for d in range(info.rank):
                lo, hi, name = info.min_dims[d], info.max_dims[d], text(info.dim_names[d])
                shape.append(hi if lo == hi else (name, lo, hi if hi >= 0 else None))
            values.append(Value(text(info.name), numpy_dtype(info.dtype), tuple(shape), info.state_of, info.dtype))
        return values

    @property
    def about(self) -> Dict[str, Union[str, int, bool]]:
        """Where the file comes from and what it holds."""
        about, error = s.sized(s.ModelAbout), s.sized(s.Error)
        check(_lib.vireo_model_describe(self._open(), ctypes.byref(about), ctypes.byref(error)), error)
        return {"format": f"{about.format_major}.{about.format_minor}", "integer_only": bool(about.integer_only), "nodes": about.node_count,
                "plans": about.plan_count, "segments": about.segment_count, "file_bytes": about.file_bytes, "weight_bytes": about.weight_bytes,
                "source": text(about.source), "producer": text(about.producer), "converter": text(about.converter)}

    @property
    def dimensions(self) -> Dict[str, Tuple[int, Optional[int]]]:
        """The symbolic dimensions, those that data decide among them: name -> (min, max), max None where it is open."""
        found: Dict[str, Tuple[int, Optional[int]]] = {}
        error = s.sized(s.Error)
        for i in range(_lib.vireo_model_dimension_count(self._open())):
            d = s.sized(s.Dimension)
            check(_lib.vireo_model_dimension(self._handle, i, ctypes.byref(d), ctypes.byref(error)), error)
            found[text(d.name)] = (d.min, d.max if d.max >= 0 else None)
        return found

    def _know(self, bounds: Optional[Bounds]) -> None:
        """Raises VireoError where a bound is for a dimension that the model does not have."""
        if not isinstance(bounds, Mapping):
            return
        known = self.dimensions
        for name in bounds:
            if name not in known:
                there = f"it has {', '.join(map(repr, known))}" if known else "all its dimensions are fixed"
                raise VireoError(INVALID_ARGUMENT, f"the model has no symbolic dimension {name!r}; {there}")

    @property
    def plans(self) -> List[Plan]:
        """Plans of targets in the file (vireo convert --target)."""
        found: List[Plan] = []
        error = s.sized(s.Error)
        for i in range(_lib.vireo_model_plan_count(self._open())):
            p = s.sized(s.PlanInfo)
            check(_lib.vireo_model_plan(self._handle, i, ctypes.byref(p), ctypes.byref(error)), error)
            devices = tuple(d for d in text(p.devices).split(",") if d)
            found.append(Plan(text(p.target), devices, bool(p.usable), bool(p.automatic), text(p.reason)))
        return found

    @property
    def signature(self) -> Signature:
        told, error = s.sized(s.Signature), s.sized(s.Error)
        check(_lib.vireo_model_signature(self._open(), ctypes.byref(told), ctypes.byref(error)), error)
        return signature_of(told)

    @property
    def test_count(self) -> int:
        return int(_lib.vireo_model_test_count(self._open()))

    def memory(self, bounds: Optional[Bounds] = None, **options: "Unpack[SessionOptions]") -> Memory:
        """What a session takes, to the byte, before it exists."""
        self._know(bounds)
        asked = Asked(bounds, options)
        memory, error = s.sized(s.Memory), s.sized(s.Error)
        status = _lib.vireo_model_memory(self._open(), ctypes.byref(asked.struct), ctypes.byref(memory), ctypes.byref(error))
        asked.done()
        check(status, error)
        return Memory(memory.total_bytes, memory.tensor_bytes, memory.scratch_bytes, memory.state_bytes, memory.lower_bound_bytes,
                      memory.packed_bytes, memory.mapped_bytes, memory.compiled_bytes, memory.device_bytes, memory.text_bytes,
                      memory.device_packed_bytes)

    def session(self, bounds: Optional[Bounds] = None, **options: "Unpack[SessionOptions]") -> "Session":
        """bounds: {"batch": 4} or {"batch": (1, 8)} for open dimensions, named as in inputs[i].shape. options: SessionOptions."""
        from ._session import Session
        return Session(self, bounds, **options)

    def placement(self, bounds: Optional[Bounds] = None, **options: "Unpack[SessionOptions]") -> List[placing.PlacedNode]:
        """Where a session would run each node and what every device says of it, without a session; devices may compile."""
        return placing.placement(self._open(), Asked(bounds, options))

    def devices(self, bounds: Optional[Bounds] = None, limits: Optional[placing.Limits] = None,
                **options: "Unpack[SessionOptions]") -> List[placing.Choice]:
        """Which device for this model: those within the limits first, then by expected time. options["device"] is not read."""
        return placing.choices(self._open(), Asked(bounds, options), limits or placing.Limits(), len(self.runtime.devices))

    def pipeline(self, bounds: Optional[Bounds] = None, *, depth: int = 0, capacity: int = 0, emulated: bool = False,
                 **options: "Unpack[SessionOptions]") -> "Pipeline":
        """Runs that overlap, see Pipeline."""
        from ._fleet import Pipeline
        return Pipeline(self, bounds, depth=depth, capacity=capacity, emulated=emulated, **options)

    def split(self, devices: Sequence[str], batch: int, bounds: Optional[Bounds] = None, *, weights: Optional[Sequence[float]] = None,
              deterministic: bool = False, **options: "Unpack[SessionOptions]") -> "Split":
        """A batch over several devices, see Split."""
        from ._fleet import Split
        return Split(self, devices, batch, bounds, weights=weights, deterministic=deterministic, **options)

    def bounds_for(self, *inputs: Array, **named: Array) -> Dict[str, int]:
        """The bounds that fit these inputs and no others: {"batch": 1, "sequence": 128}. For smaller ones as well: {"batch": (1, 8)}."""
        bounds: Dict[str, int] = {}
        for value, array in zip(self.inputs, ordered(self.inputs, inputs, named)):
            if array is None:
                continue
            if np.ndim(array) != len(value.shape):
                raise VireoError(INVALID_ARGUMENT, f"input {value.name!r} has {np.ndim(array)} dimensions, the model wants {len(value.shape)}",
                                 tensor=value.name)
            for dim, extent in zip(value.shape, np.shape(array)):
                if isinstance(dim, tuple) and dim[2] is None:
                    bounds[dim[0]] = extent
        return bounds


def ordered(values: Sequence[Value], positional: Iterable[Optional[Array]], named: Mapping[str, Array]) -> List[Optional[Array]]:
    """One array for each of `values`; None where none is given."""
    arrays: List[Optional[Array]] = list(positional)
    if any(isinstance(array, Mapping) for array in arrays):
        raise VireoError(INVALID_ARGUMENT, "an input is a dict: give names as keywords, or the dict as feed=")
    if len(arrays) > len(values):
        raise VireoError(INVALID_ARGUMENT, f"{len(arrays)} inputs are given, the model takes {len(values)}")
    arrays += [None] * (len(values) - len(arrays))
    names = [v.name for v in values]
    for name, array in named.items():
        if name not in names:
            raise VireoError(INVALID_ARGUMENT, f"the model has no input {name!r}; it has {', '.join(map(repr, names))}. (An input that the ONNX file has "
                             f"a value for is a constant, unless it is converted with --keep-input {name}.)", tensor=name)
        if arrays[names.index(name)] is not None:
            raise VireoError(INVALID_ARGUMENT, f"input {name!r} is given twice", tensor=name)
        arrays[names.index(name)] = array
    return arrays


def input_tensors(values: Sequence[Value], inputs: Iterable[Optional[Array]], named: Mapping[str, Array], keep: List[Any],
                  in_place: bool = False) -> Any:
    """The C API's list of inputs; what it points to goes to `keep`. in_place: refuses what could not be read where it lies."""
    arrays = ordered(values, inputs, named)
    tensors = (s.Tensor * max(len(arrays), 1))()
    for i, (value, given) in enumerate(zip(values, arrays)):
        if given is None:
            if value.state_of < 0:
                raise VireoError(INVALID_ARGUMENT, f"input {value.name!r} is missing", tensor=value.name)
            continue
        array = np.asarray(given)
        is_text = value.dtype.kind == "U"
        if not (array.dtype == value.dtype or (is_text and array.dtype.kind in "UOS")):
            wanted = "str" if is_text else value.dtype
            raise VireoError(INVALID_ARGUMENT, f"input {value.name!r} takes {wanted}, got {array.dtype}", tensor=value.name)
        if is_text and array.dtype.kind == "O":
            for element in array.reshape(-1):
                if not isinstance(element, (str, bytes)):  # a missing value is no text: "nan" would be a category
                    raise VireoError(INVALID_ARGUMENT, f"input {value.name!r} takes str, got an element {element!r}", tensor=value.name)
        if array.ndim > s.MAX_RANK:
            raise VireoError(INVALID_ARGUMENT, f"input {value.name!r} has {array.ndim} dimensions, at most {s.MAX_RANK} are possible",
                             tensor=value.name)
        tensors[i] = to_tensor(array, value.onnx_dtype, keep)
        if in_place and (array.nbytes == 0 or tensors[i].data != array.__array_interface__["data"][0]):
            raise VireoError(INVALID_ARGUMENT, f"input {value.name!r} cannot be bound: it is no contiguous array of numbers", tensor=value.name)
    return tensors
