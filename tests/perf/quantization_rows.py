"""quantization_rows.py VIREO --shared DIR [--rounds 3] [--only NAME,...]: what quantization makes of every trained model, as a Markdown table.

For each model the default recipe (language models: w4/32 with data): the metric of float and quantized model by `vireo eval`, the file, the share of
products on integers, the peak of memory, and processor seconds beside ONNX Runtime's static min-max quantization of the same data, the least of
--rounds by turns (its start of Python is left out). Needs numpy, and onnxruntime for the second time.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

ORT = """
import sys, tempfile, time
import numpy as np
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process
arrays = dict(np.load(sys.argv[2]))
class Reader(CalibrationDataReader):
    def __init__(self):
        self.feeds = iter([{k: v[i:i + 1] for k, v in arrays.items()} for i in range(len(next(iter(arrays.values()))))])
    def get_next(self):
        return next(self.feeds, None)
reader, start = Reader(), time.process_time()
with tempfile.TemporaryDirectory() as folder:
    quant_pre_process(sys.argv[1], folder + "/ready.onnx", skip_symbolic_shape=True)
    quantize_static(folder + "/ready.onnx", folder + "/out.onnx", reader, quant_format=QuantFormat.QDQ, per_channel=True,
                    activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)
print("seconds", time.process_time() - start)
"""


def tables(shared, work):
    """Name: model, calibration data (options of quantize), test data and metric (options of eval)."""
    trained, patients = shared / "trained", shared / "patients"

    def saved(name, **arrays):
        np.savez(work / f"{name}.npz", **arrays)
        return work / f"{name}.npz"

    def classified(model, name, key, calibration, test, label):
        return (model, ("--data", saved(name, **{key: calibration})), ("--data", saved(name + ".test", **{key: test, "label": label}), "--metric", "top1,nll"))

    real = lambda a: a.astype(np.float32)
    rows = {}
    c, t = np.load(trained / "kws/calibration.npz"), np.load(trained / "kws/test.npz")
    for name, array, shape in (("kws_dscnn", "logmel", real), ("kws_dscnn_mfcc", "mfcc", real), ("kws_gru", "logmel", real)):
        form = (lambda a: real(a)) if name == "kws_gru" else (lambda a: real(a)[:, None])
        rows[name] = classified(trained / f"kws/{name}.onnx", name, "features", form(c[array]), form(t[array]), t["label"])
    c, t = np.load(trained / "digit_cls/calibration.npz"), np.load(trained / "digit_cls/digit_test.npz")
    pixels = lambda a: real(a) / 255
    for name in ("digit_mobile", "digit_vit"):
        rows[name] = classified(trained / f"digit_cls/{name}.onnx", name, "image", pixels(c["image"]), pixels(t["image"]), t["label"])
    # Detectors: COCO's form of the labels, and how raw outputs are read.
    root = trained / "digit_det"
    items = json.loads((root / "test.json").read_text())["images"]
    (work / "coco.json").write_text(json.dumps({
        "images": [{"id": n, "file_name": str(root / i["file"])} for n, i in enumerate(items)],
        "annotations": [{"image_id": n, "category_id": k, "bbox": [b[0], b[1], b[2] - b[0], b[3] - b[1]]}
                        for n, i in enumerate(items) for b, k in zip(i["boxes"], i["labels"])],
        "categories": [{"id": k, "name": str(k)} for k in range(10)]}))
    (work / "digits.json").write_text(json.dumps({"boxes": "raw", "form": "grid", "strides": [8, 16, 32], "size": [320, 320], "objectness_column": 4,
                                                  "score_columns": [5, 15], "activation": "sigmoid", "floor": 0.01, "overlap": 0.5, "most": 50}))
    (work / "px.json").write_text(json.dumps({"layout": "columns", "form": "corners", "floor": 0.02, "overlap": 0.5, "most": 1000}))
    pictures = np.load(root / "calibration.npz")["image"]
    rows["digit_det"] = (root / "digit_det.onnx", ("--data", saved("digit_det", image=pixels(pictures) if pictures.dtype == np.uint8 else real(pictures))),
                         ("--data", work / "coco.json", "--metric", "map", "--decode", work / "digits.json"))
    for name in ("px_det", "spread_dw", "sink_vit", "wide_cnn"):
        z = np.load(patients / name / "data.npz")
        model = patients / name / "model.onnx"
        form = lambda a: pixels(a if a.ndim == 4 else a[:, None])
        if name == "px_det":
            rows[name] = (model, ("--data", saved(name, image=form(z["calibration_image"]))),
                          ("--data", patients / name / "data.npz", "--metric", "map", "--decode", work / "px.json"))
        else:
            rows[name] = classified(model, name, "image", form(z["calibration_image"]), form(z["image"]), z["label"])
    four = ("--scheme", "w4/32")
    book = saved("book", ids=np.load(patients / "scripts/lm_calibration.npz")["calibration_ids"].reshape(-1))
    for name in ("lm_main", "lm_draft"):
        rows[name] = (trained / f"lm/{name}.onnx", ("--data", book, "--input", "input_ids=ids", "--window", 128, *four),
                      ("--data", trained / "lm/test.txt", "--tokenizer", trained / "lm/tokenizer.json", "--metric", "perplexity"))
    z = np.load(patients / "gain_lm/data.npz")
    gain, test = saved("gain", input_ids=z["calibration_ids"].astype(np.int64)[:, :256]), saved("gain.test", ids=z["ids"].astype(np.int64))
    evaluated = ("--data", test, "--input", "input_ids=ids", "--window", 256, "--metric", "perplexity")
    rows["gain_lm w4/32"] = (patients / "gain_lm/model.onnx", ("--data", gain, *four), evaluated)
    rows["gain_lm"] = (patients / "gain_lm/model.onnx", ("--data", gain), evaluated)
    rows["spread_dw per tensor"] = (*rows["spread_dw"][:1], (*rows["spread_dw"][1], "--recipe", work / "tensor.json"), rows["spread_dw"][2])
    (work / "tensor.json").write_text('{"vireo_recipe": 1, "defaults": {"weights": "tensor"}}')
    return rows


def quantize(vireo, model, out, options):
    """Processor seconds, peak in MiB, what was measured. A process of its own waits: a child's peak counts what its parent holds."""
    waits = ("import os,sys,json; p=os.posix_spawn(sys.argv[1],sys.argv[1:],os.environ); _,s,r=os.wait4(p,0); "
             "print(); print(json.dumps([os.waitstatus_to_exitcode(s), r.ru_utime+r.ru_stime, r.ru_maxrss/1024]))")
    command = [vireo, "quantize", model, "-o", out, "--json", *options]
    done = subprocess.run([sys.executable, "-S", "-c", waits, *map(str, command)], capture_output=True, text=True, check=True)
    said, last = done.stdout.rstrip("\n").rsplit("\n", 1)
    status, seconds, peak = json.loads(last)
    if status != 0:
        raise SystemExit(f"{model}: {done.stderr}")
    return seconds, peak, json.loads(said)["quantization"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("vireo")
    parser.add_argument("--shared", type=pathlib.Path, required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    print("| model | float | quantized | nll or perplexity: float | quantized | file, bytes | on integers | peak, MiB | seconds | ONNX Runtime | ratio |")
    print("| --- " * 11 + "|")
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        for name, (model, calibration, test) in tables(args.shared, work).items():
            if args.only and name not in args.only.split(","):
                continue
            out, language = work / "out.vireo", "perplexity" in test
            ours, theirs, peak = [], [], 0
            for _ in range(1 if language else args.rounds):
                seconds, most, measured = quantize(args.vireo, model, out, calibration)
                ours.append(seconds)
                peak = max(peak, most)
                if not language and "--recipe" not in calibration:
                    done = subprocess.run([sys.executable, "-c", ORT, model, calibration[1]], capture_output=True, text=True, check=False)
                    found = [line for line in done.stdout.splitlines() if line.startswith("seconds ")]
                    theirs += [float(found[0].split()[1])] if found else []
            done = subprocess.run([args.vireo, "eval", model, out, *map(str, test), "--json"], capture_output=True, text=True, check=True)
            values = [{k: v["value"] for k, v in m["values"].items()} for m in json.loads(done.stdout)["models"]]
            first = lambda v: "" if language else f"{v.get('top1', v.get('map')):.4f}"
            second = lambda v: f"{v['perplexity']:.3f}" if language else f"{v['nll']:.4f}" if "nll" in v else ""
            share = measured.get("integer_share")
            print(f"| {name} | {first(values[0])} | {first(values[1])} | {second(values[0])} | {second(values[1])} | {os.path.getsize(out):,} | "
                  f"{'' if share is None else f'{100 * share:.0f} %'} | {peak:.0f} | {min(ours):.2f} | "
                  f"{f'{min(theirs):.2f} | {min(ours) / min(theirs):.2f}' if theirs else ' | '} |", flush=True)


if __name__ == "__main__":
    main()
