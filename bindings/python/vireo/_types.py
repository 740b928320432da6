"""Element types on both sides, and numpy arrays as tensors of the C API."""
from __future__ import annotations

import ctypes
import math
from typing import TYPE_CHECKING, Any, List, Sequence, Tuple

import numpy as np

from . import _abi as s

if TYPE_CHECKING:
    from numpy.typing import NDArray
    Array = NDArray[Any]
else:
    Array = np.ndarray

FLOAT32, STRING, BFLOAT16, UINT4, INT4, FLOAT4E2M1, UINT2, INT2 = 1, 8, 16, 21, 22, 23, 25, 26
NUMPY = {1: np.float32, 2: np.uint8, 3: np.int8, 4: np.uint16, 5: np.int16, 6: np.int32, 7: np.int64, 9: np.bool_, 10: np.float16,
         11: np.float64, 12: np.uint32, 13: np.uint64, 14: np.complex64, 15: np.complex128}
# Types without a numpy counterpart travel as their bits.
BITS = {BFLOAT16: np.uint16, 17: np.uint8, 18: np.uint8, 19: np.uint8, 20: np.uint8, 24: np.uint8, 27: np.uint8, 28: np.uint8}
PACKED = {UINT4: 2, INT4: 2, FLOAT4E2M1: 2, UINT2: 4, INT2: 4}  # elements in a byte
_SIGNED = {INT4: 4, INT2: 2}


_NUMPY_DTYPE = {d: np.dtype(t) for d, t in {**NUMPY, **BITS, STRING: str}.items()}  # made once: a run looks each output up


def numpy_dtype(dtype: int) -> "np.dtype[Any]":
    """The numpy type that carries `dtype`; text for strings."""
    return _NUMPY_DTYPE.get(dtype) or np.dtype(np.int8 if dtype in _SIGNED else np.uint8)


def pack(array: Array, dtype: int) -> Array:
    """8-bit integers into the packed bytes of a 4- or 2-bit type, the first element in the lowest bits."""
    per_byte = PACKED[dtype]
    bits = 8 // per_byte
    flat = np.zeros(-(-array.size // per_byte) * per_byte, np.uint8)
    flat[:array.size] = array.reshape(-1).astype(np.uint8) & ((1 << bits) - 1)
    shifted = flat.reshape(-1, per_byte) << (np.arange(per_byte, dtype=np.uint8) * bits)
    packed: Array = shifted.sum(axis=1, dtype=np.uint8)  # no two have a bit in common
    return packed


def unpack(data: Array, dtype: int, shape: Sequence[int]) -> Array:
    per_byte = PACKED[dtype]
    bits = 8 // per_byte
    codes = (data[:, None] >> (np.arange(per_byte, dtype=np.uint8) * bits)) & ((1 << bits) - 1)
    codes = codes.reshape(-1)[:int(np.prod(shape, dtype=np.int64))]
    if dtype in _SIGNED:
        half = 1 << (bits - 1)
        codes = (codes.astype(np.int8) ^ half) - half
    elements: Array = codes.reshape(shape)
    return elements


def to_tensor(array: Array, dtype: int, keep: List[Any]) -> s.Tensor:
    """A tensor that borrows `array`'s memory (a copy only when it is not contiguous, or for text); owners go to `keep`."""
    tensor = s.Tensor()
    tensor.dtype, tensor.rank = dtype, array.ndim
    tensor.dims[:array.ndim] = array.shape
    if dtype == STRING:
        texts = [t if isinstance(t, bytes) else str(t).encode() for t in array.reshape(-1).tolist()]
        refs = (s.String * max(len(texts), 1))()
        for ref, text in zip(refs, texts):
            ref.data, ref.size = ctypes.cast(ctypes.c_char_p(text), ctypes.c_void_p), len(text)
        keep += [texts, refs]
        tensor.data, tensor.capacity = ctypes.addressof(refs), ctypes.sizeof(refs)
        return tensor
    if dtype in PACKED:
        data = pack(array, dtype)
    else:
        data = array if array.flags.c_contiguous and array.flags.aligned else np.require(array, requirements=["C", "A"])
    if data.nbytes == 0:
        data = np.zeros(1, np.uint64)  # an empty tensor needs an address too: NULL would mean "the session's own memory"
    keep.append(data)
    tensor.data, tensor.capacity = data.__array_interface__["data"][0], data.nbytes
    return tensor


def from_tensor(tensor: Any, copy: bool, owner: Any = None) -> Array:
    """The tensor as an array: a copy, or a view of memory that the session keeps until its next call. A view keeps `owner`."""
    shape = tuple(tensor.dims[:tensor.rank])
    count = math.prod(shape)
    if tensor.dtype == STRING:
        refs = (s.String * count).from_address(tensor.data) if count else ()
        texts = [ctypes.string_at(r.data, r.size).decode(errors="replace") if r.size else "" for r in refs]
        return np.array(texts, dtype=str).reshape(shape)
    kind = numpy_dtype(tensor.dtype)
    if count == 0:
        return np.zeros(shape, kind)
    if not tensor.data:
        return np.zeros(0, kind)  # it stays on its device
    size = -(-count // PACKED[tensor.dtype]) if tensor.dtype in PACKED else count * kind.itemsize
    memory = (ctypes.c_uint8 * size).from_address(tensor.data)
    setattr(memory, "owner", owner)  # by name: versions of mypy differ over attributes of ctypes arrays
    if tensor.dtype in PACKED:
        return unpack(np.frombuffer(memory, np.uint8), tensor.dtype, shape)
    array: Array = np.ndarray(shape, kind, memory)
    return array.copy() if copy else array
