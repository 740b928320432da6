"""The C library as ctypes sees it: structs and functions of vireo/vireo.h, in the header's order."""
import ctypes
import os
import pathlib
import sys
from ctypes import POINTER, byref, c_char, c_char_p, c_double, c_float, c_int32, c_int64, c_size_t, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p

MAX_RANK = 8
HEADER_VERSION = (0, 1)  # of the vireo.h that the structs below follow


class Error(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("status", c_uint32), ("message", c_char * 320), ("node", c_char * 96), ("tensor", c_char * 96)]


class String(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("size", c_size_t)]


class Tensor(ctypes.Structure):
    _fields_ = [("dtype", c_uint8), ("reserved0", c_uint8 * 7), ("rank", c_int32), ("reserved1", c_int32),
                ("dims", c_int64 * MAX_RANK), ("data", c_void_p), ("capacity", c_int64)]


class RuntimeOptions(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("threads", c_int32), ("allocator", c_void_p), ("thread_pool", c_void_p),
                ("log", c_void_p), ("log_context", c_void_p), ("plugins", c_char_p), ("plugin_cache", c_char_p), ("probe", c_uint32), ("probe_timeout_ms", c_uint32)]


class DeviceInfo(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("name", c_char_p), ("delegate", c_char_p), ("detail", c_char_p), ("vendor", c_char_p),
                ("family", c_char_p), ("driver", c_char_p), ("flags", c_uint32), ("reserved", c_uint32), ("types", c_uint64),
                ("memory_bytes", c_uint64), ("local_bytes", c_uint64), ("f32_rate", c_double), ("f16_rate", c_double), ("i8_rate", c_double),
                ("bandwidth", c_double), ("transfer", c_double), ("launch_ns", c_double), ("idle_watts", c_double), ("busy_watts", c_double)]


class ValueInfo(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("dtype", c_uint8), ("rank", c_int32), ("min_dims", c_int64 * MAX_RANK),
                ("max_dims", c_int64 * MAX_RANK), ("dim_names", c_char_p * MAX_RANK), ("name", c_char_p), ("state_of", c_int32)]


class Meaning(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("kind", c_uint32), ("layout", c_char_p), ("color", c_char_p), ("resize", c_char_p),
                ("range_lo", c_float), ("range_hi", c_float), ("mean", POINTER(c_float)), ("std", POINTER(c_float)),
                ("mean_count", c_uint32), ("std_count", c_uint32), ("sample_rate", c_uint32)]


class About(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("format_major", c_uint16), ("format_minor", c_uint16), ("integer_only", c_uint32),
                ("node_count", c_uint32), ("plan_count", c_uint32), ("segment_count", c_uint32), ("file_bytes", c_uint64),
                ("weight_bytes", c_uint64), ("source", c_char_p), ("producer", c_char_p), ("converter", c_char_p)]


class Bound(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("min", c_int64), ("max", c_int64)]


class SessionOptions(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("device", c_char_p), ("bounds", POINTER(Bound)), ("bound_count", c_uint32), ("threads", c_int32),
                ("arena", c_void_p), ("arena_bytes", c_size_t), ("seed", c_uint64), ("profile", c_uint32), ("packing", ctypes.c_int),
                ("preference", c_void_p), ("cache", c_char_p), ("cache_bytes", c_uint64),
                ("device_timeout_ns", c_uint64), ("failover", c_int32), ("require", c_char_p), ("target", c_char_p)]


class Memory(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("total_bytes", c_size_t), ("tensor_bytes", c_size_t), ("scratch_bytes", c_size_t),
                ("state_bytes", c_size_t), ("lower_bound_bytes", c_size_t), ("packed_bytes", c_size_t), ("mapped_bytes", c_size_t),
                ("compiled_bytes", c_size_t), ("device_bytes", c_size_t)]


class NodeInfo(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("name", c_char_p), ("op", c_char_p), ("device", c_char_p), ("kernel", c_char_p),
                ("reason", c_char_p), ("dtype", c_uint8), ("depth", c_uint32), ("calls", c_uint64), ("total_ns", c_uint64),
                ("key", c_uint64), ("operations", c_uint64), ("bytes", c_uint64)]


def sized(kind):
    """A struct of the C API with struct_size set."""
    value = kind()
    value.struct_size = ctypes.sizeof(kind)
    return value


