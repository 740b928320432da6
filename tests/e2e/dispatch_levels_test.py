"""Every model at every level of this core's instruction sets: errors beside ONNX Runtime as a table, integer models equal to the bit.

    VIREO_LIBRARY=... VIREO_PROGRAM=... python tests/e2e/dispatch_levels_test.py [--table] [MODEL.onnx...]

A level is what VIREO_LEVEL of a developers' build leaves the kernels: sse2, avx2, avx3, vnni, bf16, amx; each runs in a process of its own.
Without models: those of samples/models, and with VIREO_FULL=1 in the environment the zoo and all trained models too. An error is
the largest difference from ONNX Runtime over the largest value of the output.
"""
import hashlib
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import support

LEVELS = ("sse2", "avx2", "avx3", "vnni", "bf16", "amx")
# Sums in another order, fused multiplications, Winograd's transforms: a thousandth of the largest value leaves room for the
# deepest nets (some 1e-5), and is far below what a wrong kernel does.
TOLERANCE = 1e-3
LEAST = 1e-3  # ONNX Runtime's Sigmoid is a fraction of polynomials, off by 1e-7 wherever it is: all there is of an output of 1e-5
NO_LEVEL = 77  # exit status of a process whose level the core has not
ROOT = pathlib.Path(__file__).resolve().parents[2]


def feed_of(path):
    import numpy as np
    import onnx
    types = {onnx.TensorProto.FLOAT: np.float32, onnx.TensorProto.INT64: np.int64, onnx.TensorProto.INT32: np.int32,
             onnx.TensorProto.UINT8: np.uint8, onnx.TensorProto.INT8: np.int8, onnx.TensorProto.BOOL: np.bool_}
    graph = onnx.load(str(path)).graph
    constants = {c.name for c in graph.initializer}
    feed, random = {}, np.random.default_rng(3)
    for value in graph.input:
        if value.name in constants:
            continue
        tensor = value.type.tensor_type
        dtype = types[tensor.elem_type]
        shape = [d.dim_value if d.dim_value > 0 else 1 for d in tensor.shape.dim]
        feed[value.name] = random.random(shape, dtype=np.float32) if dtype is np.float32 else np.ones(shape, dtype)
    return feed


def work(folder):
    """In a process of its own: answers of each converted model of the folder, and whether it is all integers."""
    import numpy as np
    import vireo
    if "cpu" not in [device.name for device in vireo.Runtime().devices]:
        sys.exit(NO_LEVEL)
    for file in sorted(pathlib.Path(folder).glob("*.vireo")):
        feed = np.load(file.with_suffix(".in.npz"))
        model = vireo.Model(str(file))
        arrays = [feed[v.name] for v in model.inputs]
        outputs = model.session(model.bounds_for(*arrays)).run(*arrays)
        np.savez(file.with_suffix("." + os.environ["VIREO_LEVEL"] + ".npz"), **{v.name: y for v, y in zip(model.outputs, outputs)})


def default_models(folder):
    found = sorted((ROOT / "samples" / "models").glob("*.onnx"))
    if os.environ.get("VIREO_FULL") != "1":
        return found
    for part in ("trained", "models"):
        found += sorted((support.SHARED / part).rglob("*.onnx"))
    if (support.SHARED / "zoo").exists():
        import onnx
        import zoo_test
        fill = zoo_test.filler()
        for skeleton in sorted((support.SHARED / "zoo").glob("*.onnx.gz")):
            found.append(pathlib.Path(folder) / (skeleton.name.split(".onnx")[0] + ".onnx"))
            onnx.save(fill.fill(fill.load(str(skeleton))), str(found[-1]))
    return found


def compare(models):
    """{model: {level: (error or None, hash)}}, levels that the core has, and why models were left out."""
    import numpy as np
    import onnx
    import onnxruntime
    rows, left = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        wanted = {}
        for path in models:
            name = path.stem if path.stem not in wanted else f"{path.parent.name}_{path.stem}"
            drawn = {n.op_type for n in onnx.load(str(path), load_external_data=False).graph.node if n.op_type.startswith("Random")}
            if drawn:
                left[name] = f"{', '.join(sorted(drawn))}: each runtime draws numbers of its own"
                continue
            try:
                feed = feed_of(path)
                options = onnxruntime.SessionOptions()
                options.log_severity_level = 4
                session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
                answers = dict(zip([o.name for o in session.get_outputs()], session.run(None, feed)))
            except Exception as error:  # a model that wants other inputs, or operators that it lacks
                left[name] = "ONNX Runtime: " + str(error).splitlines()[0][:100]
                continue
            done = subprocess.run([support.VIREO, "convert", str(path), "-o", str(folder / (name + ".vireo"))], capture_output=True, text=True)
            if done.returncode:
                left[name] = done.stderr.strip().splitlines()[0] if done.stderr.strip() else "does not convert"
                continue
            np.savez(folder / (name + ".in.npz"), **feed)
            wanted[name] = answers
        levels = []
        for level in LEVELS:
            done = subprocess.run([sys.executable, "-B", __file__, "--work", str(folder)], env={**os.environ, "VIREO_LEVEL": level},
                                  capture_output=True, text=True)
            if done.returncode == NO_LEVEL:
                continue
            if done.returncode:
                raise AssertionError(f"{level}: {done.stderr[-2000:]}")
            levels.append(level)
            for name, answers in wanted.items():
                got = np.load(folder / f"{name}.{level}.npz")
                digest, error = hashlib.sha256(), 0.0
                for output, reference in answers.items():
                    y = got[output]
                    digest.update(y.tobytes())
                    if np.asarray(reference).dtype.kind == "f" and np.asarray(reference).size:
                        a, b = np.float64(y), np.float64(reference)
                        error = max(error, float(np.max(np.abs(a - b)) / max(float(np.max(np.abs(b))), LEAST)))
                rows.setdefault(name, {})[level] = (error, digest.hexdigest()[:16])
    return rows, levels, left


