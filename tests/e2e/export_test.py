"""What `vireo convert --emit-onnx` writes: valid ONNX by onnx.checker, which ONNX Runtime runs with the answers of the original
file; inputs and outputs keep their names, types and symbolic dimensions.

Every model of samples/models, of the shared folders, and drawn ones of random_test.py. Both files run in ONNX Runtime with its
own optimiser off, so that what differs is Vireo's doing. The tolerance is the tool's: |d| <= 1e-5 max|y| + 1e-4 |y|, 1e-2 for 16-bit floats.
A few models are ten times as far from themselves with and without ONNX Runtime's optimiser: models_test.py's table says which.
Outputs that random operators have a part in are compared by type and shape.

Quantized models are asked twice. Without fold_quantization the exported file must answer as the original does, within a step of the
output's scale. With it, integer arithmetic took the place of float arithmetic: where a sum lies near the middle between two codes
they may choose differently, and the layers behind multiply such a step: ONNX Runtime's own integer kernels are as far from its
unfused ones (up to 10 steps, 0.22 of a standard deviation, in ultraface_slim320_qdq_derived) as we are. So the answer must be within a
step of what ONNX Runtime gives unfused, or of what it gives with its integer kernels.

ONNX's own operator cases (tests/onnx_cases.py) and the models of export_models.py are held to the whole checker (full_check), wherever
the original passes it, and to ONNX Runtime, wherever that runs the original.

A table at the end lists every model and output: the largest difference, and the bound where it came nearest to its bound.
"""
import atexit
import pathlib
import re
import sys

import export_models
import models_test
import random_test
import support
import zoo_test

sys.path.insert(0, str(support.ROOT / "tests"))
import conformance  # pylint: disable=wrong-import-position,wrong-import-order
import exact_bytes  # pylint: disable=wrong-import-position,wrong-import-order

STEP = 1.001  # steps of the output's scale: one, and the rounding of that product

# (model, output, largest difference, bound, share of the bound) of everything that was compared.
ROWS = []


def print_table():
    if not ROWS:
        return
    print("\n| model | output | worst difference | bound | share |\n| --- | --- | ---: | ---: | ---: |")
    worst = {}
    for model, output, difference, bound, share in ROWS:
        if share >= worst.get((model, output), (0, 0, -1))[2]:
            worst[model, output] = (difference, bound, share)
    for (model, output), (difference, bound, share) in worst.items():
        print(f"| {model} | {output} | {difference:.3g} | {bound:.3g} | {share:.3f} |")
    models = {m for m, _ in worst}
    print(f"{len(models)} models, {len(worst)} outputs, nearest to its bound {max(w[2] for w in worst.values()):.3f}", flush=True)


atexit.register(print_table)


def options_of(onnxruntime, fused, integers):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    level = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = level.ORT_ENABLE_ALL if fused else level.ORT_DISABLE_ALL
    if integers and not fused and not exact_bytes.exact():
        options.graph_optimization_level = level.ORT_ENABLE_EXTENDED
    return exact_bytes.ask_for(options)


def run(path, feed, fused=False, integers=False):
    """integers: the graph multiplies bytes, which must be exact."""
    import onnxruntime
    session = onnxruntime.InferenceSession(str(path), options_of(onnxruntime, fused, integers), providers=["CPUExecutionProvider"],
                                           disabled_optimizers=["ConstantFolding"] if integers else [])
    return session.run(None, feed)


def interface(model):
    """Names, types, ranks and numeric extents of inputs and outputs; the names of the inputs' symbolic dimensions."""
    initializers = {i.name for i in model.graph.initializer}
    facts = []
    for info in [i for i in model.graph.input if i.name not in initializers]:
        t = info.type.tensor_type
        facts.append((info.name, t.elem_type, [d.dim_value if d.dim_value > 0 else d.dim_param or None for d in t.shape.dim]))
    return facts, [(o.name, o.type.tensor_type.elem_type) for o in model.graph.output]


def check_interface(test, original, exported):
    (inputs, outputs), (new_inputs, new_outputs) = interface(original), interface(exported)
    test.assertEqual([o[0] for o in new_outputs], [o[0] for o in outputs])
    for (name, dtype), (_, new_dtype) in zip(outputs, new_outputs):
        test.assertIn(dtype, (new_dtype, 0), name)
    new = {name: (dtype, dims) for name, dtype, dims in new_inputs}
    test.assertEqual([i[0] for i in new_inputs], [i[0] for i in inputs])
    for name, dtype, dims in inputs:
        test.assertEqual(new[name][0], dtype, name)
        test.assertEqual(len(new[name][1]), len(dims), name)
        for was, now in zip(dims, new[name][1]):
            if was is not None:  # an extent without a name gets one
                test.assertEqual(now, was, name)


