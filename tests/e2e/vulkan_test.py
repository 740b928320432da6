"""GPUs through Vulkan: ONNX's operator cases and whole models, cut at random between the GPU and the CPU.

Any device that the machine has will do, lavapipe's among them; no test asks for one. Skips where the build has no plug-in
(VIREO_WITH_VULKAN, VIREO_PLUGINS) or the machine no device. VIREO_CASES says which share of the operator cases runs: every
N-th, default 12.
"""
import json
import os
import re
import subprocess
import sys
import unittest

import support

MODELS = support.ROOT / "samples" / "models"
PLUGIN = support.BUILD / "plugins" / "libvireo_vulkan.so"
EVERY = os.environ.get("VIREO_CASES", "12")
SAMPLES = [  # a model, the shape of its input
    ("kws_dscnn", "features=1,1,49,40"),
    ("kws_gru", "features=1,49,40"),
    ("glyphs", "image=1,1,24,24"),
    ("digit_mobile", "image=1,1,32,32"),
]


def missing():
    """Why nothing can run on a GPU here; "" where it can."""
    if not PLUGIN.exists():
        return "this build is without the vulkan plug-in (VIREO_WITH_VULKAN, VIREO_PLUGINS)"
    listed = json.loads(support.vireo("devices", "--json", "--plugins", PLUGIN).stdout)
    if any(d["delegate"] == "vulkan" for d in listed["devices"]):
        return ""
    return "no Vulkan device: " + "; ".join(p["reason"] for p in listed["plugins"] if p["reason"])


class Vulkan(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        reason = missing()
        if reason:
            print("skipped:", reason)
            raise unittest.SkipTest(reason)

    def test_operator_cases(self):
        reason = support.missing("onnx")
        if reason:
            self.skipTest(reason)
        done = subprocess.run([sys.executable, "-B", support.ROOT / "tests" / "conformance.py", support.VIREO, "--every", EVERY, "--device", "vulkan"],
                              env={**os.environ, "VIREO_PLUGINS": str(PLUGIN)}, capture_output=True, text=True, check=False)
        passed, failed, _ = (int(n) for n in re.findall(r"\d+", done.stderr.splitlines()[-1]))
        print(f"\n{passed} cases pass on the GPU")
        self.assertEqual(failed, 0, done.stdout)
        self.assertGreater(passed, 0)

    def test_models_are_right_wherever_they_are_cut(self):
        for name, shape in SAMPLES:
            with self.subTest(name):
                file = support.convert(MODELS / f"{name}.onnx", f"vulkan_{name}", "--shape", shape)
                done = support.vireo("verify", file, "--placements", "4", "--device", "vulkan,cpu", "--plugins", PLUGIN, "--atol", "1e-4", "--json", check=False)
                self.assertIn(done.returncode, (0, 1), done.stderr)
                told = json.loads(done.stdout)
                for p in told["placements"]:
                    self.assertTrue(p["pass"], f"placement {p['seed']}: {p['reason']}")
                    self.assertEqual(p["failovers"], 0)
                print(f"\n{name}: " + ", ".join(f"{d} {s:.0%}" for d, s in told["share"].items()))
                self.assertGreater(told["share"].get("vulkan", 0), 0)

    def test_integers_are_the_cpus_to_the_bit(self):
        for name in ("integer_golden", "integer_golden_wide"):
            with self.subTest(name):
                done = support.vireo("verify", support.ROOT / "tests" / "golden" / f"{name}.vireo", "--placements", "4", "--device", "vulkan,cpu", "--plugins", PLUGIN,
                                     "--json", check=False)
                self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
                told = json.loads(done.stdout)
                self.assertGreater(told["share"].get("vulkan", 0), 0)
                for p in told["placements"]:
                    self.assertTrue(p["identical"], f"placement {p['seed']} differs from the CPU by {p['max_abs']}")

    def test_what_is_left_has_a_reason(self):
        file = support.convert(MODELS / "kws_dscnn.onnx", "vulkan_open")
        told = support.vireo("explain", file, "--device", "vulkan,cpu", "--plugins", PLUGIN).stdout
        self.assertIn("--shape", told)


if __name__ == "__main__":
    unittest.main()
