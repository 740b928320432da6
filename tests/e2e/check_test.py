"""convert --check on models of the samples and on control flow, whose answers are held against ONNX's own interpreter."""
import json
import unittest

import support

MODELS = support.ROOT / "samples" / "models"
REASON = support.missing("numpy", "onnx")


def checked(model, name, *arguments):
    """Converts with --check; returns the file and the report, in which every pass that changed something was checked."""
    report = support.WORK / f"{name}.json"
    out = support.convert(model, name, "--report", report, *arguments)
    passes = json.loads(report.read_text())["passes"]
    for entry in passes:
        if entry["changes"] and "max_difference" not in entry:
            raise AssertionError(f"{name}: pass {entry['name']} made {entry['changes']} changes and was not checked")
    return out, passes


class Samples(unittest.TestCase):
    def check(self, name, *arguments):
        model = MODELS / f"{name}.onnx"
        for number, how in enumerate((f"--check={MODELS / name}.npz", "--check")):
            with self.subTest(how):
                _, passes = checked(model, f"check_{name}_{number}", how, *arguments)
                changed = [p for p in passes if p["changes"]]
                self.assertTrue(changed, passes)
                self.assertLess(max(p["max_difference"] for p in changed), 1e-4)

    def test_keyword_spotter(self):
        self.check("kws_dscnn_mfcc")

    def test_recurrent(self):
        self.check("kws_gru")

    def test_detector(self):
        self.check("digit_det_nms")


class Targets(unittest.TestCase):
    """check --target: times are the profile's and memory the target's, not this machine's."""

    def check(self, rates=None, **memory):
        path = support.WORK / "check_profile.json"
        path.write_text(json.dumps({"name": "board", "devices": [{"device": "cpu", **({"rates": rates} if rates else {})}], "memory": memory}))
        arguments = ("check", MODELS / "kws_dscnn.onnx", "--shape", "features=1,1,49,40", "--target", path)
        text, told = support.vireo(*arguments, check=False), support.vireo(*arguments, "--json", check=False)
        self.assertEqual(text.returncode, told.returncode)
        return text.stdout, json.loads(told.stdout)["targets"][0], told.returncode

    def test_times_are_the_profiles(self):
        slow, fast = ({"f32": 2e8 * k, "bandwidth": 4e8 * k} for k in (1, 1000))
        times = [self.check(rates)[1]["devices"][0]["expected_ns"] for rates in (slow, fast)]
        self.assertAlmostEqual(times[0] / times[1], 1000)
        self.assertGreater(times[0], 10e6)  # five million multiplications and more, at 2e8 a second
        text, told, _ = self.check()
        self.assertIsNone(told["devices"][0]["expected_ns"])
        self.assertIn("no time is known: the profile gives no rates", text)
        text, told, _ = self.check({"f32": 2e8})
        self.assertGreater(told["devices"][0]["nodes_without_time"], 0)  # those that only move
        self.assertIn("of which the rates say nothing", text)

    def test_memory_is_the_targets(self):
        _, here, _ = self.check()
        text, told, status = self.check(pointer=4, arena=320000)
        self.assertEqual((here["arena_of"], told["arena_of"], status), ("session", "tensors", 0))
        self.assertEqual(told["arena_bytes"], 320000)  # what the file's portable plan says; this machine's kernels want scratch
        self.assertGreater(here["arena_bytes"], told["arena_bytes"])
        self.assertIn("312.5 KiB of tensors (scratch and tables of the target come on top)", text)
        self.assertIn("within its limits, tensors 312.5 KiB of 312.5 KiB", text)
        text, told, status = self.check(pointer=4, arena=319999)
        self.assertEqual((len(told["limits_broken"]), status), (1, 1))
        self.assertIn("the tensors of a session take 320000 bytes, memory.arena allows 319999", text)
        self.assertNotIn("within its limits", text)