def is_random(graph):
    """Names of outputs that a random operator has a part in."""
    values = set()
    for n in graph.node:
        if n.op_type.startswith("Random") or n.op_type in ("Multinomial", "Bernoulli") or values & set(n.input):
            values.update(n.output)
    return values


def same(test, model, wanted, got, names, atol, rtol, drawn=()):
    import numpy as np
    for name, w, g in zip(names, wanted, got):
        test.assertEqual(g.dtype, w.dtype, name)
        test.assertEqual(g.shape, w.shape, name)
        if name in drawn:
            continue
        if w.dtype.kind in "OSUb":
            test.assertTrue((g == w).all(), name)
            ROWS.append((model, name, 0, 0, 0))
            continue
        a, b = g.astype("float64"), w.astype("float64")
        if w.dtype.kind in "iu":
            test.assertTrue((a == b).all(), name)
            ROWS.append((model, name, 0, 0, 0))
            continue
        half = w.dtype.itemsize == 2
        limit = max(atol, 1e-2 if half else 0) * np.abs(b[np.isfinite(b)]).max(initial=0) + max(rtol, 1e-2 if half else 0) * np.abs(b)
        with np.errstate(invalid="ignore"):
            equal = (np.isnan(a) & np.isnan(b)) | (a == b)
            error = np.where(equal, 0, np.abs(a - b))
        good = equal | (error <= limit)
        share = np.divide(error, limit, out=np.where(equal, 0.0, np.inf), where=limit > 0)
        if share.size:
            at = np.nanargmax(share)
            ROWS.append((model, name, float(error.max()), float(limit.reshape(-1)[at]), float(share.reshape(-1)[at])))
        test.assertTrue(good.all(), f"{name}: {np.nanmax(error):.3g} of {np.abs(b).max():.3g}")


def step_of(model, output):
    """The scale of the codes behind an output; 0 where it is codes itself, None where it is not made of codes."""
    from onnx import numpy_helper
    constants = {i.name: i for i in model.graph.initializer}
    makers = {o: n for n in model.graph.node for o in n.output}
    n = makers.get(output)
    while n is not None and n.op_type in ("Reshape", "Identity", "Squeeze", "Unsqueeze", "Transpose", "Flatten", "Slice"):
        n = makers.get(n.input[0])
    if n is None or n.op_type != "DequantizeLinear" or n.input[1] not in constants:
        return None
    return float(numpy_helper.to_array(constants[n.input[1]]).max())


def compare_quantized(test, path, name, out, feed, original, atol, rtol):
    """Within a step of the output's scale; outputs that come from no codes, as those of any model."""
    import numpy as np
    names = [o.name for o in original.graph.output]
    unfused, fused, got = run(path, feed), run(path, feed, fused=True), run(out, feed, integers=True)
    plain_file = export(path, name + ".plain", "--skip", "fold_quantization")
    plain = run(plain_file, feed)
    plain_file.unlink()
    for output, u, f, g, p in zip(names, unfused, fused, got, plain):
        step = step_of(original, output)
        if step is None:
            same(test, name, [u], [g], [output], atol, rtol)
            continue
        test.assertEqual((g.dtype, g.shape), (u.dtype, u.shape), output)
        distance = lambda a, b: float(np.abs(a.astype("float64") - b.astype("float64")).max(initial=0))
        for what, d in (("without fold_quantization", distance(p, u)), ("", min(distance(g, u), distance(g, f)))):
            ROWS.append((name, f"{output} {what}".strip(), d, STEP * step, d / (STEP * step)))
            test.assertLessEqual(d, STEP * step, f"{output} {what}")


def export(path, name, *arguments):
    out = support.WORK / (name + ".exported.onnx")
    support.vireo("convert", path, "--emit-onnx", out, *arguments)
    return out


