"""vireo bench --pipeline and --split: runs that overlap, and a batch over two devices. How fast either is depends on the machine; what
must hold on any is what was measured, of what, and that a request which cannot be met is refused with the reason.
"""
import json
import unittest

import support

MODELS = support.ROOT / "samples" / "models"


def bench(*arguments):
    return json.loads(support.vireo("bench", *arguments, "--seconds", "0.1", "--threads", 1, "--json").stdout)


class Fleet(unittest.TestCase):
    def setUp(self):
        self.file = support.convert(MODELS / "kws_dscnn.onnx", "fleet")
        self.nodes = len(json.loads(support.vireo("explain", self.file, "--json").stdout)["nodes"])

    def refused(self, *arguments):
        done = support.vireo("bench", *arguments, check=False)
        self.assertNotIn(done.returncode, (0, 139, -11), done.stderr)
        return done.stderr

    def test_a_pipeline_beside_one_session(self):
        told = bench(self.file, "--pipeline", 3, "--device", "null,cpu")
        self.assertEqual((told["depth"], told["devices"]), (3, "null,cpu"))
        self.assertIn("the options name it", told["why"])
        self.assertEqual([(b["device"], b["nodes"]) for b in told["busy"]], [("cpu", self.nodes)])
        self.assertAlmostEqual(told["ratio"], told["runs_per_second"] / told["single_runs_per_second"], places=6)
        # One thread's sessions run side by side: together they are busy for as long as the runs took.
        self.assertGreater(told["busy"][0]["share"], 0)
        self.assertGreater(told["runs_per_second"], 0)

    def test_auto_says_what_it_expects(self):
        told = bench(self.file, "--pipeline", 2)
        self.assertNotIn("the options name it", told["why"])
        self.assertNotEqual(told["why"], "")
        # Known once this CPU's rates were measured.
        expected = told["expected_runs_per_second"]
        self.assertTrue(expected is None or expected > 0)
        self.assertEqual("time is known" in told["why"], expected is None, told["why"])

    def test_a_split_divides_all_rows(self):
        told = bench(self.file, "--split", "cpu,null", "--batch", 13)
        self.assertEqual(told["batch"], 13)
        self.assertEqual([s["devices"] for s in told["shares"]], ["cpu", "null,cpu"])  # what a device leaves goes to the host
        self.assertEqual(sum(s["rows"] for s in told["shares"]), 13)
        self.assertFalse(any(s["lost"] for s in told["shares"]))
        self.assertEqual(set(told["single_batches_per_second"]), {"cpu", "null,cpu"})
        text = support.vireo("bench", self.file, "--split", "cpu,null", "--batch", 13, "--seconds", "0.1").stdout
        self.assertIn("batches/s of 13 rows", text)

    def test_what_cannot_be_met_is_refused(self):
        self.assertIn("--split requires --batch", self.refused(self.file, "--split", "cpu"))
        self.assertIn("--batch requires --split", self.refused(self.file, "--batch", 4))
        self.assertIn("excludes", self.refused(self.file, "--split", "cpu", "--batch", 4, "--pipeline", 2))
        self.assertIn("excludes", self.refused(self.file, "--pipeline", 2, "--profile", support.WORK / "fleet.json"))
        self.assertIn("not in range", self.refused(self.file, "--pipeline", 0))
        self.assertIn('no device "nix"', self.refused(self.file, "--split", "cpu,nix", "--batch", 4))
        self.assertIn('no device "nix"', self.refused(self.file, "--pipeline", 2, "--device", "nix"))
        fixed = support.convert(MODELS / "kws_dscnn.onnx", "fleet_fixed", "--shape", "features=1,1,49,10")
        self.assertIn("does not begin with a symbolic dimension", self.refused(fixed, "--split", "cpu", "--batch", 4))


if __name__ == "__main__":
    support.main()
