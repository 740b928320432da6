"""The C library: where it is, its functions with their types, and its structs."""
from __future__ import annotations

import ctypes
import os
import pathlib
import sys
from ctypes import POINTER, c_char_p, c_double, c_int32, c_int64, c_size_t, c_uint8, c_uint32, c_uint64, c_void_p
from typing import Any, Iterator, Union

from . import _structs as s

HEADER_VERSION = (0, 1)  # of the headers that _structs.py follows

_E = POINTER(s.Error)
_P = POINTER(c_void_p)
_FUNCTIONS = {  # name: (result, arguments)
    "vireo_version": (c_uint32, []),
    "vireo_status_text": (c_char_p, [c_uint32]),
    "vireo_runtime_create": (c_uint32, [POINTER(s.RuntimeOptions), _P, _E]),
    "vireo_runtime_release": (None, [c_void_p]),
    "vireo_runtime_device_count": (c_uint32, [c_void_p]),
    "vireo_runtime_device": (c_uint32, [c_void_p, c_uint32, POINTER(s.DeviceInfo), _E]),
    "vireo_model_load_file": (c_uint32, [c_void_p, c_char_p, _P, _E]),
    "vireo_model_load_memory": (c_uint32, [c_void_p, c_void_p, c_size_t, _P, _E]),
    "vireo_model_release": (None, [c_void_p]),
    "vireo_model_check_hashes": (c_uint32, [c_void_p, _E]),
    "vireo_model_input_count": (c_uint32, [c_void_p]),
    "vireo_model_output_count": (c_uint32, [c_void_p]),
    "vireo_model_input": (c_uint32, [c_void_p, c_uint32, POINTER(s.ValueInfo), _E]),
    "vireo_model_output": (c_uint32, [c_void_p, c_uint32, POINTER(s.ValueInfo), _E]),
    "vireo_model_input_meaning": (c_uint32, [c_void_p, c_uint32, POINTER(s.Meaning), _E]),
    "vireo_model_output_meaning": (c_uint32, [c_void_p, c_uint32, POINTER(s.Meaning), _E]),
    "vireo_model_describe": (c_uint32, [c_void_p, POINTER(s.About), _E]),
    "vireo_model_test_count": (c_uint32, [c_void_p]),
    "vireo_model_memory": (c_uint32, [c_void_p, POINTER(s.SessionOptions), POINTER(s.Memory), _E]),
    "vireo_session_create": (c_uint32, [c_void_p, POINTER(s.SessionOptions), _P, _E]),
    "vireo_session_release": (None, [c_void_p]),
    "vireo_session_input": (c_uint32, [c_void_p, c_uint32, POINTER(s.Tensor), _E]),
    "vireo_session_input_shape": (c_uint32, [c_void_p, c_uint32, POINTER(c_int64), c_int32, _E]),
    "vireo_session_run": (c_uint32, [c_void_p, POINTER(s.Tensor), POINTER(s.Tensor), _E]),
    "vireo_session_cancel": (None, [c_void_p]),
    "vireo_session_reset": (c_uint32, [c_void_p, _E]),
    "vireo_session_reserve": (c_uint32, [_P, POINTER(s.Bound), c_uint32, _E]),
    "vireo_session_node_count": (c_uint32, [c_void_p]),
    "vireo_session_node": (c_uint32, [c_void_p, c_uint32, POINTER(s.NodeInfo), _E]),
    "vireo_session_selftest": (c_uint32, [c_void_p, c_uint32, _E]),
    "vireo_dtype_text": (c_char_p, [c_uint8]),
    "vireo_runtime_telemetry": (c_uint32, [c_void_p, c_uint32, POINTER(s.Telemetry), _E]),
    "vireo_runtime_set_rates": (c_uint32, [c_void_p, c_uint32, POINTER(s.Rates), _E]),
    "vireo_runtime_plugin_count": (c_uint32, [c_void_p]),
    "vireo_runtime_plugin": (c_uint32, [c_void_p, c_uint32, POINTER(s.PluginInfo), _E]),
    "vireo_runtime_set_trust": (c_uint32, [c_void_p, POINTER(s.Trust), _E]),
    "vireo_model_dimension_count": (c_uint32, [c_void_p]),
    "vireo_model_dimension": (c_uint32, [c_void_p, c_uint32, POINTER(s.Dimension), _E]),
    "vireo_model_plan_count": (c_uint32, [c_void_p]),
    "vireo_model_plan": (c_uint32, [c_void_p, c_uint32, POINTER(s.PlanInfo), _E]),
    "vireo_model_placement": (c_uint32, [c_void_p, POINTER(s.SessionOptions), POINTER(s.PlacementVisitor), _E]),
    "vireo_model_devices": (c_uint32, [c_void_p, POINTER(s.SessionOptions), POINTER(s.Limits), POINTER(s.DeviceChoice), c_uint32, POINTER(c_uint32), _E]),
    "vireo_model_signature": (c_uint32, [c_void_p, POINTER(s.Signature), _E]),
    "vireo_session_failover_count": (c_uint32, [c_void_p]),
    "vireo_fleet_estimate": (c_uint32, [c_void_p, POINTER(s.SessionOptions), c_uint32, POINTER(s.Estimate), _E]),
    "vireo_pipeline_create": (c_uint32, [c_void_p, POINTER(s.PipelineOptions), _P, _E]),
    "vireo_pipeline_release": (None, [c_void_p]),
    "vireo_pipeline_submit": (c_uint32, [c_void_p, POINTER(s.Tensor), POINTER(s.Tensor), c_void_p, c_uint32, _E]),
    "vireo_pipeline_wait": (c_uint32, [c_void_p, c_uint64, POINTER(s.Finished), _E]),
    "vireo_pipeline_cancel": (None, [c_void_p]),
    "vireo_pipeline_estimate": (c_uint32, [c_void_p, POINTER(s.Estimate), _E]),
    "vireo_pipeline_depth": (c_uint32, [c_void_p]),
    "vireo_pipeline_loads": (c_uint32, [c_void_p, POINTER(s.Load), c_uint32, POINTER(c_uint32), _E]),
    "vireo_split_create": (c_uint32, [c_void_p, POINTER(s.SplitOptions), _P, _E]),
    "vireo_split_release": (None, [c_void_p]),
    "vireo_split_run": (c_uint32, [c_void_p, POINTER(s.Tensor), POINTER(s.Tensor), _E]),
    "vireo_split_share": (c_uint32, [c_void_p, c_uint32, POINTER(s.Share), _E]),
}


