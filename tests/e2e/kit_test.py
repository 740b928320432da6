"""vireo delegate-test, the vendors' test of a plug-in: a good one passes, and of each bad one it names the case that shows it."""
import concurrent.futures
import json
import shutil
import unittest

import support

NPU = support.BUILD / "plugins" / "libvireo_npu.so"
DEADLY = support.BUILD / "test" / "deadly"
TOYS = support.BUILD / "test" / "toys"


def test(plugin, *options, **environment):
    done = support.vireo("delegate-test", plugin, "--json", *options, check=False, environment=environment)
    told = json.loads(done.stdout)
    return done.returncode, told, [c for c in told["cases"] if c["status"] == "failed"]


def toy_model(name, rows):
    """Nodes that the toy device takes, all of a shape; `rows` may be a name."""
    import onnx
    from onnx import TensorProto as T, helper as h
    nodes = [h.make_node("Neg", ["x"], ["a"]), h.make_node("Add", ["a", "x2"], ["b"]), h.make_node("Mul", ["b", "a"], ["c"]), h.make_node("Abs", ["c"], ["y"])]
    value = lambda name: h.make_tensor_value_info(name, T.FLOAT, [rows, 40])
    graph = h.make_graph(nodes, "toy", [value("x"), value("x2")], [value("y")])
    onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), support.WORK / f"{name}.onnx")
    return support.convert(support.WORK / f"{name}.onnx", name, "--no-optimize")


