"""GPUs through one API: ONNX's operator cases and whole models, cut at random between the GPU and the CPU.

Any device that the machine has will do, lavapipe's among them; no test asks for one. Skips where the build has no plug-in
or the machine no device. VIREO_CASES says which share of the operator cases runs: every N-th, default 12.
"""
import json
import os
import re
import subprocess
import sys
import unittest

import support

MODELS = support.ROOT / "samples" / "models"
EVERY = os.environ.get("VIREO_CASES", "12")
SAMPLES = [  # a model, the shape of its input
    ("kws_dscnn", "features=1,1,49,40"),
    ("kws_gru", "features=1,49,40"),
    ("glyphs", "image=1,1,24,24"),
    ("digit_mobile", "image=1,1,32,32"),
]


class Cases:
    """Mixed into a TestCase that says which device, and which option builds its plug-in."""
    device = option = ""

    @classmethod
    def plugin(cls):
        return support.BUILD / "plugins" / f"libvireo_{cls.device}.so"

    @classmethod
    def missing(cls):
        """Why nothing can run on a GPU here; "" where it can."""
        if not cls.plugin().exists():
            return f"this build is without the {cls.device} plug-in ({cls.option}, VIREO_PLUGINS)"
        listed = json.loads(support.vireo("devices", "--json", "--plugins", cls.plugin()).stdout)
        if any(d["delegate"] == cls.device for d in listed["devices"]):
            return ""
        return f"no device of {cls.device}: " + "; ".join(p["reason"] for p in listed["plugins"] if p["reason"])

    @classmethod
    def setUpClass(cls):
        reason = cls.missing()
        if reason:
            print("skipped:", reason)
            raise unittest.SkipTest(reason)

    def test_operator_cases(self):
        reason = support.missing("onnx")
        if reason:
            self.skipTest(reason)
        done = subprocess.run([sys.executable, "-B", support.ROOT / "tests" / "conformance.py", support.VIREO, "--every", EVERY, "--device", self.device],
                              env={**os.environ, "VIREO_PLUGINS": str(self.plugin())}, capture_output=True, text=True, check=False)
        passed, failed, _ = (int(n) for n in re.findall(r"\d+", done.stderr.splitlines()[-1]))
        print(f"\n{passed} cases pass on the GPU")
        self.assertEqual(failed, 0, done.stdout)
        self.assertGreater(passed, 0)

    def test_models_are_right_wherever_they_are_cut(self):
        for name, shape in SAMPLES:
            with self.subTest(name):
                file = support.convert(MODELS / f"{name}.onnx", f"{self.device}_{name}", "--shape", shape)
                done = support.vireo("verify", file, "--placements", "4", "--device", f"{self.device},cpu", "--plugins", self.plugin(), "--atol", "1e-4", "--json", check=False)
                self.assertIn(done.returncode, (0, 1), done.stderr)
                told = json.loads(done.stdout)
                for p in told["placements"]:
                    self.assertTrue(p["pass"], f"placement {p['seed']}: {p['reason']}")
                    self.assertEqual(p["failovers"], 0)
                print(f"\n{name}: " + ", ".join(f"{d} {s:.0%}" for d, s in told["share"].items()))
                self.assertGreater(told["share"].get(self.device, 0), 0)

    def test_integers_are_the_cpus_to_the_bit(self):
        for name in ("integer_golden", "integer_golden_wide"):
            with self.subTest(name):
                done = support.vireo("verify", support.ROOT / "tests" / "golden" / f"{name}.vireo", "--placements", "4", "--device", f"{self.device},cpu", "--plugins", self.plugin(),
                                     "--json", check=False)
                self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
                told = json.loads(done.stdout)
                self.assertGreater(told["share"].get(self.device, 0), 0)
                for p in told["placements"]:
                    self.assertTrue(p["identical"], f"placement {p['seed']} differs from the CPU by {p['max_abs']}")

    # Both products of attention and the softmax between them, as a file of another quantizer has them.
    def test_attention_of_codes_is_the_cpus_to_the_bit(self):
        reason = support.missing("numpy", "onnx")
        if reason:
            self.skipTest(reason)
        import numpy as np
        import vireo
        runtime, rng = vireo.Runtime(plugins=[self.plugin()]), np.random.default_rng(1)
        for heads, queries, keys, size, masked in ((3, 197, 197, 64, False), (2, 5, 33, 7, True), (1, 70, 1, 16, False)):
            with self.subTest(queries=queries, masked=masked):
                path = support.WORK / f"{self.device}_attention_codes_{queries}.onnx"
                self.save_attention_of_codes(path, heads, queries, keys, size, masked)
                model = vireo.Model(support.convert(path), runtime=runtime)
                card, cpu = model.session(device=self.device), model.session(device="cpu")
                self.assertIn("attention_codes", [node.op for node in card.nodes])
                self.assertEqual({node.device for node in card.nodes if node.depth == 0}, {self.device})
                for _ in range(3):
                    codes = [rng.integers(0, 256, (heads, rows, size), np.uint8) for rows in (queries, keys, keys)]
                    got, wanted = card.run(*codes)[0], cpu.run(*codes)[0]
                    self.assertTrue(np.array_equal(got, wanted), f"{np.count_nonzero(got != wanted)} of {got.size} codes differ")
                    self.assertGreater(np.unique(wanted).size, 8, "the codes say nothing")

    @staticmethod
    def save_attention_of_codes(path, heads, queries, keys, size, masked):
        import numpy as np
        import onnx
        from onnx import TensorProto, helper
        nodes, constants, values = [], [], {"q": ([heads, queries, size], 0.02, 120), "k": ([heads, keys, size], 0.03, 131), "v": ([heads, keys, size], 0.05, 128)}

        def scales(name, scale, zero):
            constants.append(onnx.numpy_helper.from_array(np.float32(scale), f"{name}_scale"))
            constants.append(onnx.numpy_helper.from_array(np.uint8(zero), f"{name}_zero"))
            return [f"{name}_scale", f"{name}_zero"]

        def real(name, scale, zero):  # the numbers of codes
            nodes.append(helper.make_node("DequantizeLinear", [name, *scales(name, scale, zero)], [f"{name}_real"]))

        def coded(op, inputs, name, scale, zero, **attributes):
            nodes.append(helper.make_node(op, inputs, [f"{name}_exact"], **attributes))
            nodes.append(helper.make_node("QuantizeLinear", [f"{name}_exact", *scales(name, scale, zero)], [name]))

        for name, (_, scale, zero) in values.items():
            real(name, scale, zero)
        nodes.append(helper.make_node("Transpose", ["k_real"], ["turned"], perm=[0, 2, 1]))
        coded("MatMul", ["q_real", "turned"], "scores", 0.1, 100)
        nodes.append(helper.make_node("DequantizeLinear", ["scores", "scores_scale", "scores_zero"], ["scores_real"]))
        shown = "scores_real"
        if masked:
            constants.append(onnx.numpy_helper.from_array(np.tri(queries, keys, 3, dtype=bool), "kept"))
            constants.append(onnx.numpy_helper.from_array(np.float32(-1e30), "never"))
            nodes.append(helper.make_node("Where", ["kept", "scores_real", "never"], ["hidden"]))
            shown = "hidden"
        coded("Softmax", [shown], "shares", 1 / 255, 0, axis=-1)
        nodes.append(helper.make_node("DequantizeLinear", ["shares", "shares_scale", "shares_zero"], ["shares_real"]))
        coded("MatMul", ["shares_real", "v_real"], "y", 0.04, 128)
        graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info(n, TensorProto.UINT8, dims) for n, (dims, _, _) in values.items()],
                                  [helper.make_tensor_value_info("y", TensorProto.UINT8, [heads, queries, size])], constants)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)

    # One session, sizes up and down; what it met before is not prepared again. Of a batch of none a CPU does the work.
    def test_extents_change_from_run_to_run(self):
        reason = support.missing("numpy")
        if reason:
            self.skipTest(reason)
        import numpy as np
        import vireo
        runtime = vireo.Runtime(plugins=[self.plugin()])
        for name, dims in (("digit_mobile", (1, 32, 32)), ("kws_gru", (49, 40))):
            with self.subTest(name):
                model = vireo.Model(support.convert(MODELS / f"{name}.onnx", f"{self.device}_open_{name}"), runtime=runtime)
                bound = {model.inputs[0].shape[0][0]: (0, 6)}
                card, cpu = model.session(bound, device=f"{self.device},cpu"), model.session(bound, device="cpu")
                self.assertTrue(any(node.device == self.device for node in card.nodes), "nothing runs on the GPU")
                rng = np.random.default_rng(1)
                for batch in (6, 1, 3, 0, 6, 1):
                    x = rng.standard_normal((batch, *dims), np.float32)
                    got, wanted = card.run(x), cpu.run(x)
                    for y, exact in zip(got, wanted):
                        self.assertEqual(y.shape, exact.shape)
                        self.assertLess(np.abs(y - exact).max(initial=0), 1e-3 * (1 + np.abs(exact).max(initial=0)), f"batch {batch}")

    # An index that is outside is an error of the run, which names the node; the next run is right.
    def test_a_wrong_index_is_an_error(self):
        reason = support.missing("numpy", "onnx")
        if reason:
            self.skipTest(reason)
        import numpy as np
        import onnx
        import vireo
        from onnx import TensorProto, helper
        table = np.arange(12, dtype=np.float32).reshape(4, 3)
        graph = helper.make_graph([helper.make_node("Gather", ["table", "i"], ["g"], name="rows"), helper.make_node("Relu", ["g"], ["y"])], "g",
                                  [helper.make_tensor_value_info("i", TensorProto.INT64, [2])], [helper.make_tensor_value_info("y", 1, [2, 3])],
                                  [onnx.numpy_helper.from_array(table, "table")])
        path = support.WORK / f"{self.device}_rows.onnx"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
        session = vireo.Model(support.convert(path), runtime=vireo.Runtime(plugins=[self.plugin()])).session(device=self.device)
        for _ in range(2):
            self.assertEqual(session.run(np.array([3, -4]))[0].tolist(), table[[3, 0]].tolist())
            with self.assertRaises(vireo.VireoError) as raised:
                session.run(np.array([1, 4]))
            self.assertEqual(raised.exception.node, "rows")
            self.assertIn("outside", str(raised.exception))


    # Each kind of Resize, on and off whole numbers, against the CPU.
    def test_resize(self):
        reason = support.missing("numpy", "onnx")
        if reason:
            self.skipTest(reason)
        import numpy as np
        import onnx
        import vireo
        from onnx import TensorProto, helper
        runtime, rng = vireo.Runtime(plugins=[self.plugin()]), np.random.default_rng(1)
        kinds = [(mode, way) for mode in ("nearest", "linear", "cubic")
                 for way in ("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel", "half_pixel_symmetric", "tf_crop_and_resize")]
        for k, (mode, way) in enumerate(kinds):
            crops, whole = way == "tf_crop_and_resize", k % 3 == 0
            dtype = np.uint8 if k % 5 == 4 else np.float32
            scales = np.array([1, 1, 0.6, 2.3] if k % 2 else [1, 1, 2, 0.5], np.float32)
            extra = {"extrapolation_value": 0.0} if crops else {"antialias": 1} if mode != "nearest" and k % 4 == 1 else {}
            node = helper.make_node("Resize", ["x", "roi" if crops else "", "scales"], ["y"], mode=mode, coordinate_transformation_mode=way,
                                    exclude_outside=int(mode == "cubic" and not crops and whole), **extra)
            constants = [onnx.numpy_helper.from_array(scales, "scales")]
            if crops:
                constants.append(onnx.numpy_helper.from_array(np.array([0, 0, .1, .2, 1, 1, .8, 1.2], np.float32), "roi"))
            tensor = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
            graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", tensor, [2, 3, 10, 7])],
                                      [helper.make_tensor_value_info("y", tensor, None)], constants)
            path = support.WORK / f"{self.device}_resize_{k}.onnx"
            onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=8), path)
            model = vireo.Model(support.convert(path), runtime=runtime)
            x = rng.integers(0, 255, (2, 3, 10, 7), np.uint8) if dtype == np.uint8 else rng.standard_normal((2, 3, 10, 7), np.float32)
            with self.subTest(f"{mode}, {way}, {dtype.__name__}"):
                got, wanted = model.session(device=self.device).run(x)[0], model.session(device="cpu").run(x)[0]
                self.assertEqual(got.shape, wanted.shape)
                # Sums in float32 here, in float64 there: a tie may be the neighbouring byte.
                self.assertLessEqual(np.abs(got.astype(np.float64) - wanted).max(), 1 if dtype == np.uint8 and mode != "nearest" else 1e-5)


    # What reads, writes or orders elements by their contents, and recurrent cells in both directions, against the CPU.
    def test_places_that_data_say(self):
        reason = support.missing("numpy", "onnx")
        if reason:
            self.skipTest(reason)
        import numpy as np
        import onnx
        import vireo
        from onnx import helper
        runtime, rng = vireo.Runtime(plugins=[self.plugin()]), np.random.default_rng(1)

        def drawn(*dims):
            return rng.standard_normal(dims).astype(np.float32)

        def judge(name, node, feed, constants, tolerance=0.0):
            values = {k: helper.make_tensor_value_info(k, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for k, v in feed.items()}
            graph = helper.make_graph([node], "g", list(values.values()), [helper.make_empty_tensor_value_info(y) for y in node.output if y],
                                      [onnx.numpy_helper.from_array(v, k) for k, v in constants.items()])
            path = support.WORK / f"{self.device}_places_{name}.onnx"
            onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), path)
            model = vireo.Model(support.convert(path), runtime=runtime)
            with self.subTest(name):
                for got, wanted in zip(model.session(device=self.device).run(feed=feed), model.session(device="cpu").run(feed=feed)):
                    self.assertEqual(got.shape, wanted.shape)
                    self.assertLessEqual(np.abs(got.astype(np.float64) - wanted).max(), tolerance)
            return model

        image = drawn(2, 3, 6, 5)
        grid = (rng.random((2, 4, 7, 2)) * 3 - 1.5).astype(np.float32)
        for mode in ("linear", "nearest", "cubic"):
            for padding in ("zeros", "border", "reflection"):
                for corners in (0, 1):
                    node = helper.make_node("GridSample", ["x", "grid"], ["y"], mode=mode, padding_mode=padding, align_corners=corners)
                    judge(f"grid_{mode}_{padding}_{corners}", node, {"x": image, "grid": grid}, {}, 2e-5)
        for mode in ("edge", "reflect", "wrap"):
            node = helper.make_node("Pad", ["x", "pads"], ["y"], mode=mode)
            judge(f"pad_{mode}", node, {"x": image}, {"pads": np.array([0, 0, 2, -1, 0, 1, 3, 2], np.int64)})
        equal = np.round(drawn(3, 40))
        judge("top", helper.make_node("TopK", ["x", "k"], ["values", "places"], axis=0), {"x": equal}, {"k": np.array([2], np.int64)})
        judge("least", helper.make_node("TopK", ["x", "k"], ["", "places"], largest=0), {"x": equal}, {"k": np.array([9], np.int64)})
        rows = rng.integers(-6, 6, (5, 3))
        for reduction in ("none", "add", "max"):
            judge(f"scatter_{reduction}", helper.make_node("ScatterElements", ["x", "i", "u"], ["y"], reduction=reduction),
                  {"x": drawn(6, 4), "i": rows, "u": drawn(5, 3)}, {}, 1e-6)
        gates = {"LSTM": 4, "GRU": 3, "RNN": 1}
        for op, n in gates.items():
            node = helper.make_node(op, ["x", "w", "r", "b", "lengths"], ["y", "h"], hidden_size=24, direction="bidirectional")
            feed = {"x": drawn(7, 3, 10), "lengths": np.array([7, 0, 4], np.int32)}
            model = judge(op, node, feed, {"w": drawn(2, n * 24, 10) / 4, "r": drawn(2, n * 24, 24) / 5, "b": drawn(2, 2 * n * 24)}, 1e-5)
            feed["lengths"][1] = 8
            with self.assertRaises(vireo.VireoError) as raised:
                model.session(device=self.device).run(feed=feed)
            self.assertIn("a length is outside", str(raised.exception))

    # Few tiles and much depth: shares of it are summed by a launch of their own. Batched, grouped, with what follows fused.
    def test_deep_products(self):
        reason = support.missing("numpy", "onnx")
        if reason:
            self.skipTest(reason)
        import numpy as np
        import onnx
        import vireo
        from onnx import TensorProto, helper
        runtime, rng = vireo.Runtime(plugins=[self.plugin()]), np.random.default_rng(1)

        def model(name, nodes, inputs, constants):
            graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info(k, 1, d) for k, d in inputs.items()],
                                      [helper.make_tensor_value_info("y", 1, None)], [onnx.numpy_helper.from_array(v, k) for k, v in constants.items()])
            path = support.WORK / f"{self.device}_deep_{name}.onnx"
            onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
            return vireo.Model(support.convert(path), runtime=runtime)

        def drawn(*dims):
            return rng.standard_normal(dims).astype(np.float32) / 8
        node = helper.make_node
        conv = [node("Conv", ["x", "w", "b"], ["c"], pads=[1, 1, 1, 1]), node("Add", ["c", "z"], ["d"]), node("Relu", ["d"], ["y"])]
        for name, nodes, inputs, constants in (
                ("conv", conv, {"x": [1, 256, 7, 7], "z": [1, 64, 7, 7]}, {"w": drawn(64, 256, 3, 3), "b": drawn(64)}),
                ("matmul", [node("MatMul", ["x", "w"], ["p"]), node("Add", ["p", "z"], ["y"])], {"x": [1, 70, 768], "z": [1, 70, 96]}, {"w": drawn(768, 96)}),
                ("batched", [node("MatMul", ["x", "z"], ["y"])], {"x": [3, 20, 512], "z": [3, 512, 33]}, {})):
            with self.subTest(name):
                made = model(name, nodes, inputs, constants)
                feed = {k: drawn(*d) for k, d in inputs.items()}
                got, wanted = made.session(device=self.device).run(feed=feed)[0], made.session(device="cpu").run(feed=feed)[0]
                self.assertLess(np.abs(got - wanted).max(), 2e-5 * np.abs(wanted).max())


    # Weights of 4 bits in blocks: of one row, which may read the codes themselves, and of several.
    def test_weights_of_blocks(self):
        reason = support.missing("numpy", "onnx")
        if reason:
            self.skipTest(reason)
        import numpy as np
        import onnx
        import vireo
        from onnx import helper, numpy_helper
        runtime, rng = vireo.Runtime(plugins=[self.plugin()]), np.random.default_rng(1)
        constants = [numpy_helper.from_array(rng.standard_normal(d).astype(np.float32) / 8, k) for k, d in (("v", (128, 96)), ("w", (96, 64)))]
        nodes = [helper.make_node("MatMul", ["x", "v"], ["p"]), helper.make_node("Sigmoid", ["p"], ["s"]), helper.make_node("Mul", ["p", "s"], ["q"]),
                 helper.make_node("MatMul", ["q", "w"], ["r"]), helper.make_node("Add", ["r", "z"], ["y"])]
        for rows in (1, 3):
            with self.subTest(rows=rows):
                graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", 1, [rows, 128]), helper.make_tensor_value_info("z", 1, [rows, 64])],
                                          [helper.make_tensor_value_info("y", 1, None)], constants)
                path = support.WORK / f"{self.device}_blocks_{rows}.onnx"
                onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
                model = vireo.Model(support.convert(path, f"{self.device}_blocks_{rows}", "--quantize", "int4"), runtime=runtime)
                card, cpu = model.session(device=f"{self.device},cpu"), model.session(device="cpu")
                self.assertEqual([node.device for node in card.nodes if node.op == "matmul_codes"], [self.device] * 2)
                feed = {"x": rng.standard_normal((rows, 128)).astype(np.float32), "z": rng.standard_normal((rows, 64)).astype(np.float32)}
                got, wanted = card.run(feed=feed)[0], cpu.run(feed=feed)[0]
                self.assertLess(np.abs(got - wanted).max(), 2e-5 * np.abs(wanted).max())

    # Axes, starts, pads and sizes that each run brings anew, in one session.
    def test_lists_of_a_run(self):
        reason = support.missing("numpy", "onnx")
        if reason:
            self.skipTest(reason)
        import numpy as np
        import onnx
        import vireo
        from onnx import TensorProto, helper
        runtime = vireo.Runtime(plugins=[self.plugin()])
        x = np.random.default_rng(1).standard_normal((1, 2, 6, 5)).astype(np.float32)

        def ints(*values):
            return np.array(values, np.int64)
        cases = (
            ("ReduceSum", {"axes": [ints(1), ints(3), ints(-2)]}, {}),
            ("CumSum", {"axis": [ints(2), ints(3), ints(2)]}, {}),
            ("Slice", {"starts": [ints(0, 1), ints(2, 0), ints(5, 4)], "ends": [ints(4, 5), ints(6, 2), ints(6, 5)], "axes": [ints(2, 3)] * 3}, {}),
            ("Pad", {"pads": [ints(0, 0, 1, 2, 0, 0, 0, 1), ints(0, 0, 0, 0, 0, 1, 2, 0), ints(*[0] * 8)]}, {}),
            ("Resize", {"": None, "scales": [np.array([1, 1, s, t], np.float32) for s, t in ((2, 1.5), (.5, 1), (1, 2))]}, {"mode": "linear"}))
        for op, lists, attributes in cases:
            names = [n for n in lists if n]
            kinds = {n: helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(lists[n][0].dtype), lists[n][0].shape) for n in names}
            graph = helper.make_graph([helper.make_node(op, ["x", *lists], ["y"], **attributes)], "g",
                                      [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape), *kinds.values()],
                                      [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
            path = support.WORK / f"{self.device}_lists_{op}.onnx"
            onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=8), path)
            model = vireo.Model(support.convert(path), runtime=runtime)
            bounds = {d[0]: (0, 16) for d in model.outputs[0].shape if not isinstance(d, int) and d[0]}
            card, cpu = model.session(bounds, device=f"{self.device},cpu"), model.session(bounds, device="cpu")
            with self.subTest(op):
                self.assertEqual([n.device for n in card.nodes], [self.device] * len(card.nodes))
                for k in (0, 1, 2, 1, 0):
                    feed = {"x": x, **{n: lists[n][k] for n in names}}
                    got, wanted = card.run(feed=feed)[0], cpu.run(feed=feed)[0]
                    self.assertEqual(got.shape, wanted.shape, f"list {k}")
                    self.assertLess(np.abs(got - wanted).max(initial=0), 1e-5, f"list {k}")

