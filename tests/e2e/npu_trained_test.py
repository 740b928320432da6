"""The trained models in int8, wholly on the software NPU: every output of every test example is the CPU's to the bit, so the metric is
the CPU's as well.

The models are quantized here, with ONNX Runtime's static quantizer and the calibration sets. A session that names the device npu
alone exists only if it takes every node.
"""
import json
import os
import sys
import tempfile

import support

PLUGIN = support.BUILD / "plugins" / "libvireo_npu.so"
ONE_POINT = 0.01


def quantized(folder, name, calibration, *arguments):
    """The int8 model of `name` as a .vireo file; calibration: {input: examples}."""
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    class Reader(CalibrationDataReader):
        def __init__(self):
            (key, values), = calibration.items()
            self.feeds = iter([{key: v[None]} for v in values])

        def get_next(self):
            return next(self.feeds, None)

    out = support.WORK / f"npu_{name}-int8.onnx"
    with tempfile.TemporaryDirectory() as room:
        ready = os.path.join(room, "ready.onnx")
        quant_pre_process(str(support.SHARED / "trained" / folder / f"{name}.onnx"), ready, skip_symbolic_shape=True)
        quantize_static(ready, str(out), Reader(), quant_format=QuantFormat.QDQ, per_channel=True,
                        activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)
    return support.convert(out, f"npu_{name}", *arguments)


def explained(test, file):
    told = json.loads(support.vireo("explain", file, "--device", "npu", "--plugins", PLUGIN, "--json").stdout)
    test.assertEqual([n["name"] for n in told["nodes"] if n["device"] != "npu"], [])
    share = next(d for d in told["devices"] if d["device"] == "npu")
    test.assertEqual((share["parts"], share["nodes"]), (1, len(told["nodes"])))


def compare(test, file, examples):
    """Outputs on the npu, after it was seen that the CPU gives the same bits."""
    import numpy as np
    os.environ["VIREO_PLUGINS"] = str(PLUGIN)
    import vireo
    model, found = vireo.Model(file), []
    npu, cpu = model.session(device="npu"), model.session(device="cpu")
    for x in examples:
        got, = npu.run(x[None])
        want, = cpu.run(x[None])
        np.testing.assert_array_equal(got.view(np.uint32), want.view(np.uint32))
        found.append(got[0].copy())
    return np.stack(found)


def recorded(name):
    return json.loads((support.SHARED / "trained" / "metrics.json").read_text())[name]


def classifier(folder, name, key, data, input_name, scale, least):
    def run(test):
        import numpy as np
        room = support.SHARED / "trained" / folder
        load = lambda file: scale(np.load(room / file)[key].astype(np.float32))
        examples, labels = load(data), np.load(room / data)["label"]
        file = quantized(folder, name, {input_name: load("calibration.npz")}, "--shape",
                         f"{input_name}=1,{','.join(map(str, examples.shape[1:]))}")
        explained(test, file)
        some = slice(None, None, support.DATA_STEP)
        accuracy = float((compare(test, file, examples[some]).argmax(1) == labels[some]).mean())
        print(f"{name}: {100 * accuracy:.1f} % of {len(labels[some])} on the npu")
        test.assertGreaterEqual(accuracy, recorded(name)["accuracy"] - least * support.DATA_STEP)
    return run


def detector(test):
    import numpy as np
    from PIL import Image
    import trained_test
    det, room = trained_test.metric(), support.SHARED / "trained" / "digit_det"
    items = json.loads((room / "test.json").read_text())["images"][::support.DATA_STEP]
    truth = [(np.array(i["boxes"], np.float32), np.array(i["labels"])) for i in items]
    file = quantized("digit_det", "digit_det", {"image": np.load(room / "calibration.npz")["image"].astype(np.float32) / 255},
                     "--shape", "image=1,3,320,320")
    explained(test, file)
    pictures = (np.ascontiguousarray(np.asarray(Image.open(room / i["file"]), np.float32).transpose(2, 0, 1) / 255) for i in items)
    found = [det.nms(*det.decode(raw)) for raw in compare(test, file, pictures)]
    value = det.average_precision(found, truth)
    print(f"digit_det: mAP50 {value:.3f} of {len(items)} pictures on the npu")
    test.assertGreaterEqual(value, recorded("digit_det")["mAP50"] - ONE_POINT * support.DATA_STEP)


reason = support.missing("numpy", "onnxruntime", "PIL", folder="trained")
if not PLUGIN.exists():
    reason = reason or "this build is without the npu plug-in (VIREO_NPU, VIREO_PLUGINS)"
planes = lambda x: x[:, None]
Npu = support.cases(reason, {  # a default run takes the first, which is the smallest
    "kws_dscnn_mfcc": classifier("kws", "kws_dscnn_mfcc", "mfcc", "test.npz", "features", planes, ONE_POINT),
    "kws_dscnn": classifier("kws", "kws_dscnn", "logmel", "test.npz", "features", planes, ONE_POINT),
    "digit_mobile": classifier("digit_cls", "digit_mobile", "image", "digit_test.npz", "image", lambda x: x / 255, ONE_POINT),
    "digit_det": detector})

if __name__ == "__main__":
    sys.path.insert(0, str(support.ROOT / "tests" / "e2e"))
    support.main()
