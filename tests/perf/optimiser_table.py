"""optimiser_table.py MODEL.onnx...: what the optimiser did to each model, and what each of its groups of passes is worth.

    VIREO_LIBRARY=build/release/lib/libvireo.so VIREO_PROGRAM=build/release/bin/vireo \
        python tests/perf/optimiser_table.py [--no-latency] [--quick] [--seconds 3] [--inputs DIR] MODEL.onnx...

A model's first stored case (MODEL.npz beside it, or DIR/MODEL.INPUT.npy as the zoo's tool writes them) gives the extents of open
dimensions and the values to run on; without one, open extents are --dim and the values random. Prints Markdown:
  nodes     of the imported graph and of the optimised one (a fused node is one), of ONNX Runtime's own optimised graph of the same
            file at the levels `extended` and `all`; Transposes left; arena bytes without and with optimisation
  passes    over all models: how often each changed something, how often it declined, and the commonest reason
  integers  of quantized models: whether only integers are left, convolutions and matrix products that are not of integers, and
            the nodes that compute in floating point
  latency   milliseconds without optimisation and with it, and how much slower a model is with one group of passes left out
            ("." where that group changes nothing in it); the share of convolutions and matrix products in the time without
            optimisation. Both sides have the same kernels, threads and arena planner. All variants of a model take turns in one
            run; medians. --quick: half a second a model.

Needs numpy and onnxruntime. Machines are shared and noisy: what counts are ratios of one run.
"""
import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
import onnxruntime

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bindings" / "python"))
import vireo  # noqa: E402

PROGRAM = os.environ.get("VIREO_PROGRAM", "vireo")
# A pass that is in no group makes one of its own.
GROUPS = {
    "constants, shapes": ["fold_constants", "eliminate_no_ops", "inline_branches", "merge_equal", "simplify_shapes"],
    "activations, norms": ["fuse_activation", "recognise_norm"],
    "recurrent cells": ["recognise_recurrent"],
    "attention": ["recognise_attention", "recognise_rotary", "join_cache", "recognise_causal",
                  "pack_attention"],
    "movement": ["recognise_shuffle", "sink_transposes"],
    "convolutions": ["fold_batch_norm", "merge_pad", "turn_transposed", "crop_filters"],
    "merged products": ["merge_shared_gemm"],
    "integers": ["sink_dequantize", "fold_quantization", "merge_tables", "fuse_dynamic_quantization"],
    "epilogues": ["unflatten_gemm", "fuse_epilogue", "fuse_norm"],
    "subnormals": ["flush_subnormals"],
    "chains": ["fuse_chain"],
    "layout": ["choose_layout"],
}
PRODUCTS = ("Conv", "ConvTranspose", "ConvInteger", "QLinearConv", "IntConv", "Gemm", "MatMul", "MatMulInteger", "QLinearMatMul", "IntGemm",
            "Attention", "conv", "gemm", "matmul", "LSTM", "GRU", "RNN")


def convert(model, out, shapes, *arguments):
    """The report; None with what was said when the model does not convert."""
    report = out.with_suffix(".json")
    words = [PROGRAM, "convert", str(model), "-o", str(out), "--report", str(report), *shapes, *arguments]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        print(f"{model}: {done.stderr.strip().splitlines()[0]}", file=sys.stderr)
        return None
    return json.loads(report.read_text())


def count_nodes(graph):
    return sum(1 + sum(count_nodes(a.g) for a in n.attribute if a.HasField("g")) for n in graph.node)


def peer_nodes(model, level, folder):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = level
    path = os.path.join(folder, "peer.onnx")
    options.optimized_model_filepath = path
    try:
        onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
        return count_nodes(onnx.load(path).graph)
    except Exception as e:  # of any kind: what it cannot load is its own affair
        print(f"{model}: ONNX Runtime says {str(e).splitlines()[0][:120]}", file=sys.stderr)
        return None


def stored_inputs(model, names, folder):
    """One array an input of the graph, from the model's first stored case; None where nothing is stored."""
    path = pathlib.Path(model)
    if path.with_suffix(".npz").exists():
        case = np.load(path.with_suffix(".npz"))
        arrays = [case[f"c0_in{i}"] if f"c0_in{i}" in case else None for i in range(len(names))]
    elif folder:
        files = [pathlib.Path(folder) / f"{path.stem}.{name}.npy" for name in names]
        arrays = [np.load(f) if f.exists() else None for f in files]
    else:
        return None
    return None if any(a is None for a in arrays) else arrays


