"""Makers of operators that go element by element, and of those that choose among elements by their values."""
import numpy as np
from onnx import TensorProto

from case import FLOATS, Constant, array_of, maker, numpy_type

INTS = {TensorProto.INT8, TensorProto.INT16, TensorProto.INT32, TensorProto.INT64, TensorProto.UINT8, TensorProto.UINT16,
        TensorProto.UINT32, TensorProto.UINT64}
ALPHAS = (0.0, 1.0, 0.5, -0.25, 2.0, 0.01)


def coefficients(c):
    """Half the operator's float attributes drawn, the others left at their defaults."""
    attributes = {}
    for name, attribute in c.schema.attributes.items():
        if attribute.type.name == "FLOAT" and c.chance(0.5):
            attributes[name] = c.one(*ALPHAS)
    return attributes


@maker("Abs", "Ceil", "Floor", "Identity", "Neg", "Relu", "Round", "Sign", "Not", "BitwiseNot", "IsNaN", chain=True, exact=True)
def exact_unary(c):
    return [c.x(c.schema.inputs[0].type_str, special=True)], {}


@maker("LeakyRelu", "ThresholdedRelu", "Shrink", "HardSigmoid", "HardSwish", "Elu", "Celu", "Selu", "Sigmoid", "Softplus", "Softsign",
       "Tanh", "Erf", "Exp", "Sin", "Cos", "Atan", "Asinh", "Sinh", "Cosh", "Mish", "Swish", chain=True)
def smooth_unary(c):
    attributes = coefficients(c)
    if c.schema.name == "Celu" and "alpha" in attributes:
        attributes["alpha"] = c.one(0.5, 1.0, 2.0)  # the formula divides by it
    x = c.x(c.schema.inputs[0].type_str, special=c.schema.name != "Shrink")  # x - bias at an integer's limits is not defined
    return [x], attributes


@maker("Gelu", chain=True)
def gelu(c):
    return [c.x(special=True)], {"approximate": c.one(None, "none", "tanh")}


@maker("Acos", "Asin", "Atanh", "Acosh", "Log", "Sqrt", "Reciprocal", "Tan")
def bounded_unary(c):
    low, high = {"Acosh": (1, 8), "Log": (0.25, 9), "Sqrt": (0, 9), "Reciprocal": (0.25, 4), "Tan": (-1.25, 1.25)}.get(c.schema.name, (-1, 1))
    return [c.x("T", special=True, low=low, high=high)], {}


@maker("IsInf", chain=True, exact=True)
def is_inf(c):
    return [c.x("T1", special=True)], {"detect_negative": c.one(None, 0, 1), "detect_positive": c.one(None, 0, 1)}


def pair(c, variable, **how):
    """Two arrays that broadcast together, the first perhaps pinned."""
    if c.pinned is not None:
        a = c.x(variable, **how)
        shape = array_of(a).shape
        b = tuple(1 if c.chance(0.3) else s for s in shape[c.draw.randint(0, len(shape)):])
        return a, c.array(b, c.t(variable), how.get("low", -4), how.get("high", 4))
    a, b = c.broadcast(2)
    first = c.x(variable, shape=a, **how)
    return first, c.array(b, c.t(variable), how.get("low", -4), how.get("high", 4), how.get("special"))


def need_numpy_broadcast(c):
    if c.version < 7:
        c.unfit()


@maker("Add", "Sub", "Mul", "And", "Or", "Xor", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Equal", "Less", "Greater", "LessOrEqual",
       "GreaterOrEqual", chain=True, exact=True)
def binary(c):
    need_numpy_broadcast(c)
    a, b = pair(c, "T", special=True)
    return ([a, b] if c.chance(0.7) else [b, a]), {}


@maker("Div")
def div(c):
    need_numpy_broadcast(c)
    a, b = c.broadcast(2)
    elem = c.t("T")
    over = c.array(b, elem, -4, 4, special=elem in FLOATS)
    if elem not in FLOATS:
        over = np.where(over == 0, 1, over).astype(over.dtype)
    return [c.array(a, elem, -40, 40, special=elem in FLOATS), over], {}


@maker("Pow")
def power(c):
    need_numpy_broadcast(c)
    a, b = c.broadcast(2)
    base = c.t("T")
    exponent = c.t("T1") if c.version >= 12 else base
    whole = base not in FLOATS or exponent not in FLOATS
    # An integer result has no value for what is below 1 and for roots of negative numbers.
    low = -3 if base not in FLOATS and exponent not in FLOATS or exponent not in FLOATS else 0.25
    return [c.array(a, base, low, 3), c.array(b, exponent, 0 if whole and base not in FLOATS else -2, 3)], {}


