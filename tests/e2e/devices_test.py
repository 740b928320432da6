"""Sessions that name their devices: which takes a node, and whose reason is shown.

The xnnpack delegate's answers are those of the cpu delegate within the tolerance of the stored answers; cases that need it skip
where the build has none.
"""
import json
import unittest

import support

MODELS = support.ROOT / "samples" / "models"


def explained(file, devices):
    return json.loads(support.vireo("explain", file, "--device", devices, "--json").stdout)["nodes"]


class Devices(unittest.TestCase):
    def setUp(self):
        self.listed = support.vireo("devices").stdout

    def test_the_first_reason_is_kept(self):
        file = support.convert(MODELS / "kws_dscnn_mfcc.onnx", "devices_null")
        for node in explained(file, "null,cpu"):
            with self.subTest(node["name"]):
                self.assertEqual(node["device"], "cpu")
                self.assertEqual(node["reason"], "the null delegate runs nothing")
        self.assertTrue(all(n["device"] == "cpu" and "null" not in n["reason"] for n in explained(file, "cpu,null")))

    def test_cpu_is_the_default(self):
        file = support.convert(MODELS / "kws_dscnn_mfcc.onnx", "devices_auto")
        self.assertTrue(all(n["device"] == "cpu" for n in explained(file, "auto")))

    def test_xnnpack(self):
        if "xnnpack" not in self.listed:
            self.skipTest("this build is without the xnnpack delegate (toolchains/bootstrap --for xnnpack)")
        file = support.convert(MODELS / "kws_dscnn_mfcc.onnx", "devices_fixed", "--shape", "features=8,1,49,10")
        nodes = explained(file, "xnnpack,cpu")
        self.assertTrue(any(n["device"] == "xnnpack" for n in nodes))
        for node in nodes:
            self.assertTrue(node["device"] == "xnnpack" or node["reason"] != "", node)
        file_of_eight = support.convert(MODELS / "kws_dscnn_mfcc.onnx", "devices_open", "--bound", "batch=8")
        open_extents = explained(file_of_eight, "xnnpack,cpu")
        self.assertTrue(any(n["reason"] == "its extents change between runs" for n in open_extents))
        reason = support.missing("numpy")
        if reason:
            self.skipTest(reason)
        import numpy
        with numpy.load(MODELS / "kws_dscnn_mfcc.npz") as stored:  # the other cases have another number of words
            numpy.savez(support.WORK / "devices.npz", **{k: v for k, v in stored.items() if k.startswith("c0_")})
        support.verify(file, support.WORK / "devices.npz", "--device", "xnnpack,cpu")


if __name__ == "__main__":
    support.main()
