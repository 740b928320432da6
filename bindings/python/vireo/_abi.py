"""The C API as ctypes sees it. Made by c_api/describe.py from c_api/api.json."""
from __future__ import annotations

import ctypes
from ctypes import (CFUNCTYPE, POINTER, c_char, c_char_p, c_double, c_float, c_int32, c_int64, c_size_t, c_uint16, c_uint32, c_uint64,
                    c_uint8, c_void_p)
from typing import Any, Dict, List, Tuple, Type, TypeVar

VERSION_MAJOR = 0
VERSION_MINOR = 1
VERSION_PATCH = 0
OK = 0
INVALID_ARGUMENT = 1
INVALID_MODEL = 2
UNSUPPORTED = 3
OUT_OF_ARENA = 4
DEVICE_LOST = 5
IO = 6
BUSY = 7
CANCELLED = 8
NONE = 0
FLOAT32 = 1
UINT8 = 2
INT8 = 3
UINT16 = 4
INT16 = 5
INT32 = 6
INT64 = 7
STRING = 8
BOOL = 9
FLOAT16 = 10
FLOAT64 = 11
UINT32 = 12
UINT64 = 13
COMPLEX64 = 14
COMPLEX128 = 15
BFLOAT16 = 16
FLOAT8E4M3FN = 17
FLOAT8E4M3FNUZ = 18
FLOAT8E5M2 = 19
FLOAT8E5M2FNUZ = 20
UINT4 = 21
INT4 = 22
FLOAT4E2M1 = 23
FLOAT8E8M0 = 24
UINT2 = 25
INT2 = 26
FLOAT6E2M3 = 27
FLOAT6E3M2 = 28
MAX_RANK = 8
LOG_ERROR = 0
LOG_WARNING = 1
LOG_INFO = 2
PROBE_ALWAYS = 0
PROBE_NEVER = 1
DEVICE_EMULATED = 1
DEVICE_UNIFIED = 2
DEVICE_MATRIX = 4
DEVICE_MEASURED = 8
MEANING_NONE = 0
MEANING_IMAGE = 1
MEANING_AUDIO = 2
MEANING_TOKENS = 3
MEANING_FEATURES = 4
MEANING_STATE = 5
PACKING_DEFAULT = 0
PACKING_ALWAYS = 1
PACKING_NEVER = 2
FAILOVER_DEFAULT = 0
FAILOVER_NEVER = 1
MATH_EXACT = 0
MATH_F16 = 1
PRIORITY_NORMAL = 0
PRIORITY_LOW = 1
PRIORITY_HIGH = 2
DEVICE_TIMEOUT_NS = 10000000000
CACHE_BYTES = 2147483648
PACKED_CONSTANT = 0
COMPILED_PART = 1
FLEET_DEVICES = 8
WHEN_FULL_WAIT = 0
WHEN_FULL_BUSY = 1
HANDLE_HOST = 1
HANDLE_FD = 2
HANDLE_OPAQUE_FD = 3
HANDLE_CUDA = 4
HANDLE_HIP = 5
HANDLE_OPENCL = 6
HANDLE_VULKAN = 7
HANDLE_VENDOR = 64
BUFFER_ALIGNMENT = 256
KEY_ID_BYTES = 8
KEY_BYTES = 32
POWER_UNKNOWN = 0
POWER_OFF = 1
POWER_IDLE = 2
POWER_BUSY = 3
POWER_THROTTLED = 4
DELEGATE_ABI = 6
CLAIM_JOINS = 1
CLAIM_STAYS = 2
PACKED_ON_DEVICE = 1
MAX_PACKED = 8
STEERING_ELEMENTS = 16

_Struct = TypeVar("_Struct", bound=ctypes.Structure)


def sized(kind: Type[_Struct]) -> _Struct:
    """A struct of zeros with struct_size set, as its _INIT macro gives it."""
    value = kind()
    setattr(value, "struct_size", ctypes.sizeof(kind))
    return value



class String(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("size", c_size_t)]


class Error(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("status", c_uint32), ("message", c_char * 320), ("node", c_char * 96), ("tensor", c_char * 96)]


class Tensor(ctypes.Structure):
    _fields_ = [("dtype", c_uint8), ("reserved0", c_uint8 * 7), ("rank", c_int32), ("reserved1", c_int32), ("dims", c_int64 * 8),
                ("data", c_void_p), ("capacity", c_int64)]

Allocator_allocate = CFUNCTYPE(c_void_p, c_void_p, c_size_t, c_size_t)