@maker("Mod")
def mod(c):
    elem = c.t("T")
    a, b = c.broadcast(2)
    over = c.array(b, elem, -5, 5)
    over = np.where(over == 0, np.asarray(3, over.dtype), over).astype(over.dtype)
    return [c.array(a, elem, -40, 40), over], {"fmod": 1 if elem in FLOATS else c.one(None, 0, 1)}


@maker("BitShift", exact=True)
def bit_shift(c):
    elem = c.t("T")
    a, b = c.broadcast(2)
    return [c.array(a, elem, 0, 200, special=True), c.array(b, elem, 0, numpy_type(elem).itemsize * 8 - 1)], {"direction": c.one("LEFT", "RIGHT")}


@maker("Min", "Max", "Sum", "Mean")
def variadic(c):
    if c.version < 8:
        shape = c.shape()
        shapes = [shape] * c.one(1, 2, 3)
    else:
        shapes = c.broadcast(c.one(1, 2, 2, 3, 4))
    elem = c.t("T")
    return [c.array(s, elem, special=c.schema.name in ("Min", "Max")) for s in shapes], {}


@maker("PRelu", chain=True)
def prelu(c):
    need_numpy_broadcast(c)
    x = c.x(special=True)
    shape = array_of(x).shape
    slope = tuple(1 if c.chance(0.3) else s for s in shape[c.draw.randint(0, len(shape)):])
    return [x, c.array(slope, c.t("T"))], {}


@maker("Where", exact=True)
def where(c):
    shapes = c.broadcast(3)
    elem = c.t("T")
    return [c.array(shapes[0], TensorProto.BOOL), c.array(shapes[1], elem, special=True), c.array(shapes[2], elem, special=True)], {}


@maker("Clip", chain=True, exact=True)
def clip(c):
    x = c.x()
    if c.version < 11:
        return [x], {"min": c.one(None, -1.0, 0.0), "max": c.one(None, 1.0, 2.0)}
    elem = c.t("T")
    low = np.asarray(c.one(0, 1, 2), numpy_type(elem)) if c.chance(0.7) else None
    high = np.asarray(c.one(1, 2, 3), numpy_type(elem)) if c.chance(0.7) else None
    return [x, low, high], {}


@maker("Cast", chain=True, exact=True)
def cast(c):
    """To where every value has an answer: negative numbers to unsigned types, and numbers out of range, are left out."""
    x = c.x("T1", low=0, high=1 if c.chance(0.2) else 4)
    to = c.t("T2")
    values = array_of(x)
    if values.dtype == object:
        texts = c.array(values.shape, TensorProto.INT32, 0, 100)
        x = np.array([str(v) for v in texts.reshape(-1)], object).reshape(values.shape)
    elif values.dtype.kind not in "b" and to not in FLOATS and values.size and (not np.all(np.isfinite(values.astype(np.float64))) or
                                                                             values.astype(np.float64).min() < 0 or values.astype(np.float64).max() > 100):
        c.unfit()
    if c.version < 6:
        c.unfit()
    c.result_types[0] = to
    return [x], {"to": to, "saturate": c.one(None, 0, 1) if c.version >= 19 else None}


@maker("CastLike", exact=True)
def cast_like(c):
    x = c.x("T1", low=0, high=4)
    values = array_of(x)
    if values.dtype == object:
        c.unfit()
    return [x, c.array(c.shape(), c.t("T2"))], {}


@maker("BitCast", exact=True)
def bit_cast(c):
    x = c.x("T1", special=True)
    width = array_of(x).dtype.itemsize
    to = c.t("T2")
    if elem_width(to) != width or elem_width(c.t("T1")) != width:
        c.unfit()
    c.result_types[0] = to
    return [x], {"to": to}


def elem_width(elem):
    return numpy_type(elem).itemsize


@maker("Dropout", chain=True, exact=True)
def dropout(c):
    x = c.x("T")
    if c.version < 12:
        if c.version < 7:
            c.unfit()
        return [x], {"ratio": c.one(None, 0.0, 0.5)}
    ratio = Constant(np.asarray(0.5, numpy_type(c.t("T1"))), numpy_type(c.t("T1"))) if c.chance(0.5) else None
    c.results = c.one(1, 2)
    mode = Constant(False, bool) if c.chance(0.3) else None
    return [x, ratio, mode], {}
