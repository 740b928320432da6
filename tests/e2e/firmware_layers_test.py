"""Layers that real models have, through --emit firmware: recurrent cells, norms, attention, resizing, embeddings and their
like build for cores, print this machine's hash there, and take the instructions that were told.

A conversion compares the plan with a session, so that hash stands for a session's values.
"""
import shutil
import unittest

import firmware_test
import support

WORK = support.room("firmware_layers")
REAL_CORES = ("cortex-m4", "cortex-m55", "rv32imafc")
ALL_CORES = ("cortex-m0plus", "cortex-m3", *REAL_CORES)
NEAR = 0.35  # of the counted instructions: layers are small here, and calls within them count for more than in real models


class Graph:
    """Nodes one behind the other, with constants beside them."""

    def __init__(self, name, dims, dtype=None):
        import numpy
        import onnx
        self.numpy, self.onnx, self.name = numpy, onnx, name
        self.random = numpy.random.default_rng(5)
        self.nodes, self.constants = [], []
        self.inputs = [onnx.helper.make_tensor_value_info("x", dtype or onnx.TensorProto.FLOAT, dims)]
        self.last = "x"

    def constant(self, value, dtype=None):
        name = f"c{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(self.numpy.array(value, dtype or self.numpy.float32), name))
        return name

    def weights(self, *dims):
        fan = 1
        for d in dims[1:]:
            fan *= d
        return self.constant(self.random.normal(0, (1 / fan) ** 0.5, dims))

    def node(self, op, inputs, outputs=1, **attributes):
        names = [f"v{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(self.onnx.helper.make_node(op, inputs, names, name=f"n{len(self.nodes)}", **attributes))
        self.last = names[0]
        return names[0] if outputs == 1 else names

    def save(self, *outputs):
        helper = self.onnx.helper
        outs = [helper.make_empty_tensor_value_info(o) for o in outputs]
        graph = helper.make_graph(self.nodes, self.name, self.inputs, outs, self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
        path = WORK / f"{self.name}.onnx"
        self.onnx.save(self.onnx.shape_inference.infer_shapes(model), str(path))
        return path


def gestures():
    """A bidirectional LSTM over a window of six axes of motion, and a GRU behind it."""
    g = Graph("gestures", [16, 1, 6])
    y, _, _ = g.node("LSTM", ["x", g.weights(2, 40, 6), g.weights(2, 40, 10), g.weights(2, 80)], 3, hidden_size=10, direction="bidirectional")
    y = g.node("Transpose", [y], perm=[0, 2, 1, 3])
    y = g.node("Reshape", [y, g.constant([16, 1, 20], g.numpy.int64)])
    _, h = g.node("GRU", [y, g.weights(1, 36, 20), g.weights(1, 36, 12), g.weights(1, 72)], 2, hidden_size=12, linear_before_reset=1)
    h = g.node("Squeeze", [h, g.constant([0], g.numpy.int64)])
    y = g.node("Gemm", [h, g.weights(5, 12), g.constant([0.1] * 5)], transB=1)
    return g.save(g.node("LogSoftmax", [y], axis=1), g.node("ArgMax", [y], axis=1, keepdims=0))


def attention():
    """One block of a transformer: norms, two heads, Gelu."""
    g = Graph("attention", [1, 9, 16])
    n = g.node("LayerNormalization", ["x", g.weights(16), g.constant([0.1] * 16)], axis=-1)
    heads = []
    for perm in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]):
        p = g.node("MatMul", [n, g.weights(16, 16)])
        p = g.node("Reshape", [p, g.constant([1, 9, 2, 8], g.numpy.int64)])
        heads.append(g.node("Transpose", [p], perm=perm))
    scores = g.node("Mul", [g.node("MatMul", heads[:2]), g.constant(0.35)])
    mask = g.constant([[c <= r for c in range(9)] for r in range(9)], g.numpy.bool_)
    scores = g.node("Where", [mask, scores, g.constant(-1e9)])
    y = g.node("MatMul", [g.node("Softmax", [scores], axis=-1), heads[2]])
    y = g.node("Reshape", [g.node("Transpose", [y], perm=[0, 2, 1, 3]), g.constant([1, 9, 16], g.numpy.int64)])
    y = g.node("Add", ["x", y])
    h = g.node("MatMul", [y, g.weights(16, 32)])
    h = g.node("Mul", [g.node("Mul", [h, g.constant(0.5)]), g.node("Add", [g.node("Erf", [g.node("Mul", [h, g.constant(0.70710678)])]), g.constant(1.0)])])
    y = g.node("Add", [y, g.node("MatMul", [h, g.weights(32, 16)])])
    return g.save(g.node("ReduceMax", [g.node("Tanh", [y]), g.constant([1], g.numpy.int64)], keepdims=0))


