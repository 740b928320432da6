"""Sizes that data decide, operator by operator: within the bound (declared with --bound, or inferred from the inputs'
extents) the answer is right, and beyond it a run fails with one error that names the node and says which bound."""
import re
import shutil
import unittest

import support

try:
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError:
    onnx = None

INT64 = TensorProto.INT64 if onnx else None
FLOAT = TensorProto.FLOAT if onnx else None


def i64(*values):
    return np.array(values, np.int64)


def scalar(value):
    return np.array(value, np.int64)


def counting_loop():
    """h = i for each trip i < M."""
    body = helper.make_graph([helper.make_node("Identity", ["go"], ["on"]), helper.make_node("Identity", ["i"], ["h"])], "body",
                             [helper.make_tensor_value_info("i", INT64, []), helper.make_tensor_value_info("go", TensorProto.BOOL, [])],
                             [helper.make_tensor_value_info("on", TensorProto.BOOL, []), helper.make_tensor_value_info("h", INT64, [])])
    return helper.make_node("Loop", ["M", ""], ["y"], name="it", body=body)


def open_cases():
    """Name, node, constants, inputs that 4 elements hold, inputs that they do not, the answer to the first."""
    x = np.arange(2, dtype=np.float32)
    node = helper.make_node
    yield ("Range", node("Range", ["start", "limit", "delta"], ["y"], name="it"), {},
           {"start": scalar(0), "limit": scalar(4), "delta": scalar(1)}, {"start": scalar(0), "limit": scalar(9), "delta": scalar(1)},
           np.arange(4))
    yield ("ConstantOfShape", node("ConstantOfShape", ["s"], ["y"], name="it"), {}, {"s": i64(3)}, {"s": i64(5)}, np.zeros(3))
    yield "Expand", node("Expand", ["x", "s"], ["y"], name="it"), {"x": x[1:]}, {"s": i64(4)}, {"s": i64(5)}, np.ones(4)
    yield "Tile", node("Tile", ["x", "r"], ["y"], name="it"), {"x": x}, {"r": i64(2)}, {"r": i64(3)}, np.array([0, 1, 0, 1])
    yield ("Resize", node("Resize", ["x", "", "", "s"], ["y"], name="it", mode="nearest"), {"x": x}, {"s": i64(4)}, {"s": i64(6)},
           np.array([0, 0, 1, 1]))
    yield "Pad", node("Pad", ["x", "p"], ["y"], name="it"), {"x": x}, {"p": i64(1, 1)}, {"p": i64(2, 1)}, np.array([0, 0, 1, 0])
    yield "Loop", counting_loop(), {}, {"M": scalar(3)}, {"M": scalar(5)}, np.arange(3)


def closed_cases():
    """Bounds that follow from the inputs: the largest answer that there can be needs no --bound."""
    node = helper.make_node
    full = np.ones(6, np.float32)
    yield "NonZero", node("NonZero", ["x"], ["y"], name="it"), {}, {"x": full}, np.arange(6).reshape(1, 6)
    yield "Compress", node("Compress", ["x", "c"], ["y"], name="it"), {}, {"x": full, "c": np.ones(6, bool)}, full
    distinct = np.arange(6, dtype=np.float32)
    yield "Unique", node("Unique", ["x"], ["y"], name="it"), {}, {"x": distinct}, distinct
    yield "TopK", node("TopK", ["x", "k"], ["y", "at"], name="it"), {}, {"x": distinct, "k": i64(6)}, distinct[::-1]
    boxes = np.array([[[0, i, 1, i + 1] for i in range(6)]], np.float32) * 2
    scores = np.ones((1, 1, 6), np.float32)
    yield ("NonMaxSuppression", node("NonMaxSuppression", ["b", "s", "most"], ["y"], name="it"), {},
           {"b": boxes, "s": scores, "most": i64(6)}, np.array([[0, 0, i] for i in range(6)]))


@unittest.skipIf(onnx is None, "needs onnx and numpy (toolchains/bootstrap --for tests)")
class Bounds(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.room = support.WORK / "bounds"
        shutil.rmtree(cls.room, ignore_errors=True)
        cls.room.mkdir(parents=True)

    def write(self, name, node, constants, inputs):
        infos = [helper.make_tensor_value_info(k, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for k, v in inputs.items()]
        outputs = [helper.make_empty_tensor_value_info(o) for o in node.output]
        graph = helper.make_graph([node], name, infos, outputs, [numpy_helper.from_array(v, k) for k, v in constants.items()])
        path = self.room / f"{name}.onnx"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
        return support.convert(path, f"bounds_{name}")

    def run_model(self, name, model, inputs, *arguments, check=True):
        given, made = self.room / f"{name}_in.npz", self.room / f"{name}_out.npz"
        made.unlink(missing_ok=True)
        np.savez(given, **inputs)
        words = [word for key in inputs for word in ("--input", f"{key}={given}")]
        done = support.vireo("run", model, *words, "-o", made, *arguments, check=check)
        return done, np.load(made)["y"] if made.exists() else None

    def dimensions(self, model):
        return sorted(set(re.findall(r"[\w.]*it\.[\w.]+", support.vireo("inspect", model).stdout)))

    def test_declared(self):
        for name, node, constants, fits, passes, answer in open_cases():
            with self.subTest(name):
                model = self.write(name, node, constants, fits)
                names = self.dimensions(model)
                self.assertEqual(len(names), 1, names)
                bound = ["--bound", f"{names[0]}=4"]
                _, got = self.run_model(name, model, fits, *bound)
                np.testing.assert_array_equal(got, answer)
                done, got = self.run_model(name, model, passes, *bound, check=False)
                self.assertNotEqual(done.returncode, 0)
                self.assertIsNone(got)
                errors = [line for line in done.stderr.splitlines() if line.startswith("error")]
                self.assertEqual(len(errors), 1, done.stderr)
                for text in (f'"it"', name, "bound"):
                    self.assertIn(text, errors[0])
                _, got = self.run_model(name, model, passes, "--bound", f"{names[0]}=16")
                self.assertGreater(got.size, 4)

    def test_inferred(self):
        for name, node, constants, inputs, answer in closed_cases():
            with self.subTest(name):
                done, got = self.run_model(name, self.write(name, node, constants, inputs), inputs)
                self.assertNotIn("is assumed", done.stderr)
                np.testing.assert_array_equal(got, answer)

    def test_k_beyond_the_extent_is_refused(self):
        node = helper.make_node("TopK", ["x", "k"], ["y", "at"], name="it")
        inputs = {"x": np.arange(6, dtype=np.float32), "k": i64(7)}
        done, got = self.run_model("TopK", self.write("TopK", node, {}, inputs), inputs, check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIsNone(got)
        self.assertIn('"it"', done.stderr)


if __name__ == "__main__":
    support.main()
