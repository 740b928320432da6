"""Makers of several nodes that one rewrite of the converter may take together: chains of drawn nodes seldom have such a
shape."""
import math

import numpy as np
from onnx import TensorProto, defs, helper

from case import Constant, pattern


def add(c, name, inputs, version=None, **attributes):
    """The name of the result of a node on arrays, constants, and names of results."""
    plain = [v.array if isinstance(v, Constant) else v for v in inputs]
    given = [v if isinstance(v, str) else c.give(v) for v in inputs]
    y = c.fresh("p")
    c.nodes.append(helper.make_node(name, given, [y], **attributes))
    c.operators.append(("", name, defs.get_schema(name, c.opset, "").since_version, attributes, plain))
    return y


def fed(c, array):
    """An input: constant codes would be folded, or take another rewrite."""
    name = c.fresh("x")
    c.infos.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape))
    c.feed[name] = array
    return name


def either_way(c, a, b):
    return [a, b] if c.chance(0.5) else [b, a]


def number(value, dtype="float32"):
    return Constant(value, dtype)


def step(c, x):
    """A function that both sides round correctly, so that codes agree to the last."""
    name = c.one("Floor", "Ceil", "Round", "Sign", "Mod", "ThresholdedRelu", "Shrink", "Clip", "Abs", "Neg", "Relu",
                 "Add", "Sub", "Mul", "Div", "Min", "Max", "PRelu", "LeakyRelu")
    some = number(c.one(0.1, 0.3, 0.5, 1.0, 2.0, 3.0, -1.0, -0.7))
    if name == "Sign":
        return add(c, "Sign", [add(c, "Sub", [x, some])])
    if name == "Mod":
        return add(c, "Mod", [x, some], fmod=1)
    if name == "ThresholdedRelu":
        return add(c, name, [x], alpha=c.one(0.1, 0.5, 1.0, 2.0))
    if name == "LeakyRelu":
        return add(c, name, [x], alpha=c.one(0.1, 0.01, 0.5))
    if name == "Shrink":
        return add(c, name, [x], lambd=c.one(0.3, 0.5, 1.0), bias=c.one(0.0, 0.1, 0.5))
    if name == "Clip":
        return clip(c, x, "float32")
    if name in ("Sub", "Mul", "Add", "Min", "Max"):
        return add(c, name, either_way(c, x, some))
    return add(c, name, [x, some] if name in ("Div", "PRelu") else [x])


def clip(c, x, dtype):
    """Bounds that are crossed now and then: "all the 'input' values to the value of 'max'"."""
    below = 0 if dtype == "uint8" else -1
    low = number(c.one(0, 0, 1, below, 2), dtype) if c.chance(0.8) else ""
    high = number(c.one(below, 0, 1, 2, 6), dtype) if c.chance(0.8) else ""
    return add(c, "Clip", [x, low, high])


@pattern("QuantizedSteps")
def quantized_steps(c):
    """Functions between DequantizeLinear and QuantizeLinear, at scales that are no powers of two: where a value lies at
    a step of the function, or halfway between two codes, its rounding to float32 decides."""
    signed = c.chance(0.5)
    codes = np.arange(-128, 128).astype("int8") if signed else np.arange(256).astype("uint8")
    to = "int8" if c.chance(0.5) else "uint8"
    scale = c.draw.randint(1, 40) * c.one(0.01, 0.01, 0.005)
    zero = c.draw.randint(-8, 8) if signed else c.draw.randint(100, 140)
    x = add(c, "DequantizeLinear", [fed(c, codes), number(scale), Constant(zero, codes.dtype)])
    for _ in range(c.one(1, 1, 2, 3)):
        x = step(c, x)
    zero = Constant(c.draw.randint(-8, 8) if to == "int8" else c.draw.randint(100, 140), to)
    y = add(c, "QuantizeLinear", [x, number(c.one(1.0, 0.5, 0.25, 0.1, 0.3, 0.04, 0.07)), zero])
    return [(y, TensorProto.INT8 if to == "int8" else TensorProto.UINT8, False)]


@pattern("PaddedMaximum")
def padded_maximum(c):
    """MaxPool behind a Pad with 0, which a window may take over if nothing there is negative."""
    dtype = c.one("float32", "float32", "float64", "int8", "uint8")
    elem = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    x = c.array((1, c.size(), c.draw.randint(2, 5), c.draw.randint(2, 5)), elem, -128, 127)
    if dtype == "int8" and c.chance(0.5):
        x[...] = -128
    make = c.one("Clip", "Clip", "Abs", "Relu", "none") if dtype != "uint8" else c.one("Clip", "none")
    if dtype == "int8" and make == "Relu":
        c.unfit()
    x = clip(c, x, dtype) if make == "Clip" else x if make == "none" else add(c, make, [x])
    x = add(c, "Pad", [x, Constant([0, 0, c.one(0, 1), 1, 0, 0, 1, c.one(0, 1)])])
    y = add(c, "MaxPool", [x], kernel_shape=[2, 2], strides=[c.one(1, 2)] * 2)
    return [(y, elem, False)]


