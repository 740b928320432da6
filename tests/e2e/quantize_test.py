"""convert --quantize on the samples' models: checked pass by pass, verified against the float32 answers within what bfloat16 loses,
run by the kernels made for it, and exported as standard ONNX. Needs nothing but this checkout, the export onnxruntime."""
import json
import unittest

import support

MODELS = support.ROOT / "samples" / "models"
# Of the largest value: operands are rounded by 2^-8 of themselves at most, and so is each layer's sum of magnitudes by twice that; with
# roundings that are independent whole networks stay within a few of those.
ATOL = 4 * 2.0 ** -8


class Bf16(unittest.TestCase):
    def converted(self, name):
        report = support.WORK / f"{name}_bf16.json"
        file = support.convert(MODELS / f"{name}.onnx", f"{name}_bf16", "--quantize", "bf16", "--check", "--report", report)
        scheme = [p for p in json.loads(report.read_text())["passes"] if p["name"] == "quantize_bf16"]
        self.assertEqual(len(scheme), 1)
        self.assertGreater(scheme[0]["changes"], 0)
        return file, scheme[0]

    def test_convolutions(self):
        file, scheme = self.converted("digit_mobile")
        support.verify(file, MODELS / "digit_mobile.npz", "--atol", ATOL)
        nodes = json.loads(support.vireo("explain", file, "--json").stdout)["nodes"]
        kernels = [n["kernel"] for n in nodes]
        self.assertEqual(sum(k in ("conv_bf16_nhwc", "gemm_bf16") for k in kernels), scheme["changes"], kernels)
        between = [p for p in json.loads((support.WORK / "digit_mobile_bf16.json").read_text())["passes"] if p["name"] == "quantize_bf16_between"]
        self.assertGreater(between[0]["changes"], scheme["changes"])  # most products and what lies between them
        self.assertLessEqual({"depthwise_bf16_nhwc", "scale_bf16_nhwc", "global_average_bf16_nhwc"}, set(kernels))
        self.assertIn("a convolution in groups: stays float32", {d["reason"] for d in scheme["declined"]})
        plain = support.convert(MODELS / "digit_mobile.onnx", "digit_mobile_f32")
        weights = [json.loads(support.vireo("inspect", f, "--json").stdout)["file_bytes"] for f in (plain, file)]
        self.assertLess(weights[1], 0.8 * weights[0])  # graphs are no smaller, filters half

    def test_recurrent(self):
        file, _ = self.converted("kws_gru")
        support.verify(file, MODELS / "kws_gru.npz", "--atol", ATOL)

    @unittest.skipIf(support.missing("numpy", "onnx", "onnxruntime"), support.missing("numpy", "onnx", "onnxruntime"))
    def test_export_means_the_same(self):
        import numpy as np
        import onnx
        import onnxruntime
        out = support.WORK / "digit_mobile_bf16.onnx"
        support.vireo("convert", MODELS / "digit_mobile.onnx", "--emit-onnx", out, "--quantize", "bf16")
        onnx.checker.check_model(str(out), full_check=False)
        data = np.load(MODELS / "digit_mobile.npz")
        session = onnxruntime.InferenceSession(str(out), providers=["CPUExecutionProvider"])
        got = session.run(None, {session.get_inputs()[0].name: data["c0_in0"]})[0]
        want = data["c0_out0"]
        self.assertGreater(np.abs(got - want).max(), 1e-5 * np.abs(want).max())  # it does round
        self.assertLess(np.abs(got - want).max(), ATOL * np.abs(want).max())

class Fp16(unittest.TestCase):
    def test_weights(self):
        report = support.WORK / "digit_mobile_fp16.json"
        file = support.convert(MODELS / "digit_mobile.onnx", "digit_mobile_fp16", "--quantize", "fp16", "--check", "--report", report)
        scheme = [p for p in json.loads(report.read_text())["passes"] if p["name"] == "quantize_fp16"][0]
        self.assertGreater(scheme["changes"], 0)
        # Weights alone are rounded, by 2^-11 of themselves: a few of those over the network.
        support.verify(file, MODELS / "digit_mobile.npz", "--atol", 4 * 2.0 ** -11)
        kernels = [n["kernel"] for n in json.loads(support.vireo("explain", file, "--json").stdout)["nodes"]]
        wide = ("conv_f32_w16_nhwc", "conv_f32_w16_nchw", "gemm_f32_w16")
        self.assertEqual(sum(k in wide for k in kernels), scheme["changes"], kernels)
        plain = support.convert(MODELS / "digit_mobile.onnx", "digit_mobile_f32")
        sizes = [json.loads(support.vireo("inspect", f, "--json").stdout)["file_bytes"] for f in (plain, file)]
        self.assertLess(sizes[1], 0.8 * sizes[0])

    def test_packed_ahead_answers_the_same(self):
        file = support.convert(MODELS / "digit_mobile.onnx", "digit_mobile_fp16p", "--quantize", "fp16")
        out = support.WORK / "digit_mobile_fp16_packed.vireo"
        support.vireo("pack", file, "-o", out)
        support.verify(out, MODELS / "digit_mobile.npz", "--atol", 4 * 2.0 ** -11)

    def test_unknown_scheme(self):
        done = support.vireo("convert", MODELS / "kws_gru.onnx", "-o", support.WORK / "none.vireo", "--quantize", "int3", check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("schemes: bf16", done.stderr)


if __name__ == "__main__":
    support.main()