@unittest.skipIf(REASON, REASON)
class Reproduce(unittest.TestCase):
    """check --reproduce: models of one node that ONNX's checker takes, and that are refused by the same words."""

    def test_nodes_alone(self):
        import onnx
        from onnx import TensorProto, helper
        value = helper.make_tensor_value_info
        nodes = [helper.make_node("GridSample", ["c", "grid"], [f"r{i}"], name=f"sample{i}", mode="bilinear") for i in range(3)]
        nodes += [helper.make_node("Exp", ["x"], ["e"]), helper.make_node("Expand", ["e", "shape"], ["z"], name="expand"),
                  helper.make_node("Turn", ["e"], ["t"], domain="org.example", name="turn")]
        graph = helper.make_graph(nodes, "gaps", [value("x", 1, ["N", 3]), value("c", TensorProto.STRING, [1, 1, 4, 4]), value("shape", 7, ["K"])], [
            value("r0", TensorProto.STRING, [1, 1, 2, 2]), value("z", 1, ["a", "b"]), value("t", 1, ["N", 3])], [
                helper.make_tensor("grid", 1, [1, 2, 2, 2], [0] * 8)])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("org.example", 2)], ir_version=9)
        path, folder = support.WORK / "gaps.onnx", support.WORK / "gaps_alone"
        for old in folder.glob("*.onnx"):
            old.unlink()
        onnx.save(model, str(path))
        done = support.vireo("check", path, "--json", "--reproduce", folder, check=False)
        self.assertEqual(done.returncode, 1)
        gaps = json.loads(done.stdout)["gaps"]
        self.assertEqual([(g["code"], g["nodes"]) for g in gaps], [("VC0204", 1), ("VC0208", 3), ("VC0208", 1)], gaps)
        self.assertEqual([(g["domain"], g["opset"]) for g in gaps], [("org.example", 2), ("ai.onnx", 17), ("ai.onnx", 17)])
        files = sorted(folder.glob("*.onnx"))
        self.assertEqual(len(files), 5, files)
        for file in files:
            onnx.checker.check_model(onnx.load(str(file)))
            again = json.loads(support.vireo("check", file, "--json", check=False).stdout)["gaps"]
            self.assertEqual([g["code"] for g in again], [file.name.split("-")[1]], file)
            self.assertIn(again[0]["what"], [g["what"] for g in gaps])
        self.assertIn("fix the shapes", gaps[2]["help"])


def control_models():
    """name -> (model, inputs, answers; None where ONNX's interpreter computes them)."""
    import numpy as np
    from onnx import TensorProto, helper, numpy_helper

    def value(name, shape, dtype=TensorProto.FLOAT):
        return helper.make_tensor_value_info(name, dtype, shape)

    def constant(name, array):
        return helper.make_node("Constant", [], [name], value=numpy_helper.from_array(np.asarray(array)))

    def model(nodes, inputs, outputs, initializers=()):
        graph = helper.make_graph(nodes, "main", inputs, outputs, [numpy_helper.from_array(np.asarray(a), n) for n, a in initializers])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)

    def loop(x, trips):
        state, rows = np.ones_like(x), []
        for _ in range(trips):
            state = np.maximum(state * x + x, 0)
            rows.append(state.sum())
        return [state, np.array(rows, np.float32)]

    rng = np.random.default_rng(5)
    x = rng.standard_normal((4, 3)).astype(np.float32)
    models = {}

    # A branch without inputs and nodes of its own beside one that uses what lies outside.
    then = helper.make_graph([constant("t", np.full((4, 3), 2, np.float32))], "then", [], [value("t", [4, 3])])
    other = helper.make_graph([helper.make_node("Exp", ["x"], ["e"])], "else", [], [value("e", [4, 3])])
    for flag in (True, False):
        models[f"if_{flag}"] = (
            model([helper.make_node("If", ["flag"], ["c"], then_branch=then, else_branch=other),
                   helper.make_node("Add", ["c", "x"], ["s"]), helper.make_node("Identity", ["s"], ["y"])],
                  [value("flag", [], TensorProto.BOOL), value("x", [4, 3])], [value("y", [4, 3])]),
            [np.array(flag), x], None)

    # State, a stacked result, a condition that ends the loop early.
    body = helper.make_graph(
        [helper.make_node("Mul", ["state", "x"], ["product"]), helper.make_node("Add", ["product", "x"], ["sum"]),
         helper.make_node("Relu", ["sum"], ["next"]), helper.make_node("ReduceSum", ["next"], ["row"], keepdims=0),
         helper.make_node("Less", ["i", "last"], ["again"])],
        "body", [value("i", [], TensorProto.INT64), value("go", [], TensorProto.BOOL), value("state", [4, 3])],
        [value("again", [], TensorProto.BOOL), value("next", [4, 3]), value("row", [])])
    models["loop"] = (
        model([helper.make_node("Loop", ["trips", "true", "start"], ["end", "rows"], body=body)],
              [value("x", [4, 3]), value("last", [], TensorProto.INT64)], [value("end", [4, 3]), value("rows", ["n"])],
              [("trips", np.int64(6)), ("true", np.array(True)), ("start", np.ones((4, 3), np.float32))]),
        [x, np.int64(3)], loop(x, 4))

    # A placeholder of rank 0, which the first trip replaces by a matrix: how exporters of PaddlePaddle begin a loop.
    body = helper.make_graph(
        [helper.make_node("Cast", ["i"], ["trip"], to=1), helper.make_node("Mul", ["x", "trip"], ["part"]),
         helper.make_node("Add", ["state", "part"], ["next"]), helper.make_node("Less", ["i", "last"], ["again"])],
        "body", [value("i", [], TensorProto.INT64), value("go", [], TensorProto.BOOL), value("state", None)],
        [value("again", [], TensorProto.BOOL), value("next", None)])
    models["placeholder"] = (
        model([helper.make_node("Loop", ["trips", "true", "start"], ["end"], body=body)],
              [value("x", [4, 3]), value("last", [], TensorProto.INT64)], [value("end", [4, 3])],
              [("trips", np.int64(6)), ("true", np.array(True)), ("start", np.float32(0.5))]),
        [x, np.int64(3)], [0.5 + 6 * x])

    # Slices along the second axis, backwards; stacked along the second axis, the first result last.
    step = helper.make_graph(
        [helper.make_node("Add", ["sum_in", "slice"], ["sum_out"]), helper.make_node("Neg", ["sum_out"], ["made"])],
        "step", [value("sum_in", [4]), value("slice", [4])], [value("sum_out", [4]), value("made", [4])])
    models["scan"] = (
        model([helper.make_node("Scan", ["zero", "x"], ["total", "y"], body=step, num_scan_inputs=1, scan_input_axes=[1],
                                scan_input_directions=[1], scan_output_axes=[1], scan_output_directions=[1])],
              [value("x", [4, 3])], [value("total", [4]), value("y", [4, 3])], [("zero", np.zeros(4, np.float32))]),
        [x], [x.sum(axis=1), -np.cumsum(x[:, ::-1], axis=1)[:, ::-1]])

    # Five extents that only the data know: what is assumed for them must leave the session a size that can be had.
    models["data_decide"] = (
        model([helper.make_node("ConstantOfShape", ["size"], ["ones"], value=numpy_helper.from_array(np.ones(1, np.float32))),
               helper.make_node("ReduceSum", ["ones"], ["y"], keepdims=0)],
              [value("size", [5], TensorProto.INT64)], [value("y", [])]),
        [np.array([2, 1, 5, 6, 3])], None)
    return models