def _candidates() -> Iterator[Union[str, pathlib.Path]]:
    """Where the library may be: VIREO_LIBRARY, in this package (a wheel) or beside it, the build tree, the system's own search."""
    name = {"darwin": "libvireo.dylib", "win32": "vireo.dll"}.get(sys.platform, "libvireo.so")
    if "VIREO_LIBRARY" in os.environ:
        yield os.environ["VIREO_LIBRARY"]
        return
    here = pathlib.Path(__file__).resolve().parent
    yield here / "lib" / name  # a wheel
    yield here / name
    root = here.parents[2]
    for build in [root, *sorted(root.glob("build/*"))]:  # <build>/python/vireo, or the source tree
        yield build / "lib" / name
    prefix = here.parents[3]  # <prefix>/share/vireo/python/vireo, as cmake --install puts it
    for folder in ["lib", "lib64", *sorted(str(p.relative_to(prefix)) for p in prefix.glob("lib/*-linux-*"))]:
        yield prefix / folder / name
    yield name if sys.platform != "linux" else name + ".0"


def load() -> Any:
    tried = []
    here = pathlib.Path(__file__).resolve().parent
    for candidate in _candidates():
        if isinstance(candidate, pathlib.Path) and not candidate.exists():
            continue
        try:
            library = ctypes.CDLL(str(candidate))
            break
        except OSError as failure:
            tried.append(f"{candidate}: {failure}")
            if isinstance(candidate, pathlib.Path) and candidate.parent == here / "lib":  # not another library under this package
                raise ImportError(f"{failure}: a library of the system that libvireo needs is missing; install it (the wheel's metadata names "
                                  "all of them: Requires-External)") from failure
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
