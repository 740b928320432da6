"""Operations and bytes of known nodes, and the arithmetic of roofline.py. Arguments: VIREO_LIBRARY and VIREO_PROGRAM of the environment."""
import pathlib
import sys
import tempfile
import unittest

try:
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import roofline
from peers import vireo_peer  # finds the binding
import vireo

LIMITS = {"threads": 1, "f32": 100.0, "i8": 400.0, "bf16": 200.0, "read_256k": 50.0, "read_8m": 20.0, "read_memory": 5.0, "copy_memory": 4.0}


def nodes_of(graph_nodes, inputs, outputs, initializers):
    graph = helper.make_graph(graph_nodes, "g", inputs, outputs, [numpy_helper.from_array(v, k) for k, v in initializers.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    with tempfile.TemporaryDirectory() as folder:
        path = str(pathlib.Path(folder) / "m.onnx")
        onnx.save(model, path)
        held = vireo.Model(vireo_peer.prepare(path, folder, {}, set()), vireo.Runtime(threads=1))
        session = held.session(profile=True)
        session.run(*[np.zeros(v.shape, np.float32) for v in held.inputs])
        return session.nodes


def value(name, *shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


class Nodes(unittest.TestCase):
    def test_convolution(self):
        w, b = np.ones((16, 8, 3, 3), np.float32), np.ones(16, np.float32)
        nodes = nodes_of([helper.make_node("Conv", ["x", "w", "b"], ["y"], pads=[1, 1, 1, 1])], [value("x", 1, 8, 20, 20)],
                         [value("y", 1, 16, 20, 20)], {"w": w, "b": b})
        conv = [n for n in nodes if n.operations]
        self.assertEqual(len(conv), 1)
        self.assertEqual(conv[0].operations, 2 * 16 * 20 * 20 * 8 * 9)
        self.assertEqual(conv[0].bytes, 4 * (8 * 400 + 16 * 400 + w.size + b.size))
        self.assertEqual(roofline.class_of(conv[0].op, conv[0].operations), "convolution")

    def test_depthwise(self):
        w = np.ones((8, 1, 3, 3), np.float32)
        nodes = nodes_of([helper.make_node("Conv", ["x", "w"], ["y"], group=8)], [value("x", 1, 8, 20, 20)], [value("y", 1, 8, 18, 18)], {"w": w})
        self.assertEqual(sum(n.operations for n in nodes), 2 * 8 * 18 * 18 * 9)

    def test_product_and_elementwise(self):
        w = np.arange(64 * 48, dtype=np.float32).reshape(64, 48)
        nodes = nodes_of([helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Softmax", ["p"], ["y"])], [value("x", 32, 64)],
                         [value("y", 32, 48)], {"w": w})
        self.assertEqual(sum(n.operations for n in nodes), 2 * 32 * 64 * 48)
        softmax = [n for n in nodes if not n.operations]
        self.assertEqual([n.bytes for n in softmax], [2 * 4 * 32 * 48])
        self.assertEqual(roofline.class_of(softmax[0].op, 0), "other")


class Limits(unittest.TestCase):
    def test_the_larger_of_both(self):
        self.assertEqual(roofline.limit_ns(LIMITS, 1000, 10, "f32"), 10)
        self.assertEqual(roofline.limit_ns(LIMITS, 1000, 1000, "f32"), 20)
        self.assertEqual(roofline.limit_ns(LIMITS, 0, 1000, "f32"), 20)

    def test_rates_follow_the_kernel(self):
        for kernel, key in (("gemm_f32", "f32"), ("conv_nhwc_i8", "i8"), ("int_conv_nhwc", "i8"), ("add_codes", "i8"), ("gemm_bf16", "bf16"), ("reference", "f32")):
            self.assertEqual(roofline.rate_key(kernel), key, kernel)
        self.assertEqual(roofline.compute_rate(LIMITS, "i8"), 400)
        self.assertEqual(roofline.compute_rate({**LIMITS, "amx_i8": 3000.0}, "i8"), 3000)
        self.assertEqual(roofline.compute_rate({"f32": 100.0}, "bf16"), 100)

    def test_weights_above_the_last_cache_come_from_memory(self):
        self.assertEqual(roofline.stream_ns(LIMITS, 1000, 999), 200)
        self.assertEqual(roofline.stream_ns(LIMITS, 1000, 1000), 0)

    def test_classes_add_up(self):
        node = lambda op, kernel, operations, moved: vireo.Node("", op, "cpu", kernel, "", 0, 1, 0, operations, moved)
        sums = roofline.shares([node("Conv", "conv_f32", 1000, 0), node("conv", "conv_f32", 500, 0), node("Relu", "activate_f32", 0, 500)],
                               [20, 10, 0], LIMITS)
        self.assertEqual(sums, {"convolution": (15, 30)})

    def test_benchmarks(self):
        report = {"benchmarks": [{"name": "a", "GFLOP/s": 50.0}, {"name": "b", "Gmac/s": 50.0}, {"name": "c", "run_type": "aggregate", "GFLOP/s": 1},
                                 {"name": "d", "GB/s": 25.0}, {"name": "e"}]}
        rows = roofline.kernel_rows(report, LIMITS, "gemm")
        self.assertEqual([(row[0], row[3]) for row in rows], [("a", 0.5), ("b", 1.0), ("d", 0.5)])
        self.assertEqual(roofline.kernel_rows(report, LIMITS, "intgemm_i8")[1][3], 0.25)


if __name__ == "__main__":
    unittest.main()
