"""The structs of the C headers as ctypes sees them, in the headers' order."""
from __future__ import annotations

import ctypes
from ctypes import CFUNCTYPE, POINTER, c_char, c_char_p, c_double, c_float, c_int32, c_int64, c_size_t, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p
from typing import Type, TypeVar

MAX_RANK = 8

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


LOG = CFUNCTYPE(None, c_void_p, ctypes.c_int, c_char_p)


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

class Dimension(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("name", c_char_p), ("min", c_int64), ("max", c_int64)]


class PlanInfo(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("usable", c_uint32), ("automatic", c_uint32), ("device_count", c_uint32), ("target", c_char_p),
                ("devices", c_char * 128), ("reason", c_char * 192)]


class Rates(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("f32_rate", c_double), ("f16_rate", c_double), ("i8_rate", c_double), ("bandwidth", c_double),
                ("transfer", c_double), ("launch_ns", c_double)]


class PluginInfo(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("device_count", c_uint32), ("path", c_char_p), ("reason", c_char_p)]


class Candidate(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("key", c_uint64), ("node", c_char_p), ("device", c_char_p), ("kernel", c_char_p)]


RANK = CFUNCTYPE(c_int32, c_void_p, POINTER(Candidate))
TIME_NS = CFUNCTYPE(c_double, c_void_p, POINTER(Candidate))


class Preference(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("context", c_void_p), ("rank", RANK), ("time_ns", TIME_NS)]


class Verdict(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("takes", c_uint32), ("allowed", c_uint32), ("device", c_char_p), ("kernel", c_char_p),
                ("reason", c_char_p), ("time_ns", c_double)]


class PlacedNode(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("depth", c_uint32), ("name", c_char_p), ("op", c_char_p), ("device", c_char_p), ("second", c_char_p),
                ("kernel", c_char_p), ("reason", c_char_p), ("dtype", c_uint8), ("part", c_uint32), ("part_nodes", c_uint32), ("part_ns", c_double),
                ("bytes_crossing", c_uint64), ("verdicts", POINTER(Verdict)), ("verdict_count", c_uint32)]


VISIT = CFUNCTYPE(None, c_void_p, POINTER(PlacedNode))


class PlacementVisitor(ctypes.Structure):
    _fields_ = [("context", c_void_p), ("node", VISIT)]


class Limits(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("emulated", c_uint32), ("memory_bytes", c_uint64), ("latency_ns", c_double), ("energy_j", c_double),
                ("cost", c_double), ("vendors", c_char_p), ("prices", POINTER(c_double))]


class DeviceChoice(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("fits", c_uint32), ("devices", c_char * 64), ("reason", c_char * 192), ("expected_ns", c_double),
                ("source", c_char_p), ("energy_j", c_double), ("cost", c_double), ("memory_bytes", c_uint64), ("node_count", c_uint32),
                ("nodes_there", c_uint32)]


# ---- trust.h ----

class Signature(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("verified", c_uint32), ("key", c_uint8 * 8), ("revision", c_uint64), ("present", c_uint32),
                ("encrypted", c_uint32)]


KEY = CFUNCTYPE(c_uint32, c_void_p, POINTER(c_uint8), POINTER(c_uint8))
ACCEPT = CFUNCTYPE(c_uint32, c_void_p, POINTER(Signature))


class Trust(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("require", c_uint32), ("context", c_void_p), ("public_key", KEY), ("accept", ACCEPT),
                ("secret_key", KEY)]


# ---- telemetry.h ----

class Telemetry(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("resets", c_uint32), ("submits", c_uint64), ("busy_ns", c_uint64), ("energy_nj", c_uint64),
                ("memory_used", c_uint64), ("temperature_c", c_double), ("clock_mhz", c_double), ("power", c_uint32), ("reserved", c_uint32)]


# ---- fleet.h ----

FLEET_DEVICES = 8


class Load(ctypes.Structure):
    _fields_ = [("device", c_char * 32), ("nodes", c_uint32), ("timed", c_uint32), ("busy_ns", c_double)]


class Estimate(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("load_count", c_uint32), ("devices", c_char * 64), ("loads", Load * FLEET_DEVICES),
                ("bottleneck", c_uint32), ("known", c_uint32), ("latency_ns", c_double), ("bottleneck_ns", c_double),
                ("runs_per_second", c_double), ("reason", c_char * 192)]


class PipelineOptions(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("depth", c_uint32), ("capacity", c_uint32), ("emulated", c_uint32),
                ("session", POINTER(SessionOptions)), ("allocator", c_void_p)]


class Finished(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("status", c_uint32), ("number", c_uint64), ("user", c_void_p), ("run_ns", c_uint64)]


class SplitOptions(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("device_count", c_uint32), ("devices", POINTER(c_char_p)), ("weights", POINTER(c_double)),
                ("deterministic", c_uint32), ("reserved", c_uint32), ("batch", c_int64), ("session", POINTER(SessionOptions)),
                ("allocator", c_void_p)]


class Share(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("lost", c_uint32), ("device", c_char * 64), ("weight", c_double), ("rows", c_int64),
                ("most_rows", c_int64), ("row_ns", c_double)]


_Struct = TypeVar("_Struct", bound=ctypes.Structure)


def sized(kind: Type[_Struct]) -> _Struct:
    """A struct of the C API with struct_size set."""
    value = kind()
    setattr(value, "struct_size", ctypes.sizeof(kind))
    return value
