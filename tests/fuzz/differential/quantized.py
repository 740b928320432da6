"""Makers of operators on quantised numbers. Scales are powers of two, so that products of them and what is divided by them are exact
and the tie rule alone decides: two right roundings of one value agree."""
import numpy as np
from onnx import TensorProto

from case import Constant, array_of, elem_of, maker, numpy_type
from network import filters
from reduction import image

SCALES = (0.25, 0.5, 1.0, 2.0, 0.125)
EIGHT = (TensorProto.UINT8, TensorProto.INT8)


def full(c, shape, elem):
    return c.array(shape, elem, -128, 255)


def point(c, elem, shape=()):
    return c.array(shape, elem, -8, 8)


@maker("QuantizeLinear", exact=True)
def quantize_linear(c):
    x = c.x(c.schema.inputs[0].type_str, low_rank=1)
    shape = array_of(x).shape
    to = c.t(c.schema.inputs[2].type_str)
    axis = c.axis(len(shape))
    attributes, along = granularity(c, shape, axis)
    scale_elem = c.types[c.schema.inputs[0].type_str] if "T3" not in {i.type_str for i in c.schema.inputs} else elem_of(array_of(x))
    if c.schema.inputs[1].type_str == "tensor(float)":
        scale_elem = TensorProto.FLOAT
    elif c.schema.inputs[1].type_str != c.schema.inputs[0].type_str:
        c.types[c.schema.inputs[1].type_str] = scale_elem
    scale = c.rng.choice(SCALES, along).astype(numpy_type(scale_elem))
    zero = None if to == TensorProto.UINT8 and c.chance(0.3) else point(c, to, along)
    if np.dtype(numpy_type(to)).name.startswith("float") and zero is not None:
        zero = np.zeros(along, numpy_type(to))
    c.result_types[0] = to
    return [x, scale, zero], attributes


def granularity(c, shape, axis):
    """(attributes, shape of the scales): per tensor, per axis, or in blocks."""
    kind = c.one("tensor", "axis", "axis", "block")
    if kind == "tensor" or c.version < 13:
        return {}, ()
    if kind == "axis" or c.version < 21:
        return {"axis": c.one(None, axis) if axis == 1 else axis}, (shape[axis],)
    divisors = [k for k in range(1, shape[axis] + 1) if shape[axis] % k == 0]
    if not divisors:
        c.unfit()
    block = c.one(*divisors)
    along = list(shape)
    along[axis] = shape[axis] // block
    return {"axis": axis, "block_size": block}, tuple(along)


@maker("DequantizeLinear", exact=True)
def dequantize_linear(c):
    elem = c.t(c.schema.inputs[0].type_str)
    shape = c.shape(1, 4)
    attributes, along = granularity(c, shape, c.axis(len(shape)))
    scale = c.rng.choice(SCALES, along).astype(numpy_type(c.t(c.schema.inputs[1].type_str)))
    zero = point(c, elem, along) if c.chance(0.7) else None
    if zero is not None and (elem == TensorProto.INT32 or zero.dtype.kind not in "iu" and "int" not in zero.dtype.name):
        zero = np.zeros(along, numpy_type(elem))
    if c.version >= 10 and c.version < 19:
        c.result_types[0] = TensorProto.FLOAT
    elif "T2" in {i.type_str for i in c.schema.inputs}:
        c.result_types[0] = c.types["T2"]
    return [full(c, shape, elem), scale, zero], attributes


@maker("DynamicQuantizeLinear")
def dynamic_quantize(c):
    c.results = 3
    c.result_types = {0: TensorProto.UINT8, 1: TensorProto.FLOAT, 2: TensorProto.UINT8}
    c.atol = 1.01
    x = c.x("T1")
    if array_of(x).size == 0:
        c.unfit()
    return [x], {}


@maker("MatMulInteger", exact=True)
def matmul_integer(c):
    a, b = c.one(*EIGHT), c.one(*EIGHT)
    c.types.update(T1=a, T2=b)
    m, k, n = c.size(), c.size(), c.size()
    lead = c.shape(0, 2)
    return [full(c, (*lead, m, k), a), full(c, (k, n), b), point(c, a, c.one((), ())) if c.chance(0.6) else None,
            point(c, b, c.one((), (n,))) if c.chance(0.5) else None], {}


@maker("QLinearMatMul", exact=True)
def qlinear_matmul(c):
    a, b, y = c.one(*EIGHT), c.one(*EIGHT), c.one(*EIGHT)
    c.types.update(T1=a, T2=b, T3=y)
    if c.version >= 21:
        c.types["TS"] = TensorProto.FLOAT
    m, k, n = c.size(), c.size(), c.size()
    lead = c.shape(0, 2)
    scale = lambda shape: Constant(c.rng.choice(SCALES, shape), "float32")
    per = c.one((), (n,))
    return [full(c, (*lead, m, k), a), scale(()), Constant(point(c, a), numpy_type(a)), full(c, (k, n), b), scale(per),
            Constant(point(c, b, per), numpy_type(b)), Constant(np.float32(c.one(64, 256, 16)), "float32"), Constant(point(c, y), numpy_type(y))], {}


@maker("ConvInteger", exact=True)
def conv_integer(c):
    a, b = c.one(*EIGHT), c.one(*EIGHT)
    c.types.update(T1=a, T2=b)
    shape = image(c, 3, 4)
    group, ins, outs, attributes = filters(c, shape[2:])
    return [full(c, (shape[0], ins, *shape[2:]), a), full(c, (outs, ins // group, *attributes["kernel_shape"]), b),
            Constant(point(c, a), numpy_type(a)) if c.chance(0.7) else None, Constant(point(c, b, ()), numpy_type(b)) if c.chance(0.5) else None], {**attributes, "group": group}


@maker("QLinearConv", exact=True)
def qlinear_conv(c):
    a, b, y = c.one(*EIGHT), c.one(*EIGHT), c.one(*EIGHT)
    c.types.update(T1=a, T2=b, T3=y)
    shape = image(c, 3, 4)
    group, ins, outs, attributes = filters(c, shape[2:])
    scale = lambda of: Constant(c.rng.choice(SCALES, of), "float32")
    per = c.one((), (outs,))
    zero = lambda elem, of=(): Constant(point(c, elem, of), numpy_type(elem))
    weights = zero(b, ())
    if per:
        weights = Constant(np.full(per, weights.array), numpy_type(b))
    return [full(c, (shape[0], ins, *shape[2:]), a), scale(()), zero(a), full(c, (outs, ins // group, *attributes["kernel_shape"]), b), scale(per), weights,
            Constant(np.float32(c.one(64, 256, 16)), "float32"), zero(y), c.array((outs,), TensorProto.INT32, -1000, 1000) if c.chance(0.5) else None], {**attributes, "group": group}