class Sample:
    """What a model is converted for and run on: --shape words that close every open dimension, and the inputs (None: random)."""

    def __init__(self, model, extent, folder):
        graph = onnx.load(str(model), load_external_data=False).graph
        known = {i.name for i in graph.initializer}
        inputs = [i for i in graph.input if i.name not in known]
        self.arrays = stored_inputs(model, [i.name for i in inputs], folder)
        self.words = []
        for k, info in enumerate(inputs):
            dims = info.type.tensor_type.shape.dim
            if any(not d.HasField("dim_value") or d.dim_value <= 0 for d in dims) or not info.type.tensor_type.HasField("shape"):
                extents = self.arrays[k].shape if self.arrays else [d.dim_value if d.dim_value > 0 else extent for d in dims]
                self.words += ["--shape", f"{info.name}=" + ",".join(map(str, extents))]


def changed(report, passes):
    return any(p["changes"] for p in report["passes"] if p["name"] in passes)


def thousands(n):
    return f"{n:,}" if n else "open"


def describe(samples, folder):
    print("| model | nodes | optimised | ORT extended | ORT all | Transposes | arena before | arena after |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    reports, all_passes = {}, collections.OrderedDict()
    level = onnxruntime.GraphOptimizationLevel
    for model, sample in samples.items():
        out = pathlib.Path(folder) / "model.vireo"
        shapes = sample.words
        plain, report = convert(model, out, shapes, "--no-optimize"), convert(model, out, shapes)
        if plain is None or report is None:
            continue
        facts = json.loads(subprocess.run([PROGRAM, "inspect", str(out), "--json"], check=True, capture_output=True, text=True).stdout)
        reports[model] = (report, facts)
        steps, transposes = sum(report["ops"].values()) if isinstance(report["ops"], dict) else sum(n for _, n in report["ops"]), report["transposes"]
        peers = [peer_nodes(model, l, folder) for l in (level.ORT_ENABLE_EXTENDED, level.ORT_ENABLE_ALL)]
        cells = [pathlib.Path(model).stem, report["nodes_imported"], steps, *("does not load" if p is None else p for p in peers), transposes,
                 thousands(plain["arena_bytes"]), thousands(report["arena_bytes"])]
        print("| " + " | ".join(map(str, cells)) + " |", flush=True)
        for p in report["passes"]:
            row = all_passes.setdefault(p["name"], [0, 0, 0, collections.Counter()])
            row[0] += p["changes"]
            row[1] += p["changes"] > 0
            for reason in p.get("declined", []):
                times = reason.get("count", 1) if isinstance(reason, dict) else 1
                text = reason.get("reason", "") if isinstance(reason, dict) else str(reason)
                row[2] += times
                row[3][text] += times
    print("\n| pass | changes | in models | declined | commonest reason |\n| --- | ---: | ---: | ---: | --- |")
    for name, (count, where, declined, reasons) in all_passes.items():
        most = reasons.most_common(1)
        print(f"| {name} | {count} | {where} | {declined} | " + (f"{most[0][0]} ({most[0][1]})" if most else "") + " |")
    print("\n| quantized model | integer_only | products in floating point | floating-point nodes | which |\n| --- | --- | ---: | ---: | --- |")
    for model, (report, facts) in reports.items():
        kinds = {n for n in facts["ops"]}
        if not any(k.startswith("Int") or "Quantize" in k or "Integer" in k or k.startswith("QLinear") for k in kinds):
            continue
        floats = facts.get("float_nodes", [])
        ops = collections.Counter(n["op"] for n in floats)
        products = sum(facts["ops"].get(op, 0) for op in ("Conv", "ConvTranspose", "Gemm", "MatMul"))
        print(f"| {pathlib.Path(model).stem} | {'yes' if facts['integer_only'] else 'no'} | {products} | {len(floats)} | "
              + ", ".join(f"{op} {n}" for op, n in ops.most_common(6)) + " |")
    return reports


def product_share(file):
    """Of the time of a run, on one thread."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "profile.json")
        words = [PROGRAM, "bench", str(file), "--threads", "1", "--seconds", "0.25", "--profile", out]
        if subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode != 0:
            return None
        times = collections.Counter()
        for node in json.load(open(out))["nodes"]:
            times[node["op"]] += node["p50_us"]
        return sum(t for name, t in times.items() if name in PRODUCTS) / max(1, sum(times.values()))


def random_inputs(loaded):
    rng, arrays = np.random.default_rng(1), []
    for v in loaded.inputs:
        shape = [d if isinstance(d, int) else 1 for d in v.shape]
        dtype = np.dtype(v.dtype)
        arrays.append(rng.random(shape).astype(dtype) if dtype.kind == "f" else np.zeros(shape, dtype))
    return arrays


def latency(samples, reports, args, folder):
    names, clock = list(GROUPS), time.thread_time if args.cpu_time else time.perf_counter
    print("\n| model | products | plain ms | optimised ms | speed-up | " + " | ".join("without " + n for n in names) + " |")
    print("| --- | ---: | ---: | ---: | ---: |" + " ---: |" * len(names))
    for model, sample in samples.items():
        if model not in reports:
            continue
        report, shapes = reports[model][0], sample.words
        variants = {"optimised": [], "plain": ["--no-optimize"]}
        for name, passes in GROUPS.items():
            if changed(report, passes):
                variants[name] = [w for p in passes for w in ("--skip", p)]
        files = {}
        for name, words in variants.items():
            out = pathlib.Path(folder) / f"{name.replace(' ', '_').replace(',', '')}.vireo"
            if convert(model, out, shapes, *words) is not None:
                files[name] = out
        sessions, times = {}, {name: [] for name in files}
        try:
            for name, file in files.items():
                loaded = vireo.Model(str(file), vireo.Runtime(threads=args.threads))
                arrays = sample.arrays or random_inputs(loaded)
                session = loaded.session(loaded.bounds_for(*arrays))
                session.run(*arrays)
                sessions[name] = (loaded, session, arrays)
        except Exception as e:  # one that needs real inputs
            print(f"| {pathlib.Path(model).stem} | not measured: {e} |")
            continue
        end, rounds = time.perf_counter() + args.seconds, 0
        while time.perf_counter() < end or rounds < 3:
            rounds += 1
            for name, (_, session, arrays) in sessions.items():
                session.run(*arrays)  # caches are another's
                begin = time.perf_counter()
                count = 0
                while count == 0 or time.perf_counter() - begin < 0.01:
                    start = clock()
                    session.run(*arrays)
                    times[name].append((clock() - start) * 1e3)
                    count += 1
        share = product_share(files["plain"])
        median = {name: float(np.median(t)) for name, t in times.items()}
        cells = [pathlib.Path(model).stem, "?" if share is None else f"{100 * share:.0f} %", f"{median['plain']:.3f}", f"{median['optimised']:.3f}",
                 f"{median['plain'] / median['optimised']:.2f}"]
        cells += [f"{median[n] / median['optimised']:.2f}" if n in median else "." for n in names]
        print("| " + " | ".join(cells) + " |", flush=True)
        for loaded, session, _ in sessions.values():
            session.close()
            loaded.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--dim", type=int, default=1, help="extent of open dimensions")
    parser.add_argument("--inputs", help="folder with the zoo's inputs")
    parser.add_argument("--seconds", type=float, default=3.0, help="for each model's latencies, all variants together")
    parser.add_argument("--cpu-time", action="store_true", help="count the time of the calling thread, which other programs do not lengthen")
    parser.add_argument("--quick", action="store_true", help="half a second a model")
    parser.add_argument("--no-latency", action="store_true", help="the tables alone")
    args = parser.parse_args()
    if args.quick:
        args.seconds = 0.5
    with tempfile.TemporaryDirectory() as folder:
        samples = {model: Sample(model, args.dim, args.inputs) for model in args.models}
        reports = describe(samples, folder)
        known = {p for passes in GROUPS.values() for p in passes} | {"dead_code"}
        for report, _ in reports.values():
            for p in report["passes"]:
                if p["name"] not in known:
                    GROUPS[p["name"]] = [p["name"]]
                    known.add(p["name"])
        if not args.no_latency:
            latency(samples, reports, args, folder)


if __name__ == "__main__":
    main()