def right_models():
    """name -> (model, inputs): a query without keys is 0 for Attention and NaN for its parts; without inputs, models whose inputs say
    axes, steps, rows and shapes, whose open extents are one, or which take codes of 4 bits."""
    import numpy as np
    from onnx import TensorProto, helper, numpy_helper

    def value(name, shape, dtype=TensorProto.FLOAT):
        return helper.make_tensor_value_info(name, dtype, shape)

    def model(nodes, inputs, outputs, **constants):
        graph = helper.make_graph(nodes, "main", inputs, outputs, [numpy_helper.from_array(np.asarray(a), n) for n, a in constants.items()])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)

    rng = np.random.default_rng(1)
    draw = lambda *dims: rng.standard_normal(dims).astype(np.float32)
    may = np.array([[1, 0, 1, 1], [0, 0, 0, 0], [1, 1, 1, 0]], bool)
    masked = model(
        [helper.make_node("Transpose", ["k"], ["kt"], perm=[0, 1, 3, 2]), helper.make_node("MatMul", ["q", "kt"], ["s"]),
         helper.make_node("Mul", ["s", "scale"], ["t"]), helper.make_node("Where", ["may", "t", "low"], ["m"]),
         helper.make_node("Softmax", ["m"], ["p"]), helper.make_node("MatMul", ["p", "v"], ["a"]), helper.make_node("MatMul", ["a", "w"], ["y"])],
        [value("q", [1, 2, 3, 8]), value("k", [1, 2, 4, 8]), value("v", [1, 2, 4, 8]), value("may", [3, 4], TensorProto.BOOL)],
        [value("y", [1, 2, 3, 5])], scale=np.float32(0.3), low=np.float32(-np.inf), w=draw(8, 5))
    sliced = model([helper.make_node("Slice", ["x", "start", "end", "axis", "step"], ["s"]), helper.make_node("Exp", ["s"], ["e"]),
                    helper.make_node("Gather", ["e", "row"], ["g"]), helper.make_node("Identity", ["g"], ["y"])],
                   [value("x", [5, 4])] + [value(n, [1], TensorProto.INT64) for n in ("start", "end", "axis", "step")] + [value("row", [2], TensorProto.INT64)],
                   [value("y", [2, "n"])])
    state = model([helper.make_node("LSTM", ["x", "w", "r", "", "", "h", "c"], ["", "yh", "yc"], hidden_size=3), helper.make_node("Tanh", ["yh"], ["z"])],
                  [value("x", [2, 4, 5]), value("h", [1, "batch", 3]), value("c", [1, "batch", 3])], [value("z", [1, 4, 3]), value("yc", [1, 4, 3])],
                  w=draw(1, 12, 5), r=draw(1, 12, 3))
    shaped = model([helper.make_node("Exp", ["x"], ["e"]), helper.make_node("Reshape", ["e", "shape"], ["y"]),
                    helper.make_node("Resize", ["picture", "", "scales"], ["z"]), helper.make_node("Tile", ["x", "repeats"], ["t"])],
                   [value("x", [2, 6]), value("picture", [1, 1, 2, 2]), value("shape", [2], TensorProto.INT64), value("scales", [4]),
                    value("repeats", [2], TensorProto.INT64)],
                   [value("y", [3, 4]), value("z", [1, 1, 4, 6]), value("t", [4, 18])])
    codes = model([helper.make_node("DequantizeLinear", ["x", "scale"], ["d"]), helper.make_node("Exp", ["d"], ["y"])],
                  [value("x", [3, 5], TensorProto.INT4)], [value("y", [3, 5])], scale=np.float32(0.25))
    codes.opset_import[0].version, codes.ir_version = 21, 10
    return {"shaped": (shaped, None), "codes": (codes, None), "masked": (masked, [draw(1, 2, 3, 8), draw(1, 2, 4, 8), draw(1, 2, 4, 8), may]), "sliced": (sliced, None), "state": (state, None)}


