"""Makers of operators on signals."""
import numpy as np
from onnx import TensorProto

from case import Constant, maker, numpy_type


@maker("DFT")
def dft(c):
    rank = c.one(2, 3, 4)
    shape = [c.draw.randint(1, 6) for _ in range(rank - 1)] + [c.one(1, 2)]
    axis = c.draw.randrange(rank - 1)
    inverse = c.one(None, 0, 1)
    onesided = 1 if shape[-1] == 1 and not inverse and c.chance(0.4) else c.one(None, 0)
    length = Constant(np.asarray(c.draw.randint(1, 8)), numpy_type(c.t("T2"))) if c.chance(0.4) else None
    c.atol = 1e-4
    x = c.array(shape, c.t("T1"))
    if c.version < 20:
        return [x, length], {"axis": axis, "inverse": inverse, "onesided": onesided}
    return [x, length, Constant(np.asarray(axis - (rank if c.chance(0.4) else 0)))], {"inverse": inverse, "onesided": onesided}


@maker("STFT")
def stft(c):
    frame, step = c.draw.randint(1, 8), c.draw.randint(1, 5)
    elem = c.t("T1")
    index = numpy_type(c.t("T2"))
    c.atol = 1e-4
    window = c.array((frame,), elem) if c.chance(0.5) else None
    real = c.one((1,), ())  # without the last extent, as torch.stft was exported and ONNX Runtime takes it
    return [c.array((c.size(), frame + c.draw.randint(0, 20), *real), elem), Constant(np.asarray(step), index), window,
            Constant(np.asarray(frame), index) if window is None or c.chance(0.5) else None], {"onesided": c.one(None, 0, 1)}


@maker("HannWindow", "HammingWindow", "BlackmanWindow")
def window_of(c):
    to = c.one(None, TensorProto.FLOAT, TensorProto.DOUBLE)
    c.result_types[0] = to or TensorProto.FLOAT
    return [Constant(np.asarray(c.draw.randint(2, 20)), numpy_type(c.t("T1")))], {"periodic": c.one(None, 0, 1), "output_datatype": to}


@maker("MelWeightMatrix")
def mel(c):
    c.result_types[0] = TensorProto.FLOAT
    index = numpy_type(c.t("T1"))
    real = numpy_type(c.t("T2", {TensorProto.FLOAT}))
    c.atol = 1e-4
    return [Constant(np.asarray(v), index) for v in (c.draw.randint(1, 8), c.one(16, 32, 64), c.one(8000, 16000))] + [
        Constant(np.asarray(v), real) for v in (float(c.one(0, 100)), float(c.one(2000, 4000)))], {}