Allocator_release = CFUNCTYPE(None, c_void_p, c_void_p, c_size_t, c_size_t)


class Allocator(ctypes.Structure):
    _fields_ = [("allocate", Allocator_allocate), ("release", Allocator_release), ("context", c_void_p)]

ThreadPool_run = CFUNCTYPE(None, c_void_p, c_int64, c_int64, c_void_p, c_void_p)


class ThreadPool(ctypes.Structure):
    _fields_ = [("run", ThreadPool_run), ("pool", c_void_p), ("slots", c_int32)]

RuntimeOptions_log = CFUNCTYPE(None, c_void_p, c_uint32, c_char_p)


class RuntimeOptions(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("threads", c_int32), ("allocator", POINTER(Allocator)), ("thread_pool", POINTER(ThreadPool)),
                ("log", RuntimeOptions_log), ("log_context", c_void_p), ("plugins", c_char_p), ("plugin_cache", c_char_p),
                ("probe", c_uint32), ("probe_timeout_ms", c_uint32)]


class DeviceInfo(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("name", c_char_p), ("delegate", c_char_p), ("detail", c_char_p), ("vendor", c_char_p),
                ("family", c_char_p), ("driver", c_char_p), ("flags", c_uint32), ("trial_runs", c_uint32), ("types", c_uint64),
                ("memory_bytes", c_uint64), ("local_bytes", c_uint64), ("f32_rate", c_double), ("f16_rate", c_double),
                ("i8_rate", c_double), ("bandwidth", c_double), ("transfer", c_double), ("launch_ns", c_double), ("idle_watts", c_double),
                ("busy_watts", c_double), ("transfer_ns", c_double), ("max_buffer_bytes", c_uint64)]


class Rates(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("f32_rate", c_double), ("f16_rate", c_double), ("i8_rate", c_double), ("bandwidth", c_double),
                ("transfer", c_double), ("launch_ns", c_double), ("transfer_ns", c_double)]


class PluginInfo(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("device_count", c_uint32), ("path", c_char_p), ("reason", c_char_p)]


class ValueInfo(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("dtype", c_uint8), ("rank", c_int32), ("min_dims", c_int64 * 8), ("max_dims", c_int64 * 8),
                ("dim_names", c_char_p * 8), ("name", c_char_p), ("state_of", c_int32)]


class Meaning(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("kind", c_uint32), ("layout", c_char_p), ("color", c_char_p), ("resize", c_char_p),
                ("range_lo", c_float), ("range_hi", c_float), ("mean", POINTER(c_float)), ("std", POINTER(c_float)),
                ("mean_count", c_uint32), ("std_count", c_uint32), ("sample_rate", c_uint32)]


class ModelAbout(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("format_major", c_uint16), ("format_minor", c_uint16), ("integer_only", c_uint32),
                ("node_count", c_uint32), ("plan_count", c_uint32), ("segment_count", c_uint32), ("file_bytes", c_uint64),
                ("weight_bytes", c_uint64), ("source", c_char_p), ("producer", c_char_p), ("converter", c_char_p)]


class Dimension(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("name", c_char_p), ("min", c_int64), ("max", c_int64)]


class PlanInfo(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("usable", c_uint32), ("automatic", c_uint32), ("device_count", c_uint32), ("target", c_char_p),
                ("devices", c_char * 128), ("reason", c_char * 192)]


class Bound(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("min", c_int64), ("max", c_int64)]


class Candidate(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("key", c_uint64), ("node", c_char_p), ("device", c_char_p), ("kernel", c_char_p)]

Preference_rank = CFUNCTYPE(c_int32, c_void_p, POINTER(Candidate))

Preference_time_ns = CFUNCTYPE(c_double, c_void_p, POINTER(Candidate))


class Preference(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("context", c_void_p), ("rank", Preference_rank), ("time_ns", Preference_time_ns)]


class SessionOptions(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("device", c_char_p), ("bounds", POINTER(Bound)), ("bound_count", c_uint32),
                ("threads", c_int32), ("arena", c_void_p), ("arena_bytes", c_size_t), ("seed", c_uint64), ("profile", c_uint32),
                ("packing", c_uint32), ("preference", POINTER(Preference)), ("cache", c_char_p), ("cache_bytes", c_uint64),
                ("device_timeout_ns", c_uint64), ("failover", c_uint32), ("require", c_char_p), ("target", c_char_p), ("math", c_uint32),
                ("state_stays", c_uint32), ("priority", c_uint32), ("slice_ns", c_uint64)]


