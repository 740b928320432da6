"""vireo tune: what it writes is used by other verbs, changes no answer beyond rounding, and is refused when damaged."""
import json
import unittest

import support

MODEL = support.ROOT / "samples" / "models" / "digit_det_nms.onnx"


@unittest.skipIf(support.missing("numpy"), support.missing("numpy"))
class Tune(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.file = support.convert(MODEL, "tune_model")
        cls.tuning = support.WORK / "tuning.json"
        cls.tuning.unlink(missing_ok=True)
        cls.told = json.loads(support.vireo("tune", cls.file, "--threads", 1, "--seconds", 1, "-o", cls.tuning, "--json").stdout)

    def test_measures_and_writes(self):
        stored = json.loads(self.tuning.read_text())
        self.assertEqual(stored["vireo_tuning"], 2)
        self.assertEqual(stored["cpu"], self.told["cpu"])
        self.assertGreaterEqual(len(stored["entries"]), self.told["measured"])
        self.assertGreaterEqual(self.told["kinds_of_nodes"], self.told["measured"])

    def test_explain_shows_what_was_chosen(self):
        nodes = json.loads(support.vireo("explain", self.file, "--threads", 1, "--tuning", self.tuning, "--json").stdout)["nodes"]
        kernels = {f"{n['device']}:{n['kernel']}" for n in nodes}
        for change in self.told["changes"]:
            self.assertIn(change["to"], kernels)

    def test_explain_says_that_it_was_measured(self):
        nodes = json.loads(support.vireo("explain", self.file, "--threads", 1, "--tuning", self.tuning, "--json").stdout)["nodes"]
        measured = [n for n in nodes if n["reason"].startswith("fastest here by measurement, ")]
        stored = json.loads(self.tuning.read_text())["entries"]
        self.assertEqual(bool(measured), any(e["others"] for e in stored))
        for node in measured:
            self.assertIn((node["device"], node["kernel"]), {(e["device"], e["kernel"]) for e in stored})

    def test_the_slower_way_is_taken_where_the_file_says_so(self):
        plain = json.loads(support.vireo("explain", self.file, "--json").stdout)["nodes"]
        stored = json.loads(self.tuning.read_text())
        if not stored["entries"]:
            self.skipTest("no node of this model has two ways that are worth measuring")
        names = {n["kernel"] for n in plain}
        # Whatever was fastest, a name that no device has changes nothing.
        for entry in stored["entries"]:
            entry["kernel"] = "no_such_kernel"
        other = support.WORK / "tuning_unknown.json"
        other.write_text(json.dumps(stored))
        nodes = json.loads(support.vireo("explain", self.file, "--threads", 1, "--tuning", other, "--json").stdout)["nodes"]
        self.assertEqual({n["kernel"] for n in nodes}, names)

    def test_answers_are_the_same(self):
        import numpy as np
        with np.load(MODEL.with_suffix(".npz")) as cases:
            x = cases["c0_in0"]
        outputs = []
        for extra in ([], ["--tuning", self.tuning]):
            given, out = support.WORK / "tune_in.npy", support.WORK / f"tune_out{len(extra)}.npz"
            np.save(given, x)
            support.vireo("run", self.file, "--threads", 1, "--input", given, "-o", out, *extra)
            with np.load(out) as stored:
                outputs.append([stored[name] for name in stored.files])
        for plain, tuned in zip(*outputs):
            # Kernels differ in the order of their sums: logits of a few layers, some 1e3 roundings apart at most.
            np.testing.assert_allclose(tuned, plain, rtol=1e-4, atol=1e-4 * np.abs(plain).max())

    def test_at_load_measures_once(self):
        kept = support.WORK / "tuning_at_load.json"
        kept.unlink(missing_ok=True)
        # Half of the time is spent, however little is needed: a session and a few runs of this model need a hundredth, on a slow machine a tenth.
        file = support.convert(support.ROOT / "samples" / "models" / "digit_mobile.onnx", "tune_at_load", "--shape", "image=1,1,32,32")
        first, second = (json.loads(support.vireo("bench", file, "--threads", 1, "--seconds", 0, "--tuning", kept, "--tune-at-load", 4000,
                                                  "--json").stdout)["tuned_at_load"] for _ in range(2))
        self.assertEqual(first["measured"], first["worth"])
        self.assertEqual((second["worth"], second["measured"], second["changed"]), (0, 0, 0))
        if first["worth"] == 0:
            self.skipTest("no node of this model has two ways that are worth measuring")
        stored = json.loads(kept.read_text())
        self.assertGreater(stored["rates"]["operations"], 0)
        self.assertGreater(len(stored["entries"]), 0)
        # What was chosen is what a session with the file takes, and its answers are a session's.
        support.vireo("explain", file, "--threads", 1, "--tuning", kept)

    def test_at_load_without_time_changes_nothing(self):
        kept = support.WORK / "tuning_no_time.json"
        kept.unlink(missing_ok=True)
        told = json.loads(support.vireo("bench", self.file, "--threads", 1, "--seconds", 0, "--tuning", kept, "--tune-at-load", 0.001, "--json").stdout)
        self.assertEqual(told["tuned_at_load"]["measured"], 0)
        if told["tuned_at_load"]["worth"] > 0:
            self.assertFalse(kept.exists())

    def test_refuses_a_damaged_file(self):
        bad = support.WORK / "tuning_bad.json"
        bad.write_text("{\"vireo_tuning\": 1, ")
        done = support.vireo("bench", self.file, "--tuning", bad, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("is no tuning file", done.stderr)
        self.assertIn("vireo tune", done.stderr)
        done = support.vireo("bench", self.file, "--tuning", support.WORK / "not_there.json", check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("there is no tuning file", done.stderr)

    def test_says_where_it_cannot_write_before_it_measures(self):
        done = support.vireo("tune", self.file, "-o", "/proc/no/such/place.json", check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("/proc/no/such", done.stderr)


if __name__ == "__main__":
    unittest.main()
