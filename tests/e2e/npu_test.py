"""The software NPU as a plug-in: models in integers run there and give the CPU's bits, faults in it change no result.

Skips where the build has no plug-ins (VIREO_PLUGINS, VIREO_NPU).
"""
import concurrent.futures
import json
import re
import subprocess
import sys
import unittest

import support

MODELS = support.ROOT / "samples" / "models"
PLUGIN = support.BUILD / "plugins" / "libvireo_npu.so"


def outputs(file, data, name, *options, **environment):
    import numpy
    result = support.WORK / f"npu_{name}.npz"
    support.vireo("run", file, "--input", f"{data[0]}={data[1]}", "--output", result, *options, environment=environment)
    with numpy.load(result) as stored:
        return {k: stored[k] for k in stored.files}


@unittest.skipUnless(PLUGIN.exists(), "this build is without the npu plug-in (VIREO_NPU, VIREO_PLUGINS)")
class Npu(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        reason = support.missing("numpy", "onnxruntime")
        if reason:
            raise unittest.SkipTest(reason)
        import numpy
        cls.input = support.WORK / "npu_in.npy"
        with numpy.load(MODELS / "kws_dscnn.npz") as stored:
            numpy.save(cls.input, stored["c0_in0"][:1])
        quantized = subprocess.run([sys.executable, "-B", support.ROOT / "tests" / "perf" / "quantize.py", MODELS / "kws_dscnn.onnx", "-o", support.WORK],
                                   capture_output=True, text=True, check=False)
        if not (support.WORK / "kws_dscnn-int8.onnx").exists():
            raise unittest.SkipTest("onnxruntime does not quantize the model: " + quantized.stdout + quantized.stderr)
        cls.file = support.convert(support.WORK / "kws_dscnn-int8.onnx", "npu_kws", "--shape", "features=1,1,49,40")
        cls.data = ("features", cls.input)
        cls.plain = outputs(cls.file, cls.data, "cpu", "--device", "cpu")

    def same(self, got):
        import numpy
        for name, wanted in self.plain.items():
            numpy.testing.assert_array_equal(got[name], wanted)

    def test_devices(self):
        listed = json.loads(support.vireo("devices", "--json", "--plugins", PLUGIN).stdout)
        npu = next(d for d in listed["devices"] if d["name"] == "npu")
        self.assertTrue(npu["emulated"])
        self.assertEqual(npu["types"], ["uint8", "int8"])
        self.assertEqual((npu["state"]["answers"], npu["state"]["power"]), (True, "idle"))
        self.assertRegex(support.vireo("devices", "--plugins", PLUGIN).stdout, r"(?m)^npu +npu +idle, \d+ MHz ")
        self.assertEqual(listed["plugins"][0]["reason"], "")

    def choices(self, *options):
        told = json.loads(support.vireo("devices", "--for", self.file, "--plugins", PLUGIN, "--json", *options).stdout)
        return {c["devices"].split(",")[0]: c for c in told["choices"]}

    def test_which_device_for_a_model(self):
        self.assertNotIn("npu", self.choices())  # emulated: on demand alone
        every = self.choices("--emulated")
        npu, cpu = every["npu"], every["cpu"]
        self.assertTrue(npu["fits"] and cpu["fits"])
        self.assertEqual((npu["source"], cpu["nodes_there"]), ("compiler", cpu["nodes"]))
        self.assertGreater(npu["energy_mj"], 0)
        self.assertIsNone(cpu["energy_mj"])  # it does not say its watts
        best = min(c["expected_ms"] for c in every.values() if c["fits"])
        self.assertEqual(next(iter(every.values()))["expected_ms"], best)
        tight = self.choices("--emulated", "--latency", npu["expected_ms"] * 0.5)["npu"]
        self.assertFalse(tight["fits"])
        self.assertIn("a run takes", tight["reason"])
        self.assertIn("it takes", self.choices("--emulated", "--memory", "0.001")["npu"]["reason"])
        self.assertIn("not known", self.choices("--energy", "1")["cpu"]["reason"])
        self.assertIn("a run costs", self.choices("--price", "cpu=1", "--cost", "1e-9")["cpu"]["reason"])
        self.assertEqual(list(self.choices("--emulated", "--vendors", "nobody,Vireo"))[0], "npu")

    def test_bits_of_the_cpu(self):
        self.same(outputs(self.file, self.data, "npu", "--device", "npu,cpu", "--plugins", PLUGIN))

    def test_all_nodes_run_there(self):
        told = json.loads(support.vireo("explain", self.file, "--device", "npu,cpu", "--plugins", PLUGIN, "--json").stdout)
        self.assertEqual([n for n in told["nodes"] if n["device"] != "npu"], [])
        self.assertGreaterEqual(len(told["nodes"]), 8)
        share = next(d for d in told["devices"] if d["device"] == "npu")
        self.assertEqual(share["parts"], 1)
        self.assertGreater(share["compiled_ns"], 0)

    def test_auto_leaves_it_alone(self):
        told = json.loads(support.vireo("explain", self.file, "--plugins", PLUGIN, "--json").stdout)
        self.assertTrue(all(n["device"] == "cpu" for n in told["nodes"]))

    def test_reports_name_the_nodes(self):
        report = support.WORK / "npu_report.json"
        cycles = {}
        for kib in (512, 32):
            told = json.loads(support.vireo("explain", self.file, "--device", "npu", "--plugins", PLUGIN, "--json",
                                            environment={"VIREO_NPU_REPORT": str(report), "VIREO_NPU_SRAM": str(kib)}).stdout)
            part, = json.loads(report.read_text())
            self.assertEqual({l["node"] for l in part["layers"]}, set(range(len(told["nodes"]))))
            for layer in part["layers"]:
                if layer["macs"] > 0:
                    self.assertEqual(layer["name"], told["nodes"][layer["node"]]["name"])
            for total in ("cycles", "macs", "dram_read_bytes", "dram_written_bytes"):
                self.assertEqual(sum(l[total] for l in part["layers"]), part["total"][total])
            cycles[kib] = part["total"]["cycles"]
        self.assertGreater(cycles[32], cycles[512])
        listing = support.WORK / "npu_report.listing"
        support.vireo("explain", self.file, "--device", "npu", "--plugins", PLUGIN, environment={"VIREO_NPU_REPORT": str(listing)})
        commands = listing.read_text().splitlines()
        self.assertGreater(len(commands), 20)
        self.assertEqual([int(c.split()[0]) for c in commands], list(range(len(commands))))

    def test_settings_that_cannot_be(self):
        for variable, value in (("VIREO_NPU_SRAM", "much"), ("VIREO_NPU_SRAM", "0"), ("VIREO_NPU_REPORT", "/proc/self/no/file")):
            listed = json.loads(support.vireo("devices", "--json", "--plugins", PLUGIN, environment={variable: value}).stdout)
            self.assertNotIn("npu", [d["name"] for d in listed["devices"]])
            self.assertIn("could not open its driver", listed["plugins"][0]["reason"])

    def test_a_share_can_be_required(self):
        support.vireo("run", self.file, "--input", f"features={self.input}", "--device", "npu,cpu", "--plugins", PLUGIN, "--require", "npu=100%")
        in_floats = support.convert(MODELS / "kws_dscnn.onnx", "npu_kws_f32", "--shape", "features=1,1,49,40")
        failed = support.vireo("run", in_floats, "--input", f"features={self.input}", "--device", "npu,cpu", "--plugins", PLUGIN,
                               "--require", "npu>=60%", check=False)
        self.assertNotEqual(failed.returncode, 0)
        self.assertIn("vireo explain", failed.stderr)

    def test_faults_change_no_result(self):
        # Submit 0 is the trial of the part, 1 the run.
        def run(fault):
            return outputs(self.file, self.data, "fault_" + re.sub(r"\W", "_", fault), "--device", "npu,cpu", "--plugins", PLUGIN,
                           VIREO_NPU_FAULT=fault, VIREO_PROBE="off")
        faults = ("lost@0", "lost@1", "wrong", "hang@1")
        with concurrent.futures.ThreadPoolExecutor() as pool:  # what hangs is waited for
            for fault, got in zip(faults, pool.map(run, faults)):
                with self.subTest(fault):
                    self.same(got)

    def test_a_fault_that_nobody_knows(self):
        failed = support.vireo("run", self.file, "--input", f"features={self.input}", "--device", "npu,cpu", "--plugins", PLUGIN,
                               check=False, environment={"VIREO_NPU_FAULT": "flood", "VIREO_PROBE": "off"})
        self.assertNotEqual(failed.returncode, 0)
        self.assertIn("could not open its driver", failed.stderr)


if __name__ == "__main__":
    support.main()