class Verdict(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("takes", c_uint32), ("allowed", c_uint32), ("device", c_char_p), ("kernel", c_char_p),
                ("reason", c_char_p), ("time_ns", c_double)]


class PlacedNode(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("depth", c_uint32), ("name", c_char_p), ("op", c_char_p), ("device", c_char_p),
                ("second", c_char_p), ("kernel", c_char_p), ("reason", c_char_p), ("dtype", c_uint8), ("part", c_uint32),
                ("part_nodes", c_uint32), ("part_ns", c_double), ("bytes_crossing", c_uint64), ("verdicts", POINTER(POINTER(Verdict))),
                ("verdict_count", c_uint32)]

PlacementVisitor_node = CFUNCTYPE(None, c_void_p, POINTER(PlacedNode))


class PlacementVisitor(ctypes.Structure):
    _fields_ = [("context", c_void_p), ("node", PlacementVisitor_node)]


class Limits(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("emulated", c_uint32), ("memory_bytes", c_uint64), ("latency_ns", c_double),
                ("energy_j", c_double), ("cost", c_double), ("vendors", c_char_p), ("prices", POINTER(c_double))]


class DeviceChoice(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("fits", c_uint32), ("devices", c_char * 64), ("reason", c_char * 192),
                ("expected_ns", c_double), ("source", c_char_p), ("energy_j", c_double), ("cost", c_double), ("memory_bytes", c_uint64),
                ("node_count", c_uint32), ("nodes_there", c_uint32)]


class Memory(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("total_bytes", c_size_t), ("tensor_bytes", c_size_t), ("scratch_bytes", c_size_t),
                ("state_bytes", c_size_t), ("lower_bound_bytes", c_size_t), ("packed_bytes", c_size_t), ("mapped_bytes", c_size_t),
                ("compiled_bytes", c_size_t), ("device_bytes", c_size_t), ("text_bytes", c_size_t), ("device_packed_bytes", c_size_t)]


class PackedCopy(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("layout", c_uint32), ("delegate", c_char_p), ("constant", c_uint64), ("sizes", c_int64 * 4),
                ("data", c_void_p), ("bytes", c_uint64), ("kind", c_uint32)]


class NodeInfo(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("name", c_char_p), ("op", c_char_p), ("device", c_char_p), ("kernel", c_char_p),
                ("reason", c_char_p), ("dtype", c_uint8), ("depth", c_uint32), ("calls", c_uint64), ("total_ns", c_uint64),
                ("key", c_uint64), ("operations", c_uint64), ("bytes", c_uint64)]


class Load(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("reserved", c_uint32), ("device", c_char * 32), ("nodes", c_uint32), ("timed", c_uint32),
                ("busy_ns", c_double)]


class Estimate(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("load_count", c_uint32), ("devices", c_char * 64), ("bottleneck", c_uint32),
                ("known", c_uint32), ("latency_ns", c_double), ("bottleneck_ns", c_double), ("runs_per_second", c_double),
                ("reason", c_char * 192)]


class PipelineOptions(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("depth", c_uint32), ("capacity", c_uint32), ("emulated", c_uint32),
                ("session", POINTER(SessionOptions)), ("allocator", POINTER(Allocator))]


class Finished(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("status", c_uint32), ("number", c_uint64), ("user", c_void_p), ("run_ns", c_uint64)]


class SplitOptions(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("device_count", c_uint32), ("devices", POINTER(c_char_p)), ("weights", POINTER(c_double)),
                ("deterministic", c_uint32), ("reserved", c_uint32), ("batch", c_int64), ("session", POINTER(SessionOptions)),
                ("allocator", POINTER(Allocator))]


class Share(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("lost", c_uint32), ("device", c_char * 64), ("weight", c_double), ("rows", c_int64),
                ("most_rows", c_int64), ("row_ns", c_double)]


class Handle(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("kind", c_uint32), ("value", c_uint64), ("offset", c_uint64), ("bytes", c_uint64)]


class Signature(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("verified", c_uint32), ("key", c_uint8 * 8), ("revision", c_uint64), ("present", c_uint32),
                ("encrypted", c_uint32)]

Trust_public_key = CFUNCTYPE(c_uint32, c_void_p, POINTER(c_uint8), POINTER(c_uint8))

Trust_accept = CFUNCTYPE(c_uint32, c_void_p, POINTER(Signature))

Trust_secret_key = CFUNCTYPE(c_uint32, c_void_p, POINTER(c_uint8), POINTER(c_uint8))