@pattern("ClippedProduct")
def clipped_product(c):
    """A Clip that a product's kernel may take over with its bounds."""
    ch = c.one(1, 3, 8, 16)
    if c.chance(0.5):
        w = c.array((c.one(1, 4, 16), ch, *c.one((1, 1), (3, 3))), TensorProto.FLOAT)
        x = add(c, "Conv", [c.array((1, ch, 5, 6), TensorProto.FLOAT), number(w)])
    else:
        w = c.array((ch, c.one(1, 5, 16)), TensorProto.FLOAT)
        x = add(c, "MatMul", [c.array((c.size(), ch), TensorProto.FLOAT), number(w)])
    return [(clip(c, x, "float32"), TensorProto.FLOAT, False)]


def rounded(c, value):
    """`value` as float64 has it, or float32."""
    return number(value if c.chance(0.6) else float(np.float32(value)), "float64")


@pattern("Float64Function")
def float64_function(c):
    """What exporters spell out with constants, in float64: float attributes have too few digits for some of them."""
    c.atol, c.rtol = 1e-13, 1e-12
    x = add(c, "Identity", [c.array((c.size(), 4 * c.size()), TensorProto.DOUBLE, real=True)])
    one, half = number(1, "float64"), number(0.5, "float64")
    kind = c.one("swish", "swish", "silu", "gelu", "hard", "softplus", "norm", "attention")
    if kind == "swish":
        factor = c.one(1.702, 0.1, 1 / 3, 1.0, 0.5, -1.5)
        scaled = (add(c, "Div", [x, rounded(c, 1 / factor)]) if c.chance(0.3)
                  else add(c, "Mul", either_way(c, x, rounded(c, factor))))
        y = add(c, "Mul", either_way(c, x, add(c, "Sigmoid", [scaled])))
    elif kind == "silu":
        less = add(c, "Neg", [x]) if c.chance(0.5) else add(c, "Mul", [x, rounded(c, c.one(-1, -1.000001))])
        sum_ = add(c, "Add", either_way(c, add(c, "Exp", [less]), number(c.one(1, 1.000001), "float64")))
        y = add(c, "Div", [c.one(x, one), sum_])
    elif kind == "gelu":
        cube = add(c, "Mul", [add(c, "Pow", [x, number(3, "float64")]), rounded(c, 0.044715)])
        inner = add(c, "Mul", [add(c, "Add", [x, cube]), rounded(c, math.sqrt(2 / math.pi))])
        y = add(c, "Mul", [add(c, "Mul", [x, half]), add(c, "Add", [add(c, "Tanh", [inner]), one])])
    elif kind == "hard":
        six = number(6, "float64")
        gate = add(c, "Clip", [add(c, "Add", [x, number(c.one(3, 3.000001), "float64")]), number(0, "float64"), six])
        gate = add(c, "Div", [gate, six]) if c.chance(0.5) else add(c, "Mul", [gate, rounded(c, 1 / 6)])
        y = add(c, "Mul", either_way(c, x, gate)) if c.chance(0.5) else gate
    elif kind == "softplus":
        y = add(c, "Log", [add(c, "Add", [add(c, "Exp", [x]), number(c.one(1, 1.000001), "float64")])])
    elif kind == "norm":
        last = {"axes": [-1]} if c.opset < 18 else {}
        axes = [] if c.opset < 18 else [Constant([-1])]
        d = add(c, "Sub", [x, add(c, "ReduceMean", [x, *axes], **last)])
        mean = add(c, "ReduceMean", [add(c, "Mul", [d, d]), *axes], **last)
        y = add(c, "Div", [d, add(c, "Sqrt", [add(c, "Add", [mean, rounded(c, c.one(1e-5, 0.1, 0.25))])])])
    else:
        shape = (1, 2, c.draw.randint(1, 5), 4)
        q, k, v = (c.array(shape, TensorProto.DOUBLE, real=True) for _ in range(3))
        turned = add(c, "Transpose", [k], perm=[0, 1, 3, 2])
        if c.chance(0.3):
            turned = add(c, "Mul", [turned, rounded(c, c.one(0.5, 0.3))])
        scores = add(c, "Mul", [add(c, "MatMul", [q, turned]), rounded(c, c.one(0.5, 0.1, 1 / math.sqrt(8)))])
        y = add(c, "MatMul", [add(c, "Softmax", [scores], axis=-1), v])
    return [(y, TensorProto.DOUBLE, False)]