@unittest.skipIf(REASON, REASON)
class RightModels(unittest.TestCase):
    """Models that --check must not refuse."""

    def test_right_models(self):
        import numpy as np
        import onnx
        for name, (model, inputs) in right_models().items():
            path = support.WORK / f"right_{name}.onnx"
            onnx.save(model, path)
            option = "--check"
            if inputs is not None:
                reference = support.WORK / f"right_{name}.npz"
                np.savez(reference, **{f"c0_in{i}": a for i, a in enumerate(inputs)})
                option = f"--check={reference}"
            with self.subTest(name):
                checked(path, f"right_{name}", option)

    def test_inputs_that_cannot_be_made_up(self):
        import onnx
        from onnx import TensorProto, helper
        value = helper.make_tensor_value_info
        graph = helper.make_graph([helper.make_node("Reshape", ["x", "a"], ["r"]), helper.make_node("Split", ["r", "sizes"], ["y", "z"])], "g",
                                  [value("x", 1, [6]), value("a", TensorProto.INT64, [1]), value("sizes", TensorProto.INT64, [2])],
                                  [value("y", 1, ["p"]), value("z", 1, ["q"])])
        path = support.WORK / "steered.onnx"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
        done = support.vireo("convert", path, "-o", support.WORK / "steered.vireo", "--check", check=False)
        self.assertEqual(done.returncode, 1, done.stdout)
        for text in ("VC0305", "--check=REF.npz", '"a", "sizes"'):
            self.assertIn(text, done.stderr)


def run_case(name, model, inputs, wanted):
    import numpy as np
    import onnx
    from onnx.reference import ReferenceEvaluator

    path = support.WORK / f"control_{name}.onnx"
    onnx.save(model, path)
    names = [i.name for i in model.graph.input]
    if wanted is None:
        wanted = ReferenceEvaluator(model).run(None, dict(zip(names, inputs)))
    reference = support.WORK / f"control_{name}.npz"
    np.savez(reference, **{f"c0_in{i}": a for i, a in enumerate(inputs)}, **{f"c0_out{j}": a for j, a in enumerate(wanted)})
    file, _ = checked(path, f"control_{name}", f"--check={reference}")
    result = support.verify(file, reference)
    assert [o["name"] for o in result["outputs"]] == [o.name for o in model.graph.output], result


Control = support.cases(REASON, {} if REASON else {
    name: (lambda name=name, case=case: run_case(name, *case))
    for name, case in control_models().items()})


if __name__ == "__main__":
    support.main()
