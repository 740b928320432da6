"""Random models of one or two nodes, as exporters write them: operators, attributes and extents drawn from those of real models.

case(seed) -> Case: an ONNX model and inputs for it. The same seed gives the same case, on every machine.
"""
import dataclasses

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

CHANNELS = (1, 3, 8, 16, 24, 32, 40, 48, 64, 68, 80, 96, 128, 160, 192, 256, 320, 384, 512)
SIDES = (1, 2, 4, 7, 10, 13, 14, 16, 18, 20, 21, 28, 32, 40, 44, 56, 64, 80, 96, 112)
TOKENS = (1, 2, 5, 8, 16, 21, 32, 50, 64, 77, 100, 128, 197, 256, 400)
WIDTHS = (5, 16, 32, 54, 64, 96, 128, 192, 256, 312, 384, 512, 768)
BATCHES = (1, 1, 1, 1, 2, 4, 8)
MOST_ELEMENTS = 1 << 20
MOST_MACS = 1 << 28


class TooLarge(Exception):
    """Drawn again."""


@dataclasses.dataclass
class Case:
    seed: int
    kind: str  # the operators
    text: str  # and their extents
    model: onnx.ModelProto
    feeds: dict
    bounds: dict


class Draw:
    def __init__(self, seed, opened=None, nodes=None):
        self.rng = np.random.default_rng(seed)
        wanted_open, wanted_nodes = bool(self.rng.random() < 0.3), 1 + int(self.rng.random() < 0.4)
        self.opened = wanted_open if opened is None else opened
        self.count = wanted_nodes if nodes is None else nodes
        self.nodes, self.inputs, self.constants, self.feeds, self.bounds, self.words = [], [], [], {}, {}, []
        self.names = 0

    def pick(self, *values):
        values = values[0] if len(values) == 1 else values
        return values[int(self.rng.integers(len(values)))]

    def chance(self, share):
        return bool(self.rng.random() < share)

    def name(self):
        self.names += 1
        return f"v{self.names}"

    def values(self, shape, dtype, low=-2.0, high=2.0):
        if int(np.prod(shape)) > MOST_ELEMENTS:
            raise TooLarge
        dtype = np.dtype(dtype)
        if dtype.kind == "f":
            return self.rng.uniform(low, high, shape).astype(dtype)
        if dtype.kind == "b":
            return self.rng.random(shape) < 0.5
        return self.rng.integers(int(low), int(high) + 1, shape).astype(dtype)

    def input(self, shape, dtype=np.float32, low=-2.0, high=2.0, open_axes=(0,)):
        name, value = self.name(), self.values(shape, dtype, low, high)
        dims = list(shape)
        for axis in open_axes if self.opened else ():
            symbol = f"d{len(self.bounds)}"
            self.bounds[symbol] = dims[axis]
            dims[axis] = symbol
        self.inputs.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), dims))
        self.feeds[name] = value
        self.words.append("x".join(map(str, shape)))
        return name

    def constant(self, value):
        name = self.name()
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def weights(self, *shape):
        return self.constant(self.values(shape, np.float32, -0.1, 0.1))

    def node(self, op, inputs, outputs=1, **attributes):
        names = [self.name() for _ in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, names, **attributes))
        self.words.append(op + (" " + " ".join(f"{k}={v}".replace(" ", "") for k, v in attributes.items()) if attributes else ""))
        return names[0] if outputs == 1 else names

    def image(self, dtype=np.float32, low=-2.0, high=2.0):
        return [self.pick(BATCHES), self.pick(CHANNELS), self.pick(SIDES), self.pick(SIDES)]

    def rows(self):
        return [self.pick(BATCHES), self.pick(TOKENS), self.pick(WIDTHS)]

    def any_shape(self):
        return self.pick(self.image, self.rows, lambda: [self.pick(TOKENS), self.pick(WIDTHS)])()


def limit(macs):
    if macs > MOST_MACS:
        raise TooLarge