def compare(test, path, name, feeds, atol=1e-5, rtol=1e-4, quantized=False):
    import onnx
    out = export(path, name)
    onnx.checker.check_model(str(out), full_check=False)
    original, exported = (onnx.load(str(p), load_external_data=False) for p in (path, out))
    check_interface(test, original, exported)
    known = {i.name for i in original.graph.initializer}
    names = [i.name for i in original.graph.input if i.name not in known]
    for feed in feeds:
        if not isinstance(feed, dict):
            feed = dict(zip(names, feed))
        if quantized:
            compare_quantized(test, path, name, out, feed, original, atol, rtol)
        else:
            same(test, name, run(path, feed), run(out, feed), [o.name for o in original.graph.output], atol, rtol, is_random(original.graph))
    out.unlink()


def stored_cases(npz):
    """The inputs of each case of a stored reference, in the order of the model's inputs."""
    import numpy as np
    data = np.load(npz)
    cases = {}
    for key in data.files:
        found = re.fullmatch(r"c(\d+)_in(\d+)", key)
        if found:
            cases.setdefault(int(found[1]), {})[int(found[2])] = data[key]
    return [[inputs[k] for k in sorted(inputs)] for _, inputs in sorted(cases.items())]


def is_quantized(name):
    return re.search("qdq|quant|int8", name) is not None


def check_stored(path, slack=0.0):
    def check(test):
        feeds = stored_cases(path.with_suffix(".npz"))
        test.assertTrue(feeds, "no stored case")
        compare(test, path, path.stem, feeds[:2], max(1e-5, 10 * slack), 1e-4, is_quantized(path.stem))
    return check


def check_drawn(path):
    """Drawn inputs, for models without stored ones: each name of a dimension is an extent of its own."""
    def check(test):
        import numpy as np
        import onnx
        graph = onnx.load(str(path), load_external_data=False).graph
        rng, extents, feed = np.random.default_rng(1), {}, {}
        for info in graph.input:
            t = info.type.tensor_type
            dims = [d.dim_value or extents.setdefault(d.dim_param, 2 + len(extents)) for d in t.shape.dim]
            if t.elem_type == onnx.TensorProto.FLOAT:
                feed[info.name] = rng.standard_normal(dims).astype("float32")
            else:
                feed[info.name] = rng.integers(0, 16, dims)
        compare(test, path, path.stem, [feed])
    return check


def check_zoo(path):
    def check(test):
        import onnx
        fill = zoo_test.filler()
        model = fill.load(str(path))
        name = path.name.split(".onnx")[0]
        full = support.WORK / (name + ".filled.onnx")
        onnx.save(fill.fill(model), str(full))
        compare(test, full, name, [fill.inputs(model)], 1e-4, 1e-4, is_quantized(name))
        full.unlink()
    return check


def check_random(first, count):
    def check(test):
        import onnx
        for seed in range(first, first + count):
            builder = random_test.Builder(seed)
            path = support.WORK / f"export_{seed}.onnx"
            onnx.save(builder.model(), str(path))
            with test.subTest(seed=seed):
                compare(test, path, "drawn", [builder.feed], 2e-5)
                path.unlink()
    return check


def check_back(path):
    """The exported file converts again, to the same answers."""
    def check(test):
        out = export(path, path.stem + ".back")
        file = support.convert(out, path.stem + ".back")
        support.verify(file, path.with_suffix(".npz"))
        out.unlink()
        file.unlink()
    return check


def read_pb(path):
    import onnx
    tensor = onnx.TensorProto()
    tensor.ParseFromString(path.read_bytes())
    return onnx.numpy_helper.to_array(tensor)


def passes_checker(path):
    """Whether the whole check takes the file: a few of ONNX's own cases it does not."""
    import onnx
    try:
        onnx.checker.check_model(str(path), full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError):
        return False
    return True


def check_strict(path, out, feed, always=False):
    """The file `out`, exported from `path`, passes the whole checker where the original does or `always`, and runs with equal answers where that runs.
    Returns what was compared: "", "checked" or "run"."""
    import numpy as np
    import onnx
    model = onnx.load(str(path))
    strict = always or passes_checker(path)
    onnx.checker.check_model(str(out), full_check=strict)
    try:
        wanted = run(path, feed)
    except Exception:  # pylint: disable=broad-except; ONNX Runtime has no one error, and many cases are too new for it
        out.unlink()
        return "checked" if strict else ""
    got = run(out, feed)
    out.unlink()
    random = is_random(model.graph)
    for info, w, g in zip(model.graph.output, wanted, got):
        assert (g.dtype, g.shape) == (w.dtype, w.shape), info.name
        if info.name in random:
            continue
        if w.dtype.kind not in "fc":
            assert (g == w).all(), info.name
            continue
        half = w.dtype.itemsize == 2
        largest = np.abs(w[np.isfinite(w)]).max(initial=0)
        np.testing.assert_allclose(g.astype("complex128"), w.astype("complex128"), rtol=2e-2 if half else 1e-3, atol=(2e-2 if half else 1e-5) * max(1, largest))
    return "run"


