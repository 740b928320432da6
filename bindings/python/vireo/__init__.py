"""Vireo from Python: load a .vireo file, ask what it takes, run it on numpy arrays.

    import numpy as np, vireo

    vireo.convert("digits.onnx", "digits.vireo", shape={"image": (1, 1, 32, 32)})
    model = vireo.Model("digits.vireo")
    session = model.session()
    logits, = session.run(image=np.zeros((1, 1, 32, 32), np.float32))

A thin layer over the C headers: arrays are read in place, errors of the library become exceptions that name node and tensor.
bfloat16 and float8 travel as uint16 and uint8 bits, 4- and 2-bit integers as int8 or uint8.
"""
try:
    import numpy as _numpy  # noqa: F401
except ImportError as _error:
    raise ImportError("vireo needs numpy, which this Python does not have: pip install numpy, or apt-get install python3-numpy") from _error
from ._convert import ConvertError, convert, program
from ._errors import VireoError
from ._fleet import Estimate, Finished, Load, Pipeline, RunFailed, Share, Split, estimate
from ._library import LIBRARY as _lib
from ._model import Memory, Model, Plan, Value
from ._options import Candidate, Preference, SessionOptions
from ._placement import Choice, Limits, PlacedNode, Verdict
from ._runtime import Device, Plugin, Runtime, Telemetry
from ._session import Bound, Node, Session
from ._trust import Signature, Trust
from ._version import __version__

__all__ = ["Bound", "Candidate", "Choice", "ConvertError", "Device", "Estimate", "Finished", "Limits", "Load", "Memory", "Model", "Node", "Pipeline",
           "PlacedNode", "Plan", "Plugin", "Preference", "RunFailed", "Runtime", "Session", "SessionOptions", "Share", "Signature", "Split", "Telemetry",
           "Trust", "Value", "Verdict", "VireoError", "__version__", "convert", "estimate", "program", "version"]


def version() -> str:
    """Of the library; __version__ is the package's."""
    v = _lib.vireo_version()
    return f"{v >> 16}.{v >> 8 & 255}.{v & 255}"