class Trust(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("require", c_uint32), ("context", c_void_p), ("public_key", Trust_public_key),
                ("accept", Trust_accept), ("secret_key", Trust_secret_key)]


class Telemetry(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("resets", c_uint32), ("submits", c_uint64), ("busy_ns", c_uint64), ("energy_nj", c_uint64),
                ("memory_used", c_uint64), ("temperature_c", c_double), ("clock_mhz", c_double), ("power", c_uint32),
                ("reserved", c_uint32)]


FUNCTIONS: Dict[str, Tuple[Any, List[Any]]] = {  # name: (result, parameters)
    "vireo_version": (c_uint32, []),
    "vireo_status_text": (c_char_p, [c_uint32]),
    "vireo_dtype_text": (c_char_p, [c_uint8]),
    "vireo_dtype_bytes": (c_int64, [c_uint8, c_int64]),
    "vireo_tensor_of": (Tensor, [c_uint8, POINTER(c_int64), c_int32, c_void_p, c_size_t]),
    "vireo_runtime_create": (c_uint32, [POINTER(RuntimeOptions), POINTER(c_void_p), POINTER(Error)]),
    "vireo_runtime_release": (None, [c_void_p]),
    "vireo_runtime_device_count": (c_uint32, [c_void_p]),
    "vireo_runtime_device": (c_uint32, [c_void_p, c_uint32, POINTER(DeviceInfo), POINTER(Error)]),
    "vireo_runtime_set_rates": (c_uint32, [c_void_p, c_uint32, POINTER(Rates), POINTER(Error)]),
    "vireo_runtime_plugin_count": (c_uint32, [c_void_p]),
    "vireo_runtime_plugin": (c_uint32, [c_void_p, c_uint32, POINTER(PluginInfo), POINTER(Error)]),
    "vireo_model_load_file": (c_uint32, [c_void_p, c_char_p, POINTER(c_void_p), POINTER(Error)]),
    "vireo_model_load_memory": (c_uint32, [c_void_p, c_void_p, c_size_t, POINTER(c_void_p), POINTER(Error)]),
    "vireo_model_release": (None, [c_void_p]),
    "vireo_model_check_hashes": (c_uint32, [c_void_p, POINTER(Error)]),
    "vireo_model_input_count": (c_uint32, [c_void_p]),
    "vireo_model_output_count": (c_uint32, [c_void_p]),
    "vireo_model_input": (c_uint32, [c_void_p, c_uint32, POINTER(ValueInfo), POINTER(Error)]),
    "vireo_model_output": (c_uint32, [c_void_p, c_uint32, POINTER(ValueInfo), POINTER(Error)]),
    "vireo_model_find_input": (c_int32, [c_void_p, c_char_p]),
    "vireo_model_find_output": (c_int32, [c_void_p, c_char_p]),
    "vireo_model_input_meaning": (c_uint32, [c_void_p, c_uint32, POINTER(Meaning), POINTER(Error)]),
    "vireo_model_output_meaning": (c_uint32, [c_void_p, c_uint32, POINTER(Meaning), POINTER(Error)]),
    "vireo_model_describe": (c_uint32, [c_void_p, POINTER(ModelAbout), POINTER(Error)]),
    "vireo_model_dimension_count": (c_uint32, [c_void_p]),
    "vireo_model_dimension": (c_uint32, [c_void_p, c_uint32, POINTER(Dimension), POINTER(Error)]),
    "vireo_model_plan_count": (c_uint32, [c_void_p]),
    "vireo_model_plan": (c_uint32, [c_void_p, c_uint32, POINTER(PlanInfo), POINTER(Error)]),
    "vireo_model_test_count": (c_uint32, [c_void_p]),
    "vireo_model_placement": (c_uint32, [c_void_p, POINTER(SessionOptions), POINTER(PlacementVisitor), POINTER(Error)]),
    "vireo_model_devices": (c_uint32, [c_void_p, POINTER(SessionOptions), POINTER(Limits), POINTER(DeviceChoice), c_uint32,
                                       POINTER(c_uint32), POINTER(Error)]),
    "vireo_model_memory": (c_uint32, [c_void_p, POINTER(SessionOptions), POINTER(Memory), POINTER(Error)]),
    "vireo_session_create": (c_uint32, [c_void_p, POINTER(SessionOptions), POINTER(c_void_p), POINTER(Error)]),
    "vireo_session_release": (None, [c_void_p]),
    "vireo_model_packed_count": (c_uint32, [c_void_p]),
    "vireo_model_packed": (c_uint32, [c_void_p, c_uint32, POINTER(PackedCopy), POINTER(Error)]),
    "vireo_session_input": (c_uint32, [c_void_p, c_uint32, POINTER(Tensor), POINTER(Error)]),
    "vireo_session_input_shape": (c_uint32, [c_void_p, c_uint32, POINTER(c_int64), c_int32, POINTER(Error)]),
    "vireo_session_run": (c_uint32, [c_void_p, POINTER(Tensor), c_uint32, POINTER(Tensor), c_uint32, POINTER(Error)]),
    "vireo_session_cancel": (None, [c_void_p]),
    "vireo_session_reset": (c_uint32, [c_void_p, POINTER(Error)]),
    "vireo_session_reserve": (c_uint32, [POINTER(c_void_p), POINTER(Bound), c_uint32, POINTER(Error)]),
    "vireo_session_node_count": (c_uint32, [c_void_p]),
    "vireo_session_node": (c_uint32, [c_void_p, c_uint32, POINTER(NodeInfo), POINTER(Error)]),
    "vireo_session_failover_count": (c_uint32, [c_void_p]),
    "vireo_session_selftest": (c_uint32, [c_void_p, c_uint32, POINTER(Error)]),
    "vireo_fleet_estimate": (c_uint32, [c_void_p, POINTER(SessionOptions), c_uint32, POINTER(Estimate), POINTER(Load), c_uint32,
                                        POINTER(Error)]),
    "vireo_pipeline_create": (c_uint32, [c_void_p, POINTER(PipelineOptions), POINTER(c_void_p), POINTER(Error)]),
    "vireo_pipeline_release": (None, [c_void_p]),
    "vireo_pipeline_submit": (c_uint32, [c_void_p, POINTER(Tensor), c_uint32, POINTER(Tensor), c_uint32, c_void_p, c_uint32,
                                         POINTER(Error)]),
    "vireo_pipeline_wait": (c_uint32, [c_void_p, c_uint64, POINTER(Finished), POINTER(Error)]),
    "vireo_pipeline_cancel": (None, [c_void_p]),
    "vireo_pipeline_estimate": (c_uint32, [c_void_p, POINTER(Estimate), POINTER(Load), c_uint32, POINTER(Error)]),
    "vireo_pipeline_depth": (c_uint32, [c_void_p]),
    "vireo_pipeline_loads": (c_uint32, [c_void_p, POINTER(Load), c_uint32, POINTER(c_uint32), POINTER(Error)]),
    "vireo_split_create": (c_uint32, [c_void_p, POINTER(SplitOptions), POINTER(c_void_p), POINTER(Error)]),
    "vireo_split_release": (None, [c_void_p]),
    "vireo_split_run": (c_uint32, [c_void_p, POINTER(Tensor), c_uint32, POINTER(Tensor), c_uint32, POINTER(Error)]),
    "vireo_split_share": (c_uint32, [c_void_p, c_uint32, POINTER(Share), POINTER(Error)]),
    "vireo_buffer_create": (c_uint32, [c_void_p, c_uint32, c_uint64, POINTER(c_void_p), POINTER(Error)]),
    "vireo_buffer_import": (c_uint32, [c_void_p, c_uint32, POINTER(Handle), POINTER(c_void_p), POINTER(Error)]),
    "vireo_buffer_release": (None, [c_void_p]),
    "vireo_buffer_bytes": (c_uint64, [c_void_p]),
    "vireo_buffer_export": (c_uint32, [c_void_p, c_uint32, POINTER(Handle), POINTER(Error)]),
    "vireo_buffer_write": (c_uint32, [c_void_p, c_uint64, c_void_p, c_uint64, POINTER(Error)]),
    "vireo_buffer_read": (c_uint32, [c_void_p, c_uint64, c_void_p, c_uint64, POINTER(Error)]),
    "vireo_session_bind_input": (c_uint32, [c_void_p, c_uint32, c_void_p, c_uint64, POINTER(Error)]),
    "vireo_session_bind_output": (c_uint32, [c_void_p, c_uint32, c_void_p, c_uint64, POINTER(Error)]),
    "vireo_runtime_set_trust": (c_uint32, [c_void_p, POINTER(Trust), POINTER(Error)]),
    "vireo_model_signature": (c_uint32, [c_void_p, POINTER(Signature), POINTER(Error)]),
    "vireo_runtime_telemetry": (c_uint32, [c_void_p, c_uint32, POINTER(Telemetry), POINTER(Error)]),
}