def check_cases(folders):
    """ONNX's own operator cases: all whose inputs and outputs are tensors."""
    def check(test):
        import onnx
        counts = {"": 0, "checked": 0, "run": 0}
        for folder in folders[::support.DATA_STEP]:
            path = folder / "model.onnx"
            graph = onnx.load(str(path)).graph
            if not all(i.type.HasField("tensor_type") for i in [*graph.input, *graph.output]):
                continue
            feed = {i.name: read_pb(folder / "test_data_set_0" / f"input_{k}.pb") for k, i in enumerate(graph.input)}
            with test.subTest(case=folder.name):
                try:
                    out = export(path, "case")
                except AssertionError:
                    if support.vireo("check", path, check=False).returncode != 0:
                        continue  # refused, as tests/conformance.py counts
                    raise
                counts[check_strict(path, out, feed)] += 1
        test.assertGreater(counts["run"], 0)
        print(f"{counts['run']} cases run, {counts['checked']} are checked only, {counts['']} originals fail the whole check")
    return check


def check_strict_models(test):
    import onnx
    for name, (model, inputs) in export_models.table().items():
        path = support.WORK / f"strict_{name}.onnx"
        onnx.save(model, str(path))
        with test.subTest(model=name):
            did = check_strict(path, export(path, f"strict_{name}"), dict(zip([i.name for i in model.graph.input], inputs)), always=True)
            test.assertIn(did, ("run", "checked"))
        path.unlink()


def check_golden(test):
    """The golden vectors of integer arithmetic, by the formulas that the exporter writes: every code."""
    import subprocess
    import onnx
    program = support.BUILD / "bin" / "make_golden"
    if not program.exists():
        test.skipTest(f"{program} is not built (VIREO_DEVELOPER)")
    out = support.WORK / "golden.onnx"
    subprocess.run([program, support.WORK / "golden.vireo", support.WORK / "golden_wide.vireo", out], check=True)
    model = onnx.load(str(out))
    onnx.checker.check_model(model)
    names = [o.name for o in model.graph.output]
    results = dict(zip(names, run(out, {}, integers=True)))
    cases = [n for n in names if not n.endswith(".wanted")]
    test.assertGreater(len(cases), 40)
    for name in cases:
        with test.subTest(case=name):
            test.assertEqual(results[name].dtype, results[name + ".wanted"].dtype)
            test.assertEqual(results[name].tolist(), results[name + ".wanted"].tolist())


def table():
    cases = {"golden": check_golden, "strict": check_strict_models}
    cache = pathlib.Path(conformance.cache_folder())
    folders = []
    if (cache / "venv" / "bin" / "python").exists():
        folders = sorted(path for path in pathlib.Path(conformance.cases_folder(str(cache))).iterdir() if path.is_dir())
    else:
        print("left out: ONNX's own cases, which the Python of toolchains/bootstrap --for tests makes")
    for first in range(0, len(folders), 100):
        cases[f"cases_{first}"] = check_cases(folders[first:first + 100])
    for path in sorted((support.ROOT / "samples" / "models").glob("*.onnx")):
        cases["samples_" + path.stem] = check_stored(path)
        cases["back_" + path.stem] = check_back(path)
    for first in range(0, 100, 20):
        cases[f"random_{first}"] = check_random(first, 20)
    if (support.SHARED / "models").is_dir():
        for name, slack in models_test.rows():
            cases["models_" + name] = check_stored(support.SHARED / "models" / (name + ".onnx"), slack)
    for path in sorted((support.SHARED / "trained").glob("*/*.onnx")):
        cases["trained_" + path.stem] = check_drawn(path)
    for path in sorted((support.SHARED / "zoo").glob("*.onnx.gz")):
        cases["zoo_" + path.name.split(".onnx")[0]] = check_zoo(path)
    for folder in ("models", "trained", "zoo"):
        if not (support.SHARED / folder).is_dir():
            print(f"left out: {support.missing(folder=folder)}")
    return cases


reason = support.missing("numpy", "onnx", "onnxruntime")
Export = support.cases(reason, {} if reason else table())

if __name__ == "__main__":
    support.main()
