"""Small models of one operator each (and one of many small nodes), a few for each kernel family."""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

F, U8, I8 = TensorProto.FLOAT, TensorProto.UINT8, TensorProto.INT8


class Build:
    """Nodes in a row from input x to the last node's output."""

    def __init__(self, *dims, dtype=F):
        self.inputs = [helper.make_tensor_value_info("x", dtype, dims)]
        self.nodes, self.constants, self.last = [], [], "x"
        self.random = np.random.default_rng(1)

    def weight(self, *dims, scale=0.1):
        return self.constant((self.random.standard_normal(dims) * scale).astype(np.float32))

    def constant(self, array):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def add(self, op, *inputs, outputs=1, **attributes):
        names = [f"v{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op, [self.last, *inputs], names, **attributes))
        self.last = names[0]
        return self

    def model(self):
        graph = helper.make_graph(self.nodes, "case", self.inputs, [helper.make_empty_tensor_value_info(self.last)], self.constants)
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
        made = onnx.shape_inference.infer_shapes(made)
        inferred = {v.name: v for v in [*made.graph.value_info, *made.graph.output]}
        made.graph.output[0].CopyFrom(inferred[self.last])
        return made


def conv(c, o, size, kernel, stride=1, group=1, act=True):
    b = Build(1, c, size, size)
    b.add("Conv", b.weight(o, c // group, kernel, kernel), b.weight(o), kernel_shape=[kernel] * 2, strides=[stride] * 2,
          pads=[kernel // 2] * 4, group=group)
    return b.add("Relu") if act else b


def product(m, k, n, transposed=0):
    b = Build(m, k)
    return b.add("Gemm", b.weight(n, k) if transposed else b.weight(k, n), b.weight(n), transB=transposed)


def quantized(m, k, n):
    b = Build(m, k, dtype=U8)
    scale, zero = b.constant(np.float32(0.02)), b.constant(np.uint8(3))
    weights = b.constant(b.random.integers(-127, 128, (k, n)).astype(np.int8))
    return b.add("QLinearMatMul", scale, zero, weights, b.constant(np.float32(0.01)), b.constant(np.int8(0)),
                 b.constant(np.float32(0.5)), b.constant(np.uint8(128)))


def quantized_conv(c, o, size, kernel, group=1):
    b = Build(1, c, size, size, dtype=U8)
    weights = b.constant(b.random.integers(-127, 128, (o, c // group, kernel, kernel)).astype(np.int8))
    return b.add("QLinearConv", b.constant(np.float32(0.02)), b.constant(np.uint8(3)), weights, b.constant(np.float32(0.01)),
                 b.constant(np.int8(0)), b.constant(np.float32(0.5)), b.constant(np.uint8(128)), kernel_shape=[kernel] * 2,
                 pads=[kernel // 2] * 4, group=group)


def two_inputs(op, a, c):
    b = Build(*a)
    b.inputs.append(helper.make_tensor_value_info("y", F, c))
    return b.add(op, "y")


def small_nodes(count):
    """Operators over 4 elements that nothing fuses: what is counted is the dispatch of a node."""
    b = Build(2, 2)
    for _ in range(count):
        b.add("CumSum", b.constant(np.int64(0)))
    return b


def cases():
    """{name: model}"""
    b = Build(1, 64, 256)
    norm = b.add("LayerNormalization", b.weight(256, scale=1), b.weight(256), axis=-1)
    r = Build(1, 16, 20, 20)
    resize = r.add("Resize", "", r.constant(np.array([1, 1, 2, 2], np.float32)), mode="linear", coordinate_transformation_mode="half_pixel")
    lstm = Build(8, 1, 32)
    lstm.add("LSTM", lstm.weight(1, 128, 32), lstm.weight(1, 128, 32), lstm.weight(1, 256), outputs=1, hidden_size=32)
    gru = Build(8, 1, 32)
    gru.add("GRU", gru.weight(1, 96, 32), gru.weight(1, 96, 32), gru.weight(1, 192), outputs=1, hidden_size=32)
    q = Build(1, 4096)
    quantize = q.add("QuantizeLinear", q.constant(np.float32(0.05)), q.constant(np.uint8(128)))
    chain = Build(1, 64, 256)
    chain.add("Mul", chain.constant(np.float32(1.5))).add("Add", chain.constant(np.float32(0.5))).add("Tanh")
    attention = two_inputs("MatMul", (1, 4, 64, 32), (1, 4, 32, 64)).add("Softmax", axis=-1)
    made = {
        "gemm_64x256x256": product(64, 256, 256), "gemm_1x512x512": product(1, 512, 512),
        "gemm_1x512x512_by_columns": product(1, 512, 512, transposed=1), "gemm_7x100x33": product(7, 100, 33),
        "matmul_two_inputs_64x128x64": two_inputs("MatMul", (64, 128), (128, 64)),
        "matmul_softmax_4_heads": attention,
        "conv_1x1_64_128_28": conv(64, 128, 28, 1), "conv_3x3_32_32_28": conv(32, 32, 28, 3), "conv_3x3_3_16_64_s2": conv(3, 16, 64, 3, 2),
        "conv_5x5_8_8_32": conv(8, 8, 32, 5), "depthwise_3x3_96_28": conv(96, 96, 28, 3, 1, 96), "depthwise_5x5_64_14_s2": conv(64, 64, 14, 5, 2, 64),
        "maxpool_3x3_32_28": Build(1, 32, 28, 28).add("MaxPool", kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4),
        "global_average_64_14": Build(1, 64, 14, 14).add("GlobalAveragePool"),
        "softmax_64x128": Build(64, 128).add("Softmax", axis=-1), "layer_norm_64x256": norm,
        "reduce_max_64x256": Build(64, 256).add("ReduceMax", keepdims=0),
        "gelu_64x256": Build(64, 256).add("Gelu"), "sigmoid_64x256": Build(64, 256).add("Sigmoid"), "chain_mul_add_tanh_64x256": chain,
        "add_64x256": two_inputs("Add", (64, 256), (64, 256)), "add_row_64x256": two_inputs("Add", (64, 256), (256,)),
        "transpose_0213_32": Build(1, 32, 16, 32).add("Transpose", perm=[0, 2, 1, 3]), "transpose_10_128": Build(128, 128).add("Transpose", perm=[1, 0]),
        "resize_linear_2x_16_20": resize, "lstm_8_32_32": lstm, "gru_8_32_32": gru, "quantize_4096": quantize,
        "qlinear_matmul_64x256x128": quantized(64, 256, 128), "qlinear_conv_1x1_64_64_14": quantized_conv(64, 64, 14, 1),
        "qlinear_conv_3x3_32_32_14": quantized_conv(32, 32, 14, 3), "qlinear_depthwise_3x3_64_14": quantized_conv(64, 64, 14, 3, 64),
        "dispatch_of_64_small_nodes": small_nodes(64), "dispatch_of_1_small_node": small_nodes(1),
    }
    return {name: build.model() for name, build in made.items()}
