"""Models with their nodes placed at random over cpu, xnnpack and npu: wherever a session is cut, the answers are the CPU's.

Integer models are placed on npu and cpu and have to give the CPU's bits; float models go over all devices, and what
their kernels round differently has to stay within each model's tolerance. Every test prints the share of its nodes that
each device had. VIREO_PLACEMENTS says how many placements each model gets (default 3).
"""
import collections
import json
import os
import subprocess
import sys
import unittest

import models_test
import support
import zoo_test

MODELS = support.ROOT / "samples" / "models"
PLUGIN = support.BUILD / "plugins" / "libvireo_npu.so"
COUNT = os.environ.get("VIREO_PLACEMENTS", "3")
SHARES = collections.defaultdict(list)
LARGE = ("llama_small",)  # takes as long as all others of a default run's: only where all are run


def devices():
    listed = json.loads(support.vireo("devices", "--json", "--plugins", PLUGIN).stdout)
    return [d["name"] for d in listed["devices"] if d["name"] in ("cpu", "xnnpack", "npu")]


def place(test, name, file, *arguments, integer=False):
    """Fails unless all placements of the converted model pass; of an integer one, unless they are the CPU's to the bit."""
    wanted = [d for d in devices() if not (integer and d == "xnnpack")]
    done = support.vireo("verify", file, *arguments, "--placements", COUNT, "--device", ",".join(reversed(wanted)), "--plugins", PLUGIN, "--json",
                         check=False)
    test.assertIn(done.returncode, (0, 1), done.stderr)
    told = json.loads(done.stdout)
    share = ", ".join(f"{d} {s:.0%}" for d, s in told["share"].items())
    print(f"\n{name}: {share}; {sum(p['cuts'] for p in told['placements'])} cuts")
    for p in told["placements"]:
        test.assertTrue(p["pass"], f"placement {p['seed']}: {p['reason']}")
        test.assertEqual(p["failovers"], 0)
        if integer:
            test.assertTrue(p["identical"], f"placement {p['seed']} differs from the CPU by {p['max_abs']}")


def sample(name, shape):
    def run(test):
        subprocess.run([sys.executable, "-B", support.ROOT / "tests" / "perf" / "quantize.py", MODELS / f"{name}.onnx", "-o", support.WORK],
                       capture_output=True, text=True, check=True)
        file = support.convert(support.WORK / f"{name}-int8.onnx", f"placed_{name}", "--shape", shape)
        place(test, name, file, integer=True)
    return run


def published(name, slack):
    def run(test):
        model = support.SHARED / "models" / (name + ".onnx")
        file = support.convert(model, "placed_" + name.replace("/", "_"))
        tolerance = models_test.tolerance(name, slack) or ["--atol", "1e-4"]
        place(test, name, file, model.with_suffix(".npz"), *tolerance)
        file.unlink()
    return run


def skeleton(path):
    def run(test):
        import numpy
        import onnx
        fill = zoo_test.filler()
        model = fill.load(str(path))
        name = path.name.split(".onnx")[0]
        full = support.WORK / f"placed_{name}.onnx"
        onnx.save(fill.fill(model), str(full))
        inputs = []
        for key, array in fill.inputs(model).items():
            data = support.WORK / f"placed_{name}_{len(inputs)}.npy"
            numpy.save(data, array)
            inputs += ["--input", f"{key}={data}"]
        file = support.convert(full, f"placed_{name}")
        full.unlink()
        place(test, name, file, *inputs, "--atol", "1e-3", integer="int8" in name)
        file.unlink()
    return run


def trained(path):
    """Of a language model: 5 new tokens after 7 past ones."""
    def run(test):
        import numpy
        file = support.convert(path, f"placed_{path.stem}")
        inputs, rng = [], numpy.random.default_rng(1)
        for value in json.loads(support.vireo("inspect", file, "--json").stdout)["inputs"] if path.parent.name == "lm" else []:
            heads, width = value["shape"][1], value["shape"][-1]
            data = {"input_ids": lambda: rng.integers(0, 1000, (1, 5)), "position_ids": lambda: numpy.arange(7, 12)[None],
                    "attention_mask": lambda: numpy.ones((1, 12), numpy.int64)}.get(
                        value["name"], lambda: rng.standard_normal((1, heads, 7, width), numpy.float32))()
            numpy.save(support.WORK / f"placed_{value['name']}.npy", data)
            inputs += ["--input", f"{value['name']}={support.WORK / ('placed_' + value['name'] + '.npy')}"]
        place(test, path.stem, file, *inputs, "--atol", "1e-4")
        file.unlink()
    return run


def table():
    yield "golden", lambda test: place(test, "golden", support.ROOT / "tests" / "golden" / "integer_golden.vireo", integer=True)
    if not support.missing("onnxruntime"):
        for name, shape in (("kws_dscnn", "features=1,1,49,40"), ("kws_dscnn_mfcc", "features=1,1,49,10"), ("digit_mobile", "image=1,1,32,32")):
            yield f"{name}_int8", sample(name, shape)
    if not support.missing(folder="models"):
        for name, slack in models_test.rows():
            yield name, published(name, slack)
    if not support.missing("numpy", folder="trained"):
        for path in sorted((support.SHARED / "trained").glob("*/*.onnx")):
            yield "trained_" + path.stem, trained(path)
    if not support.missing("numpy", "onnx", folder="zoo"):
        for path in sorted((support.SHARED / "zoo").glob("*.onnx.gz")):
            name = path.name.split(".onnx")[0]
            if support.SAMPLE == 1 or name not in LARGE:
                yield name, skeleton(path)


reason = None if PLUGIN.exists() else "this build is without the npu plug-in (VIREO_NPU, VIREO_PLUGINS)"
Placements = support.cases(reason, {} if reason else dict(table()))

if __name__ == "__main__":
    support.main()