_E = POINTER(Error)
_FUNCTIONS = {  # name: (result, arguments)
    "vireo_version": (c_uint32, []),
    "vireo_status_text": (c_char_p, [c_uint32]),
    "vireo_runtime_create": (c_uint32, [POINTER(RuntimeOptions), POINTER(c_void_p), _E]),
    "vireo_runtime_release": (None, [c_void_p]),
    "vireo_runtime_device_count": (c_uint32, [c_void_p]),
    "vireo_runtime_device": (c_uint32, [c_void_p, c_uint32, POINTER(DeviceInfo), _E]),
    "vireo_model_load_file": (c_uint32, [c_void_p, c_char_p, POINTER(c_void_p), _E]),
    "vireo_model_load_memory": (c_uint32, [c_void_p, c_void_p, c_size_t, POINTER(c_void_p), _E]),
    "vireo_model_release": (None, [c_void_p]),
    "vireo_model_check_hashes": (c_uint32, [c_void_p, _E]),
    "vireo_model_input_count": (c_uint32, [c_void_p]),
    "vireo_model_output_count": (c_uint32, [c_void_p]),
    "vireo_model_input": (c_uint32, [c_void_p, c_uint32, POINTER(ValueInfo), _E]),
    "vireo_model_output": (c_uint32, [c_void_p, c_uint32, POINTER(ValueInfo), _E]),
    "vireo_model_input_meaning": (c_uint32, [c_void_p, c_uint32, POINTER(Meaning), _E]),
    "vireo_model_output_meaning": (c_uint32, [c_void_p, c_uint32, POINTER(Meaning), _E]),
    "vireo_model_describe": (c_uint32, [c_void_p, POINTER(About), _E]),
    "vireo_model_test_count": (c_uint32, [c_void_p]),
    "vireo_model_memory": (c_uint32, [c_void_p, POINTER(SessionOptions), POINTER(Memory), _E]),
    "vireo_session_create": (c_uint32, [c_void_p, POINTER(SessionOptions), POINTER(c_void_p), _E]),
    "vireo_session_release": (None, [c_void_p]),
    "vireo_session_input": (c_uint32, [c_void_p, c_uint32, POINTER(Tensor), _E]),
    "vireo_session_input_shape": (c_uint32, [c_void_p, c_uint32, POINTER(c_int64), c_int32, _E]),
    "vireo_session_run": (c_uint32, [c_void_p, POINTER(Tensor), POINTER(Tensor), _E]),
    "vireo_session_cancel": (None, [c_void_p]),
    "vireo_session_reset": (c_uint32, [c_void_p, _E]),
    "vireo_session_reserve": (c_uint32, [POINTER(c_void_p), POINTER(Bound), c_uint32, _E]),
    "vireo_session_node_count": (c_uint32, [c_void_p]),
    "vireo_session_node": (c_uint32, [c_void_p, c_uint32, POINTER(NodeInfo), _E]),
    "vireo_session_selftest": (c_uint32, [c_void_p, c_uint32, _E]),
}


def _candidates():
    """Where the library may be: VIREO_LIBRARY, beside this package (a wheel), the build tree, the system's own search."""
    name = {"darwin": "libvireo.dylib", "win32": "vireo.dll"}.get(sys.platform, "libvireo.so")
    if "VIREO_LIBRARY" in os.environ:
        yield os.environ["VIREO_LIBRARY"]
        return
    here = pathlib.Path(__file__).resolve().parent
    yield here / name
    root = here.parents[2]
    for build in [root, *sorted(root.glob("build/*"))]:  # <build>/python/vireo, or the source tree
        yield build / "lib" / name
    prefix = here.parents[3]  # <prefix>/share/vireo/python/vireo, as cmake --install puts it
    for folder in ["lib", "lib64", *sorted(str(p.relative_to(prefix)) for p in prefix.glob("lib/*-linux-*"))]:
        yield prefix / folder / name
    yield name if sys.platform != "linux" else name + ".0"


def load():
    tried = []
    for candidate in _candidates():
        if isinstance(candidate, pathlib.Path) and not candidate.exists():
            continue
        try:
            library = ctypes.CDLL(str(candidate))
            break
        except OSError as failure:
            tried.append(f"{candidate}: {failure}")
    else:
        raise ImportError("libvireo was not found; build it (cmake --workflow --preset release) or set VIREO_LIBRARY to its path. "
                          + "; ".join(tried))
    for function, (result, arguments) in _FUNCTIONS.items():
        entry = getattr(library, function)
        entry.restype, entry.argtypes = result, arguments
    version = library.vireo_version()
    if (version >> 16, version >> 8 & 255) != HEADER_VERSION:
        raise ImportError(f"libvireo is version {version >> 16}.{version >> 8 & 255}, this package wants {HEADER_VERSION[0]}.{HEADER_VERSION[1]}")
    return library


LIBRARY = load()
__all__ = ["LIBRARY", "sized", "byref"]
