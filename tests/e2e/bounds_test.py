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

    def test_what_is_assumed_grows(self):
        node = helper.make_node("Range", ["start", "limit", "delta"], ["y"], name="it")
        inputs = {"start": scalar(0), "limit": scalar(1000), "delta": scalar(1)}
        model = self.write("grows", node, {}, inputs)
        done, got = self.run_model("grows", model, inputs)
        np.testing.assert_array_equal(got, np.arange(1000))
        self.assertIn("was not enough", done.stderr)
        given = self.room / "grows_in.npz"
        words = [word for key in inputs for word in ("--input", f"{key}={given}")]
        support.vireo("bench", model, *words, "--seconds", "0")
        done = support.vireo("run", model, *words, "--bound", f"{self.dimensions(model)[0]}=500", check=False)
        self.assertNotEqual(done.returncode, 0)  # what is given stays
        self.assertIn("at least 1000", done.stderr)

    def test_declared_at_conversion(self):
        node = helper.make_node("Range", ["start", "limit", "delta"], ["y"], name="it")
        inputs = {"start": scalar(0), "limit": scalar(1000), "delta": scalar(1)}
        name = self.dimensions(self.write("later", node, {}, inputs))[0]
        model = support.convert(self.room / "later.onnx", "bounds_at_once", "--bound", f"{name}=1000")
        done, got = self.run_model("at_once", model, inputs)
        self.assertNotIn("assumed", done.stderr)
        np.testing.assert_array_equal(got, np.arange(1000))
        refused = support.vireo("check", self.room / "later.onnx", "--bound", "other=8", check=False)
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn(name, refused.stderr + refused.stdout)

    def test_real_numbers_count_extents(self):
        """arange(x.shape[0]) of floats: no bound is asked for, and none assumed."""
        nodes = [helper.make_node("Shape", ["x"], ["s"]), helper.make_node("Squeeze", ["s"], ["i"]),
                 helper.make_node("Cast", ["i"], ["n"], to=FLOAT), helper.make_node("Range", ["zero", "n", "one"], ["y"], name="it")]
        constants = [numpy_helper.from_array(np.array(v, np.float32), k) for k, v in (("zero", 0), ("one", 1))]
        graph = helper.make_graph(nodes, "real", [helper.make_tensor_value_info("x", FLOAT, ["n"])],
                                  [helper.make_empty_tensor_value_info("y")], constants)
        path = self.room / "real.onnx"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
        model = support.convert(path, "bounds_real")
        for n in (0, 1, 300):
            done, got = self.run_model("real", model, {"x": np.zeros(n, np.float32)})
            self.assertNotIn("assumed", done.stderr)
            np.testing.assert_array_equal(got, np.arange(n, dtype=np.float32))

    def test_assumed_extents_are_held(self):
        """Squeeze without axes: an extent that is taken to be larger is refused where it is 1."""
        node = helper.make_node("Squeeze", ["x"], ["y"], name="it")
        graph = helper.make_graph([node], "held", [helper.make_tensor_value_info("x", FLOAT, ["n", 1, 3])],
                                  [helper.make_empty_tensor_value_info("y")])
        path = self.room / "held.onnx"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
        model = support.convert(path, "bounds_held")
        _, got = self.run_model("held", model, {"x": np.ones((2, 1, 3), np.float32)})
        self.assertEqual(got.shape, (2, 3))
        done, got = self.run_model("held", model, {"x": np.ones((1, 1, 3), np.float32)}, check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("n=2..", done.stderr)
        support.vireo("bench", model, "--seconds", "0")  # made up inputs are what it takes
        cases = [np.ones((n, 1, 3), np.float32) for n in (2, 1)]
        reference, out = self.room / "held.npz", support.WORK / "bounds_held_tests.vireo"
        np.savez(reference, c0_in0=cases[0], c0_out0=cases[0][:, 0], c1_in0=cases[1], c1_out0=cases[1][0])
        done = support.vireo("convert", path, "-o", out, "--embed-tests", reference)
        self.assertIn("test case 1 is left out", done.stderr)
        self.assertEqual(support.vireo("selftest", out).stdout.count(": pass\n"), 1)
        np.savez(reference, c0_in0=cases[1], c0_out0=cases[1][0])
        done = support.vireo("convert", path, "-o", out, "--embed-tests", reference, check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("none of the test cases", done.stderr)
        one = support.convert(path, "bounds_one", "--shape", "x=1,1,3")
        _, got = self.run_model("one", one, {"x": np.ones((1, 1, 3), np.float32)})
        self.assertEqual(got.shape, (3,))

    def test_tests_in_the_file_bring_their_sizes(self):
        node = helper.make_node("Relu", ["x"], ["y"], name="it")
        graph = helper.make_graph([node], "sizes", [helper.make_tensor_value_info("x", FLOAT, ["n"])],
                                  [helper.make_empty_tensor_value_info("y")])
        path, reference = self.room / "sizes.onnx", self.room / "sizes.npz"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
        cases = [np.arange(n, dtype=np.float32) for n in (1000, 3)]
        np.savez(reference, **{f"c{k}_{side}0": x for k, x in enumerate(cases) for side in ("in", "out")})
        model = support.convert(path, "bounds_sizes", "--embed-tests", reference)
        done = support.vireo("selftest", model)
        self.assertEqual(done.stdout.count(": pass\n"), 2, done.stdout)
        wrong = dict(np.load(reference))
        wrong["c0_out0"] = wrong["c0_out0"] + 1
        np.savez(reference, **wrong)
        done = support.vireo("selftest", support.convert(path, "bounds_sizes", "--embed-tests", reference), check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("differs", done.stdout)

    def test_k_beyond_the_extent_is_refused(self):
        node = helper.make_node("TopK", ["x", "k"], ["y", "at"], name="it")
        inputs = {"x": np.arange(6, dtype=np.float32), "k": i64(7)}
        done, got = self.run_model("TopK", self.write("TopK", node, {}, inputs), inputs, check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIsNone(got)
        self.assertIn('"it"', done.stderr)


if __name__ == "__main__":
    support.main()