def integer_models(models):
    """Names of models that compute in integers from end to end: their bits are one on all levels."""
    found = set()
    for path in models:
        import onnx
        ops = {n.op_type for n in onnx.load(str(path)).graph.node}
        if ops & {"QuantizeLinear", "QLinearConv"} and path.stem.endswith("int8"):
            found.add(path.stem)
    return found


def table(rows, levels, left, to=sys.stdout):
    print("| model | " + " | ".join(levels) + " | same bits |\n| --- |" + " ---: |" * len(levels) + " --- |", file=to)
    for name, by_level in rows.items():
        cells = [f"{by_level[level][0]:.1e}" for level in levels]
        same = len({by_level[level][1] for level in levels}) == 1
        print(f"| {name} | " + " | ".join(cells) + f" | {'yes' if same else 'no'} |", file=to)
    for name, why in left.items():
        print(f"left out: {name}: {why}", file=to)


def quantized_copies(models, folder):
    """Static QDQ copies of the float models with one float input that a quantizer takes: what integer kernels are tried on."""
    import numpy as np
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

    class Reader(CalibrationDataReader):
        def __init__(self, feed):
            self.left = [feed]

        def get_next(self):
            return self.left.pop() if self.left else None

    made = []
    for path in models:
        if path.stem not in ("kws_dscnn", "digit_mobile"):
            continue
        to = pathlib.Path(folder) / (path.stem + "-int8.onnx")
        quantize_static(str(path), str(to), Reader(feed_of(path)), quant_format=QuantFormat.QDQ, per_channel=True,
                        activation_type=QuantType.QInt8, weight_type=QuantType.QInt8)
        made.append(to)
    return made


def own_quantizations(folder):
    """QDQ files that `vireo quantize` makes, in each of its formats, of samples' models that are integers from end to end then."""
    models, made = ROOT / "samples" / "models", []
    for name, given, formats in (("kws_dscnn", "features", ("w8a8", "w8a16", "w4a8")), ("digit_mobile", "image", ("w8a8", "w4a8"))):
        for scheme in formats:
            made.append(pathlib.Path(folder) / f"{name}-{scheme}-int8.onnx")
            support.vireo("quantize", models / f"{name}.onnx", "--emit-onnx", made[-1], "--scheme", scheme, "--data", models / f"{name}.npz",
                          "-i", f"{given}=c0_in0")
    return made


REASON = support.missing("numpy", "onnx", "onnxruntime")


@unittest.skipIf(REASON, REASON)
class Levels(unittest.TestCase):
    def test_levels(self):
        with tempfile.TemporaryDirectory() as folder:
            models = default_models(folder)
            own = own_quantizations(folder)
            models = models + quantized_copies(models, folder) + own
            rows, levels, left = compare(models)
            integer = integer_models(models)
        table(rows, levels, left)
        self.assertGreaterEqual(len(levels), 1, "no level runs: is this a developers' build?")
        self.assertGreaterEqual(len(rows), 3, left)
        self.assertTrue(integer & set(rows))
        self.assertLessEqual({path.stem for path in own}, integer & set(rows), left)
        for name, by_level in rows.items():
            if name in integer:
                self.assertEqual(len({digest for _, digest in by_level.values()}), 1, f"{name}: bits differ between levels: {by_level}")
                continue
            if "int8" in name or "quant" in name or "qdq" in name:
                continue  # codes that ONNX Runtime's fused kernels round otherwise
            for level, (error, _) in by_level.items():
                self.assertLessEqual(error, TOLERANCE, f"{name} at {level}")


if __name__ == "__main__":
    if "--work" in sys.argv:
        work(sys.argv[-1])
    elif "--table" in sys.argv:
        table(*compare([pathlib.Path(p) for p in sys.argv[1:] if p != "--table"]))
    else:
        support.main()
