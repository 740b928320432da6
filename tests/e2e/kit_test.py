"""vireo delegate-test, the vendors' test of a plug-in: a good one passes, and of each bad one it names the case that shows it."""
import json
import unittest

import support

NPU = support.BUILD / "plugins" / "libvireo_npu.so"
DEADLY = support.BUILD / "test" / "deadly"


def test(plugin, *options, **environment):
    done = support.vireo("delegate-test", plugin, "--json", *options, check=False, environment=environment)
    told = json.loads(done.stdout)
    return done.returncode, told, [c for c in told["cases"] if c["status"] == "failed"]


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
        for kind, section, what in (("crash_open", "opening", "crashed (signal 6)"), ("exit_open", "opening", "ended the process (status 3)"),
                                    ("hang_open", "opening", "had no answer in 2 s"), ("crash_claim", "answers", "crashed (signal 6)"),
                                    ("crash_submit", "answers", "crashed (signal 6)"), ("hang_submit", "answers", "had no answer in 2 s"),
                                    ("wrong", "answers", "computed wrong values in integer operators"),
                                    ("lies", "memory", "claimed integer operators and then failed")):
            with self.subTest(kind):
                status, told, failed = test(DEADLY / f"hostile_{kind}.so", "--seconds", "2")
                self.assertEqual(status, 1)
                self.assertTrue(any(c["section"] == section and what in c["text"] for c in failed), failed)

    def test_no_such_file(self):
        done = support.vireo("delegate-test", "/nowhere/libx.so", check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("/nowhere/libx.so", done.stderr)


if __name__ == "__main__":
    support.main()
