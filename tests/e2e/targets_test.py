"""Targets: one file for two of them, with plans, packed weights and compiled parts; what a second load does not do again;
what a stale or hostile file leads to; profiles that a user writes.

Skips where the build has no plug-ins (VIREO_PLUGINS, VIREO_NPU).
"""
import json
import subprocess
import sys
import unittest

import browser
import support

MODELS = support.ROOT / "samples" / "models"
PLUGIN = support.BUILD / "plugins" / "libvireo_npu.so"


def compiled(report):
    """How many parts the npu's compiler made, by its report; the driver writes an empty list where there were none."""
    return len(json.loads(report.read_text()))


@unittest.skipUnless(PLUGIN.exists(), "this build is without the npu plug-in (VIREO_NPU, VIREO_PLUGINS)")
class Targets(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        reason = support.missing("numpy", "onnxruntime")
        if reason:
            raise unittest.SkipTest(reason)
        import numpy
        cls.input = support.WORK / "targets_in.npy"
        with numpy.load(MODELS / "kws_dscnn.npz") as stored:
            numpy.save(cls.input, stored["c0_in0"][:1])
        quantized = subprocess.run([sys.executable, "-B", support.ROOT / "tests" / "perf" / "quantize.py", MODELS / "kws_dscnn.onnx", "-o", support.WORK],
                                   capture_output=True, text=True, check=False)
        cls.onnx = support.WORK / "kws_dscnn-int8.onnx"
        if not cls.onnx.exists():
            raise unittest.SkipTest("onnxruntime does not quantize the model: " + quantized.stdout + quantized.stderr)
        cls.shape = ("--shape", "features=1,1,49,40")
        cls.plain = support.convert(cls.onnx, "targets_plain", *cls.shape)
        cls.file = support.convert(cls.onnx, "targets_both", *cls.shape, "--target", "npu", "--target", "cpu", "--plugins", PLUGIN)
        cls.wanted = cls.outputs(cls.plain, "--device", "cpu")

    @classmethod
    def outputs(cls, file, *options, **environment):
        import numpy
        result = support.WORK / "targets_out.npz"
        done = support.vireo("run", file, "--input", f"features={cls.input}", "--output", result, *options, environment=environment)
        cls.said = done.stderr
        with numpy.load(result) as stored:
            return {k: stored[k] for k in stored.files}

    def same(self, got):
        import numpy
        for name, wanted in self.wanted.items():
            numpy.testing.assert_array_equal(got[name], wanted)

    def test_each_target_gives_the_same_bits(self):
        self.same(self.outputs(self.file, "--target", "npu", "--plugins", PLUGIN))
        self.same(self.outputs(self.file, "--target", "cpu"))
        self.same(self.outputs(self.file))
        self.same(self.outputs(self.file, "--target", "none", "--plugins", PLUGIN))

    def test_the_second_load_compiles_nothing(self):
        report = support.WORK / "targets_report.json"
        for options, parts in (((self.plain, "--device", "npu,cpu"), 1), ((self.file, "--target", "npu"), 0), ((self.file, "--device", "npu,cpu"), 0)):
            with self.subTest(options[1:]):
                self.same(self.outputs(*options, "--plugins", PLUGIN, VIREO_NPU_REPORT=str(report)))
                self.assertEqual(compiled(report), parts)
                self.assertEqual(self.said, "")

    def test_the_cache_does_the_same(self):
        report = support.WORK / "targets_report.json"
        import shutil
        folder = support.WORK / "targets_cache"
        shutil.rmtree(folder, ignore_errors=True)
        for parts in (1, 0):
            self.same(self.outputs(self.plain, "--device", "npu,cpu", "--cache", folder, "--plugins", PLUGIN, VIREO_NPU_REPORT=str(report)))
            self.assertEqual(compiled(report), parts)

    def test_another_device_compiles_anew_and_says_so(self):
        report = support.WORK / "targets_report.json"
        self.same(self.outputs(self.file, "--target", "npu", "--plugins", PLUGIN, VIREO_NPU_REPORT=str(report), VIREO_NPU_SRAM="256"))
        self.assertEqual(compiled(report), 1)
        self.assertIn("another version of its driver, or of another chip", self.said)

    def test_explain_shows_the_plan(self):
        told = json.loads(support.vireo("explain", self.file, "--target", "npu", "--plugins", PLUGIN, "--json").stdout)
        reasons = {n["reason"] for n in told["nodes"] if n["device"] == "npu"}
        self.assertEqual(reasons, {"as the plan for npu says"})
        self.assertTrue(all(n["device"] == "npu" for n in told["nodes"]))
        told = json.loads(support.vireo("explain", self.file, "--plugins", PLUGIN, "--json").stdout)
        self.assertTrue(all(n["device"] != "npu" for n in told["nodes"]))  # emulated

    def test_inspect_lists_them(self):
        told = json.loads(support.vireo("inspect", self.file, "--json").stdout)
        self.assertEqual([(t["target"], t["usable"]) for t in told["targets"]], [("npu", False), ("cpu", True)])
        self.assertIn("is not here", told["targets"][0]["reason"])
        self.assertEqual(told["plan_list"][1]["devices"][0]["driver"], "1")
        section = next(s for s in told["segment_list"] if s.get("packed_weights"))
        self.assertEqual([(p["delegate"], p["refused"]) for p in section["compiled_parts"]], [("npu", None)])
        self.assertEqual(section["alignment"], 4096)
        listed = support.vireo("inspect", self.file).stdout
        self.assertIn("target      npu: npu; not usable here", listed)

    def test_a_target_that_cannot_be(self):
        for options, words in ((("--target", "npu"), "is not here"), (("--target", "phone"), "npu, cpu"), (("--target", "cpu", "--device", "cpu"), "give one of them")):
            with self.subTest(options):
                failed = support.vireo("run", self.file, "--input", f"features={self.input}", *options, check=False)
                self.assertNotEqual(failed.returncode, 0)
                self.assertIn(words, failed.stderr)

    def test_pack_is_the_same(self):
        packed = support.WORK / "targets_packed.vireo"
        told = json.loads(support.vireo("pack", self.plain, "-o", packed, "--target", "npu", "--profile", "cpu", "--plugins", PLUGIN, "--json").stdout)
        self.assertEqual([(t["target"], t["parts"]) for t in told["targets"]], [("npu", 1), ("cpu", 0)])
        self.same(self.outputs(packed, "--target", "npu", "--plugins", PLUGIN))
        again = support.WORK / "targets_again.vireo"
        support.vireo("pack", packed, "-o", again, "--target", "npu", "--profile", "cpu", "--plugins", PLUGIN)
        self.assertLess(abs(again.stat().st_size - packed.stat().st_size), 4096)  # a line of provenance more

    def test_open_dimensions(self):
        file = support.convert(self.onnx, "targets_open", "--target", "cpu")
        told = json.loads(support.vireo("inspect", file, "--json").stdout)
        bounds = told["plan_list"][1].get("bounds", [])
        if not told["open_dimensions"]:
            self.skipTest("the model has no open dimension")
        self.assertTrue(all(b["lo"] == b["hi"] == 1 for b in bounds))
        name = bounds[0]["name"]
        support.vireo("explain", file, "--target", "cpu", "--shape", "features=1,1,49,40")
        failed = support.vireo("explain", file, "--target", "cpu", "--shape", "features=2,1,49,40", check=False)
        self.assertNotEqual(failed.returncode, 0)
        self.assertIn(f"it was made for \"{name}\" = 1..1", failed.stderr)
        support.vireo("explain", file, "--shape", "features=2,1,49,40")

    def test_what_a_missing_device_needs(self):
        out = support.WORK / "targets_missing.vireo"
        out.unlink(missing_ok=True)
        failed = support.vireo("convert", self.onnx, "-o", out, *self.shape, "--target", "npu", check=False)
        self.assertNotEqual(failed.returncode, 0)
        self.assertIn("--plugins", failed.stderr)
        self.assertFalse(out.exists())

    def profile(self, **keys):
        path = support.WORK / "targets_profile.json"
        path.write_text(json.dumps({"name": "mine", "devices": [{"device": "cpu"}], **keys}))
        return path

    def test_profiles_of_ones_own(self):
        out = support.WORK / "targets_mine.vireo"
        support.vireo("convert", self.onnx, "-o", out, *self.shape, "--target", self.profile(alignment=65536))
        told = json.loads(support.vireo("inspect", out, "--json").stdout)
        self.assertTrue(all(s["offset"] % 65536 == 0 for s in told["segment_list"]))
        out.unlink()
        for keys, words in (({"memory": {"arena": 100, "file": 100}}, ("memory.arena allows 100", "memory.file allows 100")),
                            ({"ram": 5}, ("no key \"ram\"", "memory")),
                            ({"precision": "int3"}, ("\"precision\"", "bf16")),
                            ({"devices": [{"device": "gpu"}]}, ("device \"gpu\" is not here", "--plugins"))):
            with self.subTest(keys):
                failed = support.vireo("convert", self.onnx, "-o", out, *self.shape, "--target", self.profile(**keys), check=False)
                self.assertNotEqual(failed.returncode, 0)
                for word in words:
                    self.assertIn(word, failed.stderr)
                self.assertFalse(out.exists())
        failed = support.vireo("convert", self.onnx, "-o", out, *self.shape, "--target", self.profile(precision="bf16"), "--target", "cpu", check=False)
        self.assertIn("targets differ in their precision", failed.stderr)
        failed = support.vireo("convert", self.onnx, "-o", out, "--target", "phone", check=False)
        self.assertIn("arm-npu", failed.stderr)

    def test_check_tells_all_at_once(self):
        path = self.profile(types=["int8"], memory={"arena": 100})
        failed = support.vireo("check", self.onnx, *self.shape, "--target", path, "--json", check=False)
        self.assertNotEqual(failed.returncode, 0)
        told = json.loads(failed.stdout)["targets"][0]
        self.assertIn("memory.arena allows 100", told["limits_broken"][0])
        self.assertTrue(any("float32" in t["what"] for t in told["other_types"]))
        self.assertTrue(all(n["device"] in ("cpu", "-") for n in told["nodes"]))
        support.vireo("check", self.onnx, *self.shape, "--target", "mcu")

    def test_check_says_what_the_first_device_leaves(self):
        told = json.loads(support.vireo("check", MODELS / "kws_dscnn.onnx", *self.shape, "--target", "npu", "--plugins", PLUGIN, "--json").stdout)
        nodes = told["targets"][0]["nodes"]
        self.assertTrue(nodes and all(n["device"] == "cpu" and n["reason"].startswith("npu: ") for n in nodes), nodes)
        self.assertIn("8-bit codes", nodes[1]["reason"])
        told = json.loads(support.vireo("check", MODELS / "kws_dscnn.onnx", "--bound", "batch=8", "--target", "npu", "--plugins", PLUGIN, "--json").stdout)
        self.assertIn("--shape fixes them", told["targets"][0]["nodes"][1]["reason"])

    def test_the_list_and_the_report(self):
        told = json.loads(support.vireo("targets", "--json").stdout)["targets"]
        self.assertEqual({t["target"]: t["missing"] for t in told}["cpu"], "")
        self.assertIn("npu", {t["target"]: t["missing"] for t in told}["npu"])
        self.assertIn("mcu", support.vireo("convert", self.onnx, "--target", "help").stdout)
        report = support.WORK / "targets_report_file.json"
        support.vireo("convert", self.onnx, "-o", support.WORK / "targets_r.vireo", *self.shape, "--target", "npu", "--plugins", PLUGIN, "--report", report)
        target, = json.loads(report.read_text())["targets"]
        npu = next(d for d in target["devices"] if d["device"] == "npu")
        self.assertGreater(npu["nodes"], 8)
        self.assertGreater(npu["expected_ns"], 0)
        if browser.missing():
            self.skipTest(browser.missing())
        page = support.WORK / "targets_report.html"
        support.vireo("convert", self.onnx, *self.shape, "--target", "npu", "--plugins", PLUGIN, "-o", support.WORK / "targets_r.vireo", "--report", page)
        with browser.Browser() as b:
            b.open(page)
            self.assertEqual(b.run("document.querySelector('#targets h3').textContent"), "npu")
            rows = b.run("[...document.querySelectorAll('#targets tbody tr')].map(r => [...r.cells].map(c => c.textContent))")
            self.assertEqual(next(r for r in rows if r[0] == "npu")[1], str(npu["nodes"]))
            self.assertEqual(b.errors(), [])


if __name__ == "__main__":
    support.main()