def segmentation():
    """Down, up by a resize and by a transposed convolution, and a class for each pixel."""
    g = Graph("segmentation", [1, 2, 12, 10])
    y = g.node("Pad", ["x", g.constant([0, 0, 1, 1, 0, 0, 1, 1], g.numpy.int64)], mode="reflect")
    y = g.node("Conv", [y, g.weights(6, 2, 3, 3)], kernel_shape=[3, 3])
    y = g.node("InstanceNormalization", [y, g.weights(6), g.weights(6)])
    y = first = g.node("PRelu", [y, g.weights(6, 1, 1)])
    y = g.node("AveragePool", [y], kernel_shape=[2, 2], strides=[2, 2])
    y = g.node("ConvTranspose", [y, g.weights(6, 4, 3, 3), g.weights(4)], strides=[2, 2], pads=[1, 1, 1, 1], output_padding=[1, 1])
    y = g.node("BatchNormalization", [y, g.weights(4), g.weights(4), g.weights(4), g.constant([1.0, 0.5, 2.0, 1.5])])
    y = g.node("Concat", [first, y], axis=1)
    y = g.node("Conv", [y, g.weights(3, 10, 1, 1)])
    y = g.node("Resize", [y, "", g.constant([1.0, 1.0, 2.0, 1.5])], mode="linear", coordinate_transformation_mode="half_pixel")
    small = g.node("Resize", [y, "", g.constant([1.0, 1.0, 0.5, 0.5])], mode="nearest", nearest_mode="floor", coordinate_transformation_mode="asymmetric")
    return g.save(g.node("ArgMax", [y], axis=1), g.node("ReduceL2", [small, g.constant([1, 3], g.numpy.int64)], keepdims=0))


def words():
    """An embedding by indices that a run brings, and its mean."""
    import onnx
    g = Graph("words", [1, 7], onnx.TensorProto.INT64)
    y = g.node("Gather", [g.weights(30, 12), "x"])
    y = g.node("ReduceMean", [y, g.constant([1], g.numpy.int64)], keepdims=0)
    return g.save(g.node("Max", [g.node("Gemm", [y, g.weights(4, 12), g.weights(4)], transB=1), g.constant([0.0] * 4)]))


def pixels():
    """Integers alone: for cores without a floating-point unit, too."""
    import onnx
    g = Graph("pixels", [1, 4, 5, 6], onnx.TensorProto.UINT8)
    y = g.node("Pad", ["x", g.constant([0, 0, 1, 0, 0, 0, 0, 2], g.numpy.int64), g.constant(7, g.numpy.uint8)])
    y = g.node("Resize", [y, "", g.constant([1.0, 1.0, 1.5, 2.0])], mode="nearest")
    wide = g.node("Cast", [y], to=onnx.TensorProto.INT32)
    wide = g.node("Sub", [wide, g.constant([[[100]], [[120]], [[130]], [[140]]], g.numpy.int32)])
    most = g.node("Max", [wide, g.constant(-20, g.numpy.int32)])
    picked = g.node("Gather", [most, g.constant([3, -1, 0], g.numpy.int64)], axis=3)
    deep = g.node("DepthToSpace", [g.node("Tile", [y, g.constant([1, 1, 1, 2], g.numpy.int64)])], blocksize=2)
    return g.save(g.node("ArgMax", [most], axis=1), picked, deep)


def on_core(test, model, target):
    reason = support.missing("numpy", "onnx") or firmware_test.tools_missing(target)
    if reason:
        test.skipTest(reason)
    folder = WORK / f"{model.__name__}_{target}"
    shutil.rmtree(folder, ignore_errors=True)
    support.vireo("convert", model(), "--target", target, "--emit", "firmware", folder)
    built = firmware_test.run("make", "-j2", cwd=folder)
    test.assertEqual(built.returncode, 0, built.stdout + built.stderr)
    test.assertNotIn("warning", built.stdout + built.stderr)
    ran = firmware_test.run("make", "-s", "test", cwd=folder)
    about = firmware_test.manifest(folder)
    one = about["models"][0]
    test.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
    test.assertIn(f"{one['name']} hash {one['selftest']['hash']}\n", ran.stdout + ran.stderr)
    counted = firmware_test.count_instructions(folder, about) / one["selftest"]["cases"]
    test.assertLess(abs(one["instructions"] / counted - 1), NEAR, (one["instructions"], counted))


Layers = support.cases("", {f"{model.__name__}_on_{target}": lambda test, model=model, target=target: on_core(test, model, target)
                            for model in (gestures, attention, segmentation, words) for target in REAL_CORES} | {
    f"pixels_on_{target}": lambda test, target=target: on_core(test, pixels, target) for target in ALL_CORES})


class Refusals(unittest.TestCase):
    def test_cells_that_no_kernel_has(self):
        """What a cell has beside the usual is named."""
        reason = support.missing("numpy", "onnx")
        if reason:
            self.skipTest(reason)
        g = Graph("clipped", [4, 1, 3])
        y = g.node("LSTM", ["x", g.weights(1, 8, 3), g.weights(1, 8, 2)], 3, hidden_size=2, clip=0.5)
        done = support.vireo("convert", g.save(y[0]), "--target", "cortex-m4", "--emit", "firmware", WORK / "refused", check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn('LSTM node "n0": it clips, or its forget gate is that of its input', done.stdout + done.stderr)
        g = Graph("runtime_pad", [1, 1, 4, 4])
        g.inputs.append(g.onnx.helper.make_tensor_value_info("low", g.onnx.TensorProto.FLOAT, []))
        y = g.node("Pad", ["x", g.constant([0, 0, 1, 1, 0, 0, 1, 1], g.numpy.int64), "low"])
        done = support.vireo("convert", g.save(y), "--target", "cortex-m4", "--emit", "firmware", WORK / "refused", check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn('Pad node "n0": its pads, its value or its axes are not constant', done.stdout + done.stderr)


if __name__ == "__main__":
    support.main()