def conv(d):
    rank = d.pick(1, 2, 2, 2, 2, 3)
    n, c = d.pick(BATCHES), d.pick(CHANNELS)
    size = [d.pick(SIDES) for _ in range(rank)] if rank > 1 else [d.pick(100, 256, 500, 1000, 3000)]
    kernel = [d.pick(1, 1, 3, 3, 3, 5, 7)] * rank if d.chance(0.7) else [d.pick(1, 2, 3, 4, 5, 9, 13) for _ in range(rank)]
    groups = c if d.chance(0.25) else 2 if c % 2 == 0 and d.chance(0.1) else 1
    filters = c if groups == c else d.pick(CHANNELS) * groups
    dilation, stride = d.pick(1, 1, 1, 2, 4), d.pick(1, 1, 1, 2)
    pad = [(k - 1) * dilation // 2 if d.chance(0.8) else 0 for k in kernel]
    if any((k - 1) * dilation + 1 > s + 2 * p for k, s, p in zip(kernel, size, pad)):
        raise TooLarge
    limit(n * filters * c // groups * int(np.prod(kernel)) * int(np.prod(size)))
    x = d.input([n, c, *size], open_axes=d.pick((0,), tuple(range(2, 2 + rank))))
    w = d.weights(filters, c // groups, *kernel)
    return d.node("Conv", [x, w, d.weights(filters)], strides=[stride] * rank, dilations=[dilation] * rank, pads=pad * 2, group=groups)


def conv_transpose(d):
    n, c, h, w = d.image()
    filters, k, stride = d.pick(CHANNELS), d.pick(2, 3, 4), d.pick(1, 2, 2)
    limit(n * c * h * w * filters * k * k)
    return d.node("ConvTranspose", [d.input([n, c, h, w]), d.weights(c, filters, k, k)], strides=[stride, stride])


def matmul(d):
    m, k, n = d.pick(TOKENS), d.pick(WIDTHS), d.pick(WIDTHS)
    limit(m * k * n * 8)
    way = d.pick("weights", "weights", "both", "left", "vector", "partly")
    batch = d.pick(1, 2, 4, 8)
    if way == "weights":
        return d.node("MatMul", [d.input([batch, m, k], open_axes=d.pick((0,), (1,))), d.weights(k, n)])
    if way == "left":
        return d.node("MatMul", [d.weights(m, k), d.input([batch, k, n])])
    if way == "vector":
        return d.node("MatMul", [d.input([k], open_axes=()), d.weights(k, n)])
    if way == "partly":
        return d.node("MatMul", [d.input([batch, 1, m, k], open_axes=()), d.input([1, batch, k, 32], open_axes=())])
    return d.node("MatMul", [d.input([batch, m, k], open_axes=()), d.input([batch, k, n], open_axes=())])


def gemm(d):
    m, k, n = d.pick(TOKENS), d.pick(WIDTHS), d.pick(WIDTHS)
    limit(m * k * n)
    turned = d.pick(0, 1)
    return d.node("Gemm", [d.input([m, k]), d.weights(*((n, k) if turned else (k, n))), d.weights(n)], transB=turned)


def unary(d):
    op = d.pick("Abs", "Ceil", "Cos", "Elu", "Erf", "Exp", "Floor", "HardSigmoid", "HardSwish", "LeakyRelu", "Log", "Celu", "Neg", "Not",
                "Reciprocal", "Relu", "Round", "Selu", "Sigmoid", "Sign", "Sin", "Softplus", "Softsign", "Sqrt", "Tan", "Tanh", "ThresholdedRelu")
    if op == "Not":
        if d.count == 2:  # what follows computes with numbers
            raise TooLarge
        return d.node(op, [d.input(d.any_shape(), bool)])
    return d.node(op, [d.input(d.any_shape(), low=0.1 if op in ("Log", "Sqrt") else -2.0)])


def binary(d):
    shape = d.any_shape()
    op = d.pick("Add", "Sub", "Mul", "Div", "Pow", "Min", "Max", "Mod", "Less", "Greater", "Equal", "PRelu")
    dtype = np.float32 if op in ("Div", "Pow", "PRelu") else d.pick(np.int64, np.int32) if op == "Mod" else d.pick(np.float32, np.float32, np.int64, np.int32)
    other = [s if d.chance(0.5) else 1 for s in shape] if d.chance(0.7) else shape
    x = d.input(shape, dtype, low=0.1 if op == "Pow" else 1, high=9)
    if d.chance(0.5):
        y = d.constant(d.values(other, dtype, 1, 9))
    else:
        y = d.input(other, dtype, 1, 9, open_axes=())
        if d.opened:
            raise TooLarge
    return d.node(op, [x, y])


def where(d):
    shape = d.any_shape()
    return d.node("Where", [d.input(shape, bool, open_axes=()), d.input(shape, open_axes=()), d.constant(np.float32(0))])


def reduce(d):
    shape = d.any_shape()
    op = d.pick("ReduceMean", "ReduceMax", "ReduceMin", "ReduceL2", "ReduceProd", "ReduceL1", "ReduceLogSumExp")
    axes = d.pick([-1], [1], [len(shape) - 2, len(shape) - 1], [0])
    return d.node(op, [d.input(shape)], axes=axes, keepdims=d.pick(0, 1))


def arg(d):
    return d.node(d.pick("ArgMax", "ArgMin"), [d.input(d.any_shape())], axis=d.pick(-1, 1), keepdims=d.pick(0, 1))


def norm(d):
    op = d.pick("Softmax", "LogSoftmax", "LayerNormalization", "InstanceNormalization", "BatchNormalization", "LpNormalization", "LRN")
    if op in ("InstanceNormalization", "BatchNormalization", "LRN"):
        shape = d.image()
        c = shape[1]
        x, one = d.input(shape), d.constant(np.ones(c, np.float32))
        if op == "LRN":
            return d.node(op, [x], size=5)
        return d.node(op, [x, one, one] if op == "InstanceNormalization" else [x, one, d.weights(c), d.weights(c), one])
    shape = d.any_shape()
    x = d.input(shape)
    return d.node(op, [x, d.weights(shape[-1]), d.weights(shape[-1])]) if op == "LayerNormalization" else d.node(op, [x], axis=d.pick(-1, 1))


def pool(d):
    n, c, h, w = d.image()
    op = d.pick("MaxPool", "MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool")
    dtype = d.pick(np.float32, np.float32, np.uint8, np.int8) if op == "MaxPool" else np.float32
    x = d.input([n, c, h, w], dtype, *((0, 100) if dtype != np.float32 else ()))
    if op.startswith("Global"):
        return d.node(op, [x])
    k, stride = d.pick([1, 1], [2, 2], [3, 3], [1, 3], [5, 5]), d.pick([1, 1], [2, 2], [1, 4])
    if k[0] > h or k[1] > w:
        raise TooLarge
    return d.node(op, [x], kernel_shape=k, strides=stride, pads=[(k[0] - 1) // 2, (k[1] - 1) // 2] * 2)


def resize(d):
    n, c, h, w = d.image()
    limit(n * c * h * w * 64)
    factor = d.pick(2.0, 2.0, 1.5, 0.5)
    dtype = d.pick(np.float32, np.float32, np.uint8)
    mode = d.pick("nearest", "linear")
    if min(h, w) * factor < 1:
        raise TooLarge
    x = d.input([n, c, h, w], dtype, 0, 100)
    way = "asymmetric" if mode == "nearest" else d.pick("half_pixel", "align_corners")
    return d.node("Resize", [x, "", d.constant(np.array([1, 1, factor, factor], np.float32))], mode=mode, coordinate_transformation_mode=way,
                  **({"nearest_mode": "floor"} if mode == "nearest" else {}))


def pad(d):
    shape = d.any_shape()
    mode = d.pick("constant", "constant", "reflect", "edge")
    most = [min(3, s - 1) if mode == "reflect" else 3 for s in shape]
    pads = [d.pick(range(0, m + 1)) if i >= len(shape) - 2 else 0 for i, m in enumerate(most)] * 2
    return d.node("Pad", [d.input(shape), d.constant(np.array(pads, np.int64))], mode=mode)


def move(d):
    shape = d.any_shape()
    rank = len(shape)
    dtype = d.pick(np.float32, np.float32, np.int64, np.uint8)
    x = d.input(shape, dtype, 0, 100)
    way = d.pick("Transpose", "Concat", "Slice", "Split", "Tile", "Expand", "Gather", "DepthToSpace", "Trilu", "CumSum", "Cast")
    if way == "Transpose":
        return d.node(way, [x], perm=[int(p) for p in d.rng.permutation(rank)])
    if way == "Concat":
        return d.node(way, [x, d.constant(d.values(shape, dtype, 0, 9))], axis=d.pick(range(1, rank))) if not d.opened else d.node(way, [x, x], axis=1)
    if way == "Slice":
        axis = d.pick(range(1, rank))
        return d.node(way, [x] + [d.constant(np.array([v], np.int64)) for v in (shape[axis] // 4, shape[axis], axis, d.pick(1, 1, 2))])
    if way == "Split":
        axis = next((a for a in range(1, rank) if shape[a] % 2 == 0), None)
        if axis is None:
            raise TooLarge
        return d.node(way, [x], outputs=2, axis=axis)[0]
    if way == "Tile":
        return d.node(way, [x, d.constant(np.array([1] * (rank - 1) + [2], np.int64))])
    if way == "Expand":
        d.values([2, *shape], dtype)
        return d.node(way, [x, d.constant(np.array([2] + [1] * rank, np.int64))])
    if way == "Gather":
        axis = d.pick(range(1, rank))
        return d.node(way, [x, d.constant(d.rng.integers(0, shape[axis], d.pick(3, 20)).astype(np.int64))], axis=axis)
    if way == "DepthToSpace" and (rank != 4 or shape[1] % 4 or dtype != np.float32) or way == "Trilu" and dtype == np.uint8 or way == "CumSum" and dtype == np.uint8:
        raise TooLarge
    if way == "DepthToSpace":
        return d.node(way, [x], blocksize=2)
    if way == "CumSum":
        return d.node(way, [x, d.constant(np.int64(rank - 1))])
    if way == "Cast":
        return d.node(way, [x], to=d.pick(TensorProto.FLOAT, TensorProto.INT64, TensorProto.INT32, TensorProto.BOOL))
    return d.node(way, [x])


def scatter(d):
    rows, width = d.pick(TOKENS), d.pick(WIDTHS)
    x = d.input([rows, width], open_axes=())
    way = d.pick("ScatterElements", "ScatterND", "GatherElements", "GatherND")
    if way == "GatherElements":
        return d.node(way, [x, d.input([rows, width], np.int64, 0, rows - 1, open_axes=())], axis=0)
    if way == "GatherND":
        return d.node(way, [x, d.input([rows, 1], np.int64, 0, rows - 1, open_axes=())])
    reduction = {"reduction": "add"} if d.chance(0.5) else {}
    if way == "ScatterND":
        return d.node(way, [x, d.input([rows, 1], np.int64, 0, rows - 1, open_axes=()), d.input([rows, width], open_axes=())], **reduction)
    return d.node(way, [x, d.input([rows, width], np.int64, 0, rows - 1, open_axes=()), d.input([rows, width], open_axes=())], axis=0, **reduction)


def order(d):
    x = d.input(d.rows())
    if d.chance(0.3):
        return d.node("NonZero", [x])
    return d.node("TopK", [x, d.constant(np.array([d.pick(1, 3, 5)], np.int64))], outputs=2)[0]


def recurrent(d):
    op = d.pick("LSTM", "GRU")
    steps, batch, inputs, hidden, ways = d.pick(5, 10, 21, 40), d.pick(1, 1, 2, 3, 5, 8, 30), d.pick(WIDTHS), d.pick(16, 32, 64, 100, 128, 224, 256), d.pick(1, 2)
    gates = 4 if op == "LSTM" else 3
    limit(steps * batch * gates * hidden * (inputs + hidden) * ways)
    x = d.input([steps, batch, inputs], open_axes=d.pick((0,), (1,)))
    w = [d.weights(ways, gates * hidden, inputs), d.weights(ways, gates * hidden, hidden), d.weights(ways, 2 * gates * hidden)]
    return d.node(op, [x, *w], hidden_size=hidden, direction="bidirectional" if ways == 2 else "forward",
                  **({"linear_before_reset": 1} if op == "GRU" and d.chance(0.7) else {}))


def integer(d):
    way = d.pick("MatMulInteger", "DynamicQuantizeLinear", "QuantizeLinear", "DequantizeLinear", "ConvInteger")
    if way == "MatMulInteger":
        m, k, n = d.pick(TOKENS), d.pick(WIDTHS), d.pick(WIDTHS)
        limit(m * k * n)
        return d.node(way, [d.input([m, k], np.uint8, 0, 255), d.constant(d.values([k, n], np.int8, -60, 60))])
    if way == "ConvInteger":
        n, c, h, w = d.image()
        filters, k = d.pick(CHANNELS), d.pick(1, 3)
        limit(n * c * h * w * filters * k * k)
        if min(h, w) < k:
            raise TooLarge
        return d.node(way, [d.input([n, c, h, w], np.uint8, 0, 255), d.constant(d.values([filters, c, k, k], np.int8, -60, 60))])
    shape = d.any_shape()
    if way == "DynamicQuantizeLinear":
        return d.node(way, [d.input(shape)], outputs=3)[0]
    scale = d.constant(np.float32(0.02))
    if way == "QuantizeLinear":
        return d.node(way, [d.input(shape), scale, d.constant(np.uint8(128))])
    return d.node(way, [d.input(shape, np.uint8, 0, 255), scale, d.constant(np.uint8(128))])


KINDS = (conv, conv, conv, conv_transpose, matmul, matmul, gemm, unary, binary, binary, where, reduce, arg, norm, norm, pool, resize, pad, move, move, scatter,
         order, recurrent, integer)
FLOAT_KINDS = (conv, conv, conv_transpose, matmul, gemm, unary, norm, recurrent)  # of which a second node can be made


def second(d, x):
    way = d.pick("unary", "unary", "scale", "bias", "transpose", "softmax", "silu", "residual")
    if way == "unary":
        return d.node(d.pick("Relu", "Sigmoid", "Tanh", "LeakyRelu", "HardSwish", "Exp", "Neg", "Sqrt", "Erf", "Elu", "Softplus"), [x])
    if way == "scale":
        return d.node(d.pick("Mul", "Div", "Sub", "Pow"), [x, d.constant(np.float32(1.5))])
    if way == "bias":
        return d.node(d.pick("Add", "Min", "Max"), [d.constant(np.float32(0.5)), x])
    if way == "softmax":
        return d.node("Softmax", [x], axis=-1)
    if way == "silu":
        return d.node("Mul", [x, d.node("Sigmoid", [x])])
    if way == "residual":
        return d.node("Add", [x, d.node("Tanh", [x])])
    return d.node("Transpose", [x])


def attempt(seed, opened, nodes):
    d = Draw(seed, opened, nodes)
    x = (d.pick(FLOAT_KINDS) if d.count == 2 else d.pick(KINDS))(d)
    first = len(d.nodes)
    if d.count == 2:
        x = second(d, x)
    if not d.inputs:
        raise TooLarge
    outputs = [helper.make_empty_tensor_value_info(x)]
    graph = helper.make_graph(d.nodes, "case", d.inputs, outputs, d.constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    model = onnx.shape_inference.infer_shapes(model, strict_mode=True)
    onnx.checker.check_model(model)
    kind = " ".join(n.op_type for n in d.nodes[:first + 2]) + (" open" if d.bounds else "")
    return Case(seed, kind, " ".join(d.words), model, d.feeds, d.bounds)


def case(seed, opened=None, nodes=None):
    """The case of this seed; `opened` and `nodes` say which of its smaller relatives is wanted."""
    for retry in range(200):
        try:
            made = attempt([seed, retry], opened, nodes)
        except TooLarge:
            continue
        made.seed = seed
        return made
    raise RuntimeError(f"no case of seed {seed} in 200 attempts")
