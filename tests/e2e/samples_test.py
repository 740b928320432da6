"""The samples' models through the command line: every one converted with each pass checked, verified, and as the tool's other
verbs see it. Needs nothing but this checkout."""
import json
import subprocess
import unittest

import support

MODELS = support.ROOT / "samples" / "models"
MEDIA = support.ROOT / "samples" / "media"


def check(path):
    def run(test):
        stored = path.with_suffix(".npz")
        file = support.convert(path, "sample_" + path.stem, "--check=" + str(stored), "--embed-tests", stored)
        support.verify(file, stored)
        support.verify(path, stored)  # converted in memory
        facts = json.loads(support.vireo("inspect", file, "--json").stdout)
        test.assertEqual(facts["hashes"], "good")
        test.assertEqual(facts["source"], path.name)
        test.assertGreater(facts["tests"], 0)
        test.assertEqual(sum(facts["ops"].values()) > 0, True)
        nodes = json.loads(support.vireo("explain", file, "--json").stdout)["nodes"]
        test.assertTrue(all(n["device"] for n in nodes))
    return run


class Verbs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.detector = support.convert(MODELS / "digit_det_nms.onnx", "verbs_detector")
        cls.front = support.convert(MODELS / "kws_frontend.onnx", "verbs_front", "--shape", "audio=1,16000")
        cls.words = support.convert(MODELS / "kws_dscnn.onnx", "verbs_words", "--shape", "features=1,1,49,40")
        cls.work = support.WORK

    def test_picture_in_npz_out(self):
        out = self.work / "boxes.npz"
        printed = support.vireo("run", self.detector, "--input", f"image={MEDIA / 'digits_1.png'}", "--output", out).stdout
        self.assertIn("0..1", printed)  # what was assumed is told
        reason = support.missing("numpy")
        if reason:
            self.skipTest(reason)
        import numpy
        found = numpy.load(out)
        self.assertEqual(sorted(found.files), ["boxes", "classes", "scores"])
        self.assertEqual(found["boxes"].shape, (len(found["scores"]), 4))

    def test_sound_to_word(self):
        features = self.work / "features.npz"
        support.vireo("run", self.front, "--input", f"audio={MEDIA / 'stop_1.wav'}", "--output", features)
        result = json.loads(support.vireo("run", self.words, "--input", f"features={features}", "--json").stdout)
        self.assertEqual(result["outputs"][0]["top"][0]["index"], 7)  # "stop"

    def test_signature_scales_the_picture(self):
        signature = self.work / "signature.json"
        signature.write_text(json.dumps({"inputs": [{"name": "image", "meaning": "image", "color": "RGB", "resize": "stretch"}]}))
        file = support.convert(MODELS / "digit_mobile.onnx", "verbs_signed", "--shape", "image=1,1,32,32", "--signature", signature)
        printed = support.vireo("run", file, "--input", MEDIA / "digits_1.png").stdout
        self.assertIn("stretched from 320x320 to 32x32", printed)
        self.assertEqual(json.loads(support.vireo("inspect", file, "--json").stdout)["inputs"][0]["meaning"]["resize"], "stretch")

    def test_bench_tells_what_it_promises(self):
        profile = self.work / "profile.json"
        result = json.loads(support.vireo("bench", self.words, "--seconds", "0.1", "--threads", "1", "--profile", profile, "--json").stdout)
        for key in ("median_ms", "p90_ms", "load_ms", "arena_bytes", "peak_rss_bytes"):
            self.assertGreater(result[key], 0, key)
        self.assertLessEqual(result["median_ms"], result["p90_ms"])
        trace = json.loads(profile.read_text())
        self.assertTrue(any(e["ph"] == "X" and e["dur"] > 0 for e in trace["traceEvents"]))
        for n in trace["nodes"]:
            self.assertLessEqual(n["p10_us"], n["p50_us"], n)
            self.assertLessEqual(n["p50_us"], n["p90_us"], n)
        # Each share is a node's median of one and the same median of the run, and the nodes are most of a run.
        runs = [n["p50_us"] / n["share"] for n in trace["nodes"] if n["share"] > 0]
        self.assertAlmostEqual(min(runs) / max(runs), 1, places=6)
        self.assertTrue(0.3 < sum(n["share"] for n in trace["nodes"] if n["depth"] == 0) < 1.3)

    def test_selftest(self):
        file = support.convert(MODELS / "kws_gru.onnx", "verbs_selftest", "--embed-tests", MODELS / "kws_gru.npz",
                               "--shape", "features=1..4,49,40")
        self.assertTrue(json.loads(support.vireo("selftest", file, "--json").stdout)["pass"])
        none = support.vireo("selftest", self.words, check=False)
        self.assertEqual(none.returncode, 1)
        self.assertIn("--embed-tests", none.stderr)

    def test_selftest_of_inputs_that_decide_extents_and_of_strings(self):
        reason = support.missing("onnx", "numpy")
        if reason:
            self.skipTest(reason)
        import numpy
        from onnx import helper
        x, k, t = numpy.float32([3, 1, 2]), [2, 1, 3], numpy.array(["one", "", "three"], dtype=object)
        graph = helper.make_graph(
            [helper.make_node("TopK", ["x", "k"], ["v", "i"]), helper.make_node("Identity", ["t"], ["u"])], "g",
            [helper.make_tensor_value_info("x", 1, [3]), helper.make_tensor_value_info("k", 7, [1]), helper.make_tensor_value_info("t", 8, [3])],
            [helper.make_tensor_value_info("v", 1, ["n"]), helper.make_tensor_value_info("i", 7, ["n"]), helper.make_tensor_value_info("u", 8, [3])])
        path, reference = self.work / "top.onnx", self.work / "top.npz"
        path.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString())
        arrays = {}
        for case, n in enumerate(k):
            arrays.update({f"c{case}_in0": x, f"c{case}_in1": numpy.int64([n]), f"c{case}_in2": t.astype("U"),
                           f"c{case}_out0": numpy.sort(x)[::-1][:n], f"c{case}_out1": numpy.argsort(-x)[:n], f"c{case}_out2": t.astype("U")})
        numpy.savez(reference, **arrays)
        file = support.convert(path, "verbs_selftest_top", "--embed-tests", reference)
        result = json.loads(support.vireo("selftest", file, "--json").stdout)
        self.assertEqual([test["pass"] for test in result["tests"]], [True] * 3)

    def test_verify_finds_a_wrong_answer(self):
        done = support.vireo("verify", self.words, MODELS / "kws_gru.npz", check=False)
        self.assertEqual(done.returncode, 1)  # another input shape
        reason = support.missing("numpy")
        if reason:
            self.skipTest(reason)
        import numpy
        stored = dict(numpy.load(MODELS / "kws_dscnn.npz"))
        stored = {k: v for k, v in stored.items() if k.startswith("c1_")}
        wrong = self.work / "wrong.npz"
        for name, change in {"larger": lambda y: y * 1.01, "nan": lambda y: numpy.where(y == y.max(), numpy.nan, y)}.items():
            numpy.savez(wrong, **{**stored, "c1_out0": change(stored["c1_out0"])})
            done = support.vireo("verify", self.words, wrong, "--json", check=False)
            self.assertEqual(done.returncode, 1, name)
            self.assertFalse(json.loads(done.stdout)["outputs"][0]["pass"], name)
        numpy.savez(wrong, **{**stored, "c1_out0_noopt": stored["c1_out0"], "c1_out0": stored["c1_out0"] * 1.01})
        self.assertEqual(support.verify(self.words, wrong)["outputs"][0]["reference"], "c1_out0_noopt")

    def test_devices_and_version(self):
        names = [d["name"] for d in json.loads(support.vireo("devices", "--json").stdout)["devices"]]
        self.assertIn("cpu", names)
        self.assertRegex(support.vireo("--version").stdout, r"^vireo \d+\.\d+\.\d+\n$")

    def test_help_shows_examples_for_every_verb(self):
        for verb in ("convert", "check", "run", "verify", "bench", "inspect", "explain", "devices", "selftest", "conformance", "completion"):
            self.assertIn("Example", support.vireo(verb, "--help").stdout, verb)

    def test_completion_scripts_parse(self):
        for shell in ("bash", "zsh", "fish"):
            script = support.vireo("completion", shell).stdout
            self.assertIn("conformance", script)
            try:
                done = subprocess.run([shell, "-n"], input=script, text=True, capture_output=True, check=False, env=support.PROGRAM_ENVIRONMENT)
            except FileNotFoundError:
                continue  # that shell is not installed here
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_check_tells_operators(self):
        self.assertIn("conv 9", support.vireo("check", MODELS / "kws_dscnn.onnx").stdout)

    def test_reports(self):
        for ending in ("json", "html"):
            report = self.work / ("report." + ending)
            support.convert(MODELS / "kws_dscnn.onnx", "verbs_report", "--report", report)
            self.assertIn("conv", report.read_text())


Samples = support.cases("", {p.stem: check(p) for p in sorted(MODELS.glob("*.onnx"))})

if __name__ == "__main__":
    support.main()