class Kit(unittest.TestCase):
    @unittest.skipUnless(NPU.exists(), "this build is without the npu plug-in (VIREO_NPU, VIREO_PLUGINS)")
    def test_the_npu_passes(self):
        status, told, failed = test(NPU, support.ROOT / "tests" / "golden" / "integer_golden.vireo")
        self.assertEqual((status, failed), (0, []))
        self.assertGreater(told["passed"], 25)
        for case in told["cases"]:
            if case["status"] == "left":
                self.assertTrue(case["text"], case)

    @unittest.skipUnless(NPU.exists(), "this build is without the npu plug-in (VIREO_NPU, VIREO_PLUGINS)")
    def test_it_passes_on_each_memory(self):
        for memory in ("own", "import"):
            with self.subTest(memory):
                status, told, failed = test(NPU, VIREO_NPU_MEMORY=memory)
                self.assertEqual((status, failed), (0, []))
                buffers = [c for c in told["cases"] if "buffers" in c["case"] or "handles" in c["case"]]
                self.assertEqual([c["status"] for c in buffers], ["passed"] * 3, buffers)

    @unittest.skipUnless(DEADLY.exists(), "this build is without the plug-ins of tests/plugin")
    def test_bad_ones_are_named(self):
        kinds = (("crash_open", "opening", "crashed (signal 6)"), ("exit_open", "opening", "ended the process (status 3)"),
                 ("hang_open", "opening", "had no answer in 2 s"), ("crash_claim", "answers", "crashed (signal 6)"),
                 ("crash_submit", "answers", "crashed (signal 6)"), ("hang_submit", "answers", "had no answer in 2 s"),
                 ("wrong", "answers", "computed wrong values in integer operators"),
                 ("lies", "memory", "claimed integer operators and then failed"))
        # What hangs is waited for side by side; what ends gets all the time that a busy machine wants.
        with concurrent.futures.ThreadPoolExecutor() as pool:
            told_of = pool.map(lambda kind: test(DEADLY / f"hostile_{kind[0]}.so", "--seconds", "2" if "hang" in kind[0] else "120"), kinds)
            for (kind, section, what), (status, told, failed) in zip(kinds, told_of):
                with self.subTest(kind):
                    self.assertEqual(status, 1)
                    self.assertTrue(any(c["section"] == section and what in c["text"] for c in failed), failed)

    @unittest.skipUnless(TOYS.exists(), "this build is without the plug-ins of tests/plugin")
    @unittest.skipIf(support.missing("onnx"), "onnx is not installed")
    def test_wrong_answers_are_failures(self):
        """Of devices that say that all went well: the kit puts nothing right, and looks where they do not expect it."""
        models = toy_model("kit_static", 4), toy_model("kit_open", "n")
        rows = (("one_shape", "models", "kit_static", "output 'y' of case 0"), ("tail", "answers", "float32 Relu 3x7", "of 21 is "),
                ("second", "answers", "float32 Relu 1x16", "in the second run of a session"),
                ("lazy", "answers", "float32 Relu 1x16", "wrong values"),
                ("stale", "answers", "float32 Relu 1x16", "in the second run of a session"),
                ("second", "models", "kit_static", "output 'y' of case 1"), ("lazy", "models", "kit_static", "output 'y' of case 0"),
                ("input", "answers", "float32 Add 1x16", "wrote into an input of float32 Add 1x16"),
                ("saturates", "answers", "float32 Relu 1x16", "in a run on values of any size"),
                ("percent", "answers", "float32 Relu 1x16", "wrong values"),
                ("product", "answers", "float32 Mul 5x33", "wrong values"),
                ("logs", "answers", "float32 Relu 1x16", "status 6 (it logged: toy_dsp: it has no firmware)"),
                ("second", "threads", "two sessions at once", "in the second run of a session"),
                ("idle", "answers", "is used, toy_dsp", "it ran no node of any model"))
        for kind, section, case, what in rows[::support.DATA_STEP]:
            with self.subTest(f"{kind}, {section}"):
                status, _, failed = test(TOYS / f"toy_{kind}.so", *models)
                self.assertEqual(status, 1)
                self.assertTrue(any(c["section"] == section and case in c["case"] and what in c["text"] for c in failed), failed)
        status, told, failed = test(TOYS / "toy_right.so", *models)
        self.assertEqual((status, failed), (0, []))
        # It takes fixed shapes, which the open model has in the two sessions whose bounds leave one extent.
        self.assertEqual([c["status"] for c in told["cases"] if c["section"] == "models"], ["passed", "passed"])

    @unittest.skipUnless(TOYS.exists(), "this build is without the plug-ins of tests/plugin")
    @unittest.skipIf(support.missing("onnx"), "onnx is not installed")
    def test_verify_and_explain_say_what_the_device_computes(self):
        import numpy as np
        file, reference = toy_model("kit_static", 4), support.WORK / "kit_static.npz"
        x, x2 = np.random.default_rng(4).standard_normal((2, 4, 40), np.float32)
        np.savez(reference, c0_in0=x, c0_in1=x2, c0_out0=np.abs((x2 - x) * -x))

        def ran(verb, kind, *options):
            done = support.vireo(verb, file, *options, "--device", "toy_dsp,cpu", "--plugins", TOYS / f"toy_{kind}.so", "--json", check=False,
                                 environment={"VIREO_PROBE": "off"})
            return done.returncode, json.loads(done.stdout)
        for options in (("--placements", "3"), (reference, "--placements", "3"), (reference,)):
            with self.subTest(options):
                self.assertEqual(ran("verify", "right", *options)[0], 0)
                status, told = ran("verify", "one_shape", *options)
                self.assertEqual((status, told["pass"]), (1, False))
                if "--placements" in options:
                    self.assertEqual({s["device"] for s in told["suspects"]}, {"toy_dsp"})
                status, told = ran("verify", "one_shape", *options, "--failover")
                self.assertEqual((status, told["pass"]), (0, True))
        self.assertEqual(ran("verify", "second", "--placements", "3")[0], 1)
        failed = support.vireo("verify", file, "--placements", "1", "--device", "toy_dsp", "--plugins", TOYS / "toy_logs.so", check=False,
                               environment={"VIREO_PROBE": "off"})
        self.assertIn("error: toy_dsp: it has no firmware", failed.stderr)
        devices = {kind: {d["device"]: d["nodes"] for d in ran("explain", kind)[1]["devices"]} for kind in ("right", "one_shape")}
        self.assertEqual(devices, {"right": {"toy_dsp": 4}, "one_shape": {"cpu": 4}})
        self.assertEqual(ran("verify", "one_shape", reference, "--failover")[1]["device"], "cpu")

    @unittest.skipUnless(TOYS.exists(), "this build is without the plug-ins of tests/plugin")
    @unittest.skipIf(support.missing("onnx"), "onnx is not installed")
    def test_conformance_says_which_device_ran_the_cases(self):
        import numpy as np
        from onnx import numpy_helper
        toy_model("kit_case", 4)
        data = support.WORK / "kit_cases" / "case" / "test_data_set_0"
        data.mkdir(parents=True, exist_ok=True)
        shutil.copy(support.WORK / "kit_case.onnx", data.parent / "model.onnx")
        x, x2 = np.random.default_rng(4).standard_normal((2, 4, 40), np.float32)
        for name, values in (("input_0", x), ("input_1", x2), ("output_0", np.abs((x2 - x) * -x))):
            (data / f"{name}.pb").write_bytes(numpy_helper.from_array(values).SerializeToString())
        done = support.vireo("conformance", data.parent, "--device", "toy_dsp,cpu", "--plugins", TOYS / "toy_right.so")
        self.assertIn("1 passed, 0 failed, 0 refused, of 1\npassed by device: toy_dsp 1\n", done.stdout)

    def test_no_such_file(self):
        done = support.vireo("delegate-test", "/nowhere/libx.so", check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("/nowhere/libx.so", done.stderr)


if __name__ == "__main__":
    support.main()
