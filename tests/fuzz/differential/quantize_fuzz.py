#!/usr/bin/env python3
"""Random small networks with random recipes through `vireo quantize`, against ONNX Runtime.

    quantize_fuzz.py VIREO [--first SEED] [--count N] [--jobs N] [--keep FOLDER]

Of each network: it is quantized; what comes out runs and has numbers, with the same bits at every level of this core's
instruction sets where it is all integers; the QDQ file says the same to ONNX Runtime (optimisations off); a saved
recipe gives the same bytes. Where an answer differs, each value's codes are compared: those that come from equal codes
differ by one at most, and only where INTEGER.md's bounds let them. What cannot be quantized is refused with the reason. A seed is a network; those that were wrong once come first. The last line, to stderr: passed, failed, skipped.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

# Networks that were wrong once: their biases left as real numbers, where integers have multiples of two scales; scores of
# attention in the billions made NaN.
FOUND = (22726, 25472, 25922, 26919, 204201)
ROWS = 8
LEAST_LOST_DB = 6  # a network that loses more has nothing left to compare
LEAST_DB = 18  # between our answers and ONNX Runtime's of the QDQ file: single codes may differ, and what they lead to
LEVELS = ("sse2", "avx2", "avx3", "vnni", "bf16", "amx")  # of a developers' build (delegates/cpu/level_testing.h)
# How far from a tie an answer's real number may be where two runtimes choose codes beside each other: INTEGER.md's bounds
# are 3u|v|, of 16 bits .024, for each; a Softmax's and float functions' are below .03.
TIE = {8: 0.04, 16: 0.1}


class Network:
    """Nodes that follow each other, with a branch here and there. Values are kept with their shapes, without the batch."""

    def __init__(self, seed):
        import numpy as np
        self.np, self.draw, self.rng = np, random.Random(seed), np.random.default_rng(seed)
        self.nodes, self.constants, self.shapes = [], {}, {}
        self.pictures = self.draw.random() < 0.6
        d = self.draw
        shape = (d.choice([1, 3, 4]), d.randint(5, 12), d.randint(5, 12)) if self.pictures else (d.randint(2, 6), d.choice([4, 6, 8]))
        self.input = self.value("x", shape)
        last = self.input
        for _ in range(d.randint(2, 7)):
            last = self.step(last)
        self.outputs = [last]
        others = [v for v in self.shapes if v not in (last, "x")]
        if others and d.random() < 0.2:
            self.outputs.append(d.choice(others))

    def value(self, name, shape):
        self.shapes[name] = tuple(shape)
        return name

    def weight(self, *shape):
        name = f"w{len(self.constants)}"
        spread = self.np.exp(self.rng.normal(0, self.draw.choice([0, 0, 0.5, 1.5]), shape[:1])).reshape(-1, *[1] * (len(shape) - 1))
        fan = max(1, int(self.np.prod(shape[1:])))
        self.constants[name] = (self.rng.standard_normal(shape) * spread / fan ** 0.5).astype(self.np.float32)
        return name

    def constant(self, values, dtype=None):
        name = f"c{len(self.constants)}"
        self.constants[name] = self.np.asarray(values, dtype or self.np.float32)
        return name

    def node(self, op, inputs, shape, **attributes):
        from onnx import helper
        out = self.value(f"v{len(self.shapes)}", shape)
        self.nodes.append(helper.make_node(op, inputs, [out], name=f"n{len(self.nodes)}", **attributes))
        return out

    def step(self, x):
        shape = self.shapes[x]
        if self.pictures and len(shape) == 3:
            kinds = [self.convolution, self.convolution, self.convolution, self.activation, self.residual, self.pool, self.gate, self.concat,
                     self.normalised, self.resized, self.padded]
            if self.draw.random() < 0.15:
                kinds = [self.flattened]
        else:
            kinds = [self.product, self.product, self.activation, self.residual, self.concat, self.attention, self.layer_norm, self.scaled]
        return self.draw.choice(kinds)(x)

    def activation(self, x):
        op, attributes = self.draw.choice([("Relu", {}), ("Relu", {}), ("Clip", {}), ("HardSwish", {}), ("Sigmoid", {}), ("Tanh", {}), ("LeakyRelu", {"alpha": 0.1}),
                                           ("HardSigmoid", {}), ("Elu", {}), ("Softplus", {})])
        more = [self.constant(0.0), self.constant(6.0)] if op == "Clip" else []
        return self.node(op, [x, *more], self.shapes[x], **attributes)

    def convolution(self, x):
        c, h, w = self.shapes[x]
        d = self.draw
        size = d.choice([s for s in (1, 1, 3, 3, 5) if s <= min(h, w)])
        stride, pad = d.choice([1, 1, 2]), d.choice([0, size // 2])
        kind = d.choice(["dense", "dense", "depthwise", "grouped"])
        group = c if kind == "depthwise" else 2 if kind == "grouped" and c % 2 == 0 else 1
        outs = c * d.choice([1, 2]) if group > 1 else d.choice([2, 4, 5, 8])
        inputs = [x, self.weight(outs, c // group, size, size)] + ([self.weight(outs)] if d.random() < 0.7 else [])
        extent = lambda n: (n + 2 * pad - size) // stride + 1
        return self.node("Conv", inputs, (outs, extent(h), extent(w)), group=group, strides=[stride] * 2, pads=[pad] * 4, kernel_shape=[size] * 2)

    def product(self, x):
        shape = self.shapes[x]
        outs = self.draw.choice([3, 4, 8, 12])
        if len(shape) == 1 and self.draw.random() < 0.6:
            return self.node("Gemm", [x, self.weight(outs, shape[-1]), self.weight(outs)], (outs,), transB=1)
        y = self.node("MatMul", [x, self.weight(shape[-1], outs)], (*shape[:-1], outs))
        return self.node("Add", [y, self.weight(outs)], self.shapes[y]) if self.draw.random() < 0.6 else y

    def residual(self, x):
        same = [v for v in self.shapes if self.shapes[v] == self.shapes[x]]
        return self.node(self.draw.choice(["Add", "Add", "Sub", "Mul"]), [x, self.draw.choice(same)], self.shapes[x])

    def pool(self, x):
        c, h, w = self.shapes[x]
        if min(h, w) < 2 or self.draw.random() < 0.3:
            return self.node("GlobalAveragePool", [x], (c, 1, 1))
        return self.node(self.draw.choice(["MaxPool", "AveragePool"]), [x], (c, h // 2, w // 2), kernel_shape=[2, 2], strides=[2, 2])

    def gate(self, x):
        c = self.shapes[x][0]
        y = self.node("GlobalAveragePool", [x], (c, 1, 1))
        y = self.node("Conv", [y, self.weight(c, c, 1, 1), self.weight(c)], (c, 1, 1))
        return self.node("Mul", [x, self.node(self.draw.choice(["Sigmoid", "HardSigmoid"]), [y], (c, 1, 1))], self.shapes[x])

    def concat(self, x):
        shape = self.shapes[x]
        axis = 0 if len(shape) == 3 else len(shape) - 1
        fits = [v for v, s in self.shapes.items() if len(s) == len(shape) and all(a == b for i, (a, b) in enumerate(zip(s, shape)) if i != axis)]
        other = self.draw.choice(fits)
        out = list(shape)
        out[axis] += self.shapes[other][axis]
        return self.node("Concat", [x, other], out, axis=axis + 1)

    def normalised(self, x):
        c = self.shapes[x][0]
        variance = self.constant(self.np.abs(self.rng.standard_normal(c)) + 0.5)
        return self.node("BatchNormalization", [x, self.weight(c), self.weight(c), self.weight(c), variance], self.shapes[x])

    def resized(self, x):
        c, h, w = self.shapes[x]
        if h * w > 100:
            return self.activation(x)
        return self.node("Resize", [x, "", self.constant([1, 1, 2, 2])], (c, 2 * h, 2 * w), mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")

    def padded(self, x):
        c, h, w = self.shapes[x]
        return self.node("Pad", [x, self.constant([0, 0, 1, 0, 0, 0, 0, 1], self.np.int64)], (c, h + 1, w + 1))

    def flattened(self, x):
        c, h, w = self.shapes[x]
        return self.node("Flatten", [x], (c * h * w,))

    def layer_norm(self, x):
        n = self.shapes[x][-1]
        return self.node("LayerNormalization", [x, self.weight(n), self.weight(n)], self.shapes[x])

    def scaled(self, x):
        return self.node("Mul", [x, self.constant(self.draw.choice([0.1, 0.5, 3.0, 100.0]))], self.shapes[x])

    def attention(self, x):
        shape = self.shapes[x]
        if len(shape) != 2:
            return self.product(x)
        n = shape[-1]
        q, k, v = (self.node("MatMul", [x, self.weight(n, n)], shape) for _ in range(3))
        scores = self.node("MatMul", [q, self.node("Transpose", [k], shape[::-1], perm=[0, 2, 1])], (shape[0], shape[0]))
        scores = self.node("Softmax", [self.node("Mul", [scores, self.constant(n ** -0.5)], self.shapes[scores])], self.shapes[scores], axis=-1)
        return self.node("MatMul", [scores, v], shape)

    def model(self):
        from onnx import TensorProto, helper, numpy_helper
        value = lambda v: helper.make_tensor_value_info(v, TensorProto.FLOAT, ["batch", *self.shapes[v]])
        graph = helper.make_graph(self.nodes, "net", [value("x")], [value(v) for v in self.outputs], [numpy_helper.from_array(v, k) for k, v in self.constants.items()])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)

    def recipe(self):
        d = self.draw
        out = {"vireo_recipe": 1, "condition": d.choice([[], [{"equalise": "*"}]]), "defaults": {
            "format": d.choice(["w8a8", "w8a8", "w8a16", "w4a8"]),
            "weights": d.choice(["channel", "tensor"]), "range": d.choice(["mse", "mse", "minmax", "percentile", "entropy"]),
            "rounding": d.choice(["descent", "nearest"]), "bias": d.choice(["correct", "keep"])}}
        if d.random() < 0.3:
            products = [n.name for n in self.nodes if n.op_type in ("Conv", "Gemm", "MatMul")] or ["*"]
            out["layers"] = {d.choice(products): d.choice([{"keep": True}, {"format": "w8a16"}]), "n*": {"keep": d.random() < 0.1}}
            if d.random() < 0.5:  # the last pattern that matches counts
                out["layers"] = dict(reversed(out["layers"].items()))
        return out

    def samples(self, rows):
        return (self.rng.standard_normal((rows, *self.shapes["x"])) * self.draw.choice([0.1, 1, 10])).astype(self.np.float32)


class Wrong(Exception):
    pass


def vireo(program, *arguments, level=None):
    environment = {**os.environ, "VIREO_LEVEL": level} if level else None
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, check=False, timeout=120, env=environment)
    if done.returncode != 0:
        raise Wrong(f"{arguments[0]} exited with {done.returncode}: {done.stderr.strip()[-400:]}")
    return done.stdout


def levels_here(program):
    """Those that this core has."""
    return [level for level in LEVELS if '"cpu"' in vireo(program, "devices", "--json", level=level)]


def decibels(np, want, got):
    want, got = want.astype(np.float64), got.astype(np.float64)
    difference = want - got
    difference[np.abs(difference) < 1e-7] = 0  # ONNX Runtime's Sigmoid and Tanh are 0 and 1 beyond 18
    noise = (difference ** 2).sum()
    return 10 * np.log10(((want ** 2).sum() + noise) / noise) if noise > 0 else 300.0


def answers(program, folder, model, x, names, level=None):
    import numpy as np
    np.save(folder / "x.npy", x)
    vireo(program, "run", model, "--input", f"x={folder / 'x.npy'}", "--output", folder / "y.npz", "--threads", 1, level=level)
    found = np.load(folder / "y.npz")
    return [found[n] for n in names]


def compare_levels(program, folder, model, x, names, want, levels):
    """The bits of `want` at each level, of a model that is all integers."""
    if not json.loads(vireo(program, "inspect", model, "--json"))["integer_only"]:
        return False
    for level in levels:
        for name, y, w in zip(names, answers(program, folder, model, x, names, level), want):
            if y.tobytes() != w.tobytes():
                raise Wrong(f"output {name} has other bits at the level {level}")
    return True


def compare_codes(program, folder, x):
    """Codes of each value between QuantizeLinear and DequantizeLinear that come from equal codes, in both runtimes."""
    import numpy as np
    import onnx
    model = onnx.load(folder / "q.onnx")
    graph, made = model.graph, {}
    for node in graph.node:
        made.update(dict.fromkeys(node.output, node))
    coded = [n for n in graph.node if n.op_type == "QuantizeLinear"]
    constants = {c.name: onnx.numpy_helper.to_array(c) for c in graph.initializer}
    types = {np.dtype(np.uint8): onnx.TensorProto.UINT8, np.dtype(np.int8): onnx.TensorProto.INT8,
             np.dtype(np.uint16): onnx.TensorProto.UINT16, np.dtype(np.int16): onnx.TensorProto.INT16}
    coded = [n for n in coded if n.input[1] in constants and n.input[2] in constants and constants[n.input[1]].size == 1]
    del graph.output[:]
    for node in coded:
        graph.output.append(onnx.helper.make_tensor_value_info(node.output[0], types[constants[node.input[2]].dtype], None))
    onnx.save(model, folder / "codes.onnx")
    vireo(program, "convert", folder / "codes.onnx", "-o", folder / "codes.vireo")
    names = [n.output[0] for n in coded]
    ours = dict(zip(names, answers(program, folder, folder / "codes.vireo", x, names)))
    reals = [n.input[0] for n in coded if n.input[0] != "x"]
    for name in dict.fromkeys(reals):
        graph.output.append(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None))
    onnx.save(model, folder / "reals.onnx")
    theirs = dict(zip([o.name for o in graph.output], of_runtime(folder / "reals.onnx", x)))
    theirs["x"] = x
    apart = set()  # values that come from codes that differ

    def comes_from(name, seen):
        if name in seen or name not in made:
            return False
        seen.add(name)
        return name in apart or any(comes_from(i, seen) for i in made[name].input)

    for node in coded:
        name = node.output[0]
        a, b = ours[name].astype(np.int64), theirs[name].astype(np.int64)
        if a.shape == b.shape and (a == b).all():
            continue
        if not any(comes_from(i, set()) for i in node.input):
            bits = 8 * theirs[name].dtype.itemsize
            v = theirs[node.input[0]].astype(np.float64) / np.float64(constants[node.input[1]])
            from_tie = np.abs(np.abs(v - np.floor(v)) - 0.5)[a != b].max()
            if np.abs(a - b).max() > 1 or from_tie > TIE[bits]:
                raise Wrong(f"codes of {name} differ by {np.abs(a - b).max()}, {from_tie:.3f} from a tie, though they come from equal codes")
        apart.add(name)


def of_runtime(model, x):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"]).run(None, {"x": x})


def examine(program, seed, folder, levels):
    """Least decibels between the two runtimes, and whether the model is all integers; None: the float model has answers
    that are no numbers, or no product."""
    import numpy as np
    import onnx
    net = Network(seed)
    onnx.save(net.model(), folder / "net.onnx")
    data, x = net.samples(24), net.samples(ROWS)
    np.savez(folder / "data.npz", x=data)
    want = of_runtime(folder / "net.onnx", x)
    if not all(np.isfinite(y).all() and np.abs(y).max() < 1e30 for y in want):
        return None
    (folder / "recipe.json").write_text(json.dumps(net.recipe()))
    common = folder / "net.onnx", "--data", folder / "data.npz"
    try:
        vireo(program, "quantize", *common, "-o", folder / "q.vireo", "--recipe", folder / "recipe.json", "--save-recipe", folder / "saved.json", "--emit-onnx", folder / "q.onnx")
    except Wrong as wrong:
        # The second: a layer that the optimiser took away, because nothing reads it or another one computes the same.
        if not any(words in str(wrong) for words in ("VC0309: nothing of the model can compute in int8", "VC0309: the recipe speaks of the layer")):
            raise
        return None
    got = answers(program, folder, folder / "q.vireo", x, net.outputs)
    for name, y, w in zip(net.outputs, got, want):
        if y.shape != w.shape or not np.isfinite(y).all():
            raise Wrong(f"output {name} is {y.shape} with {np.isfinite(y).sum()} numbers, expected {w.shape}")
    near = []
    for name, y, w, q in zip(net.outputs, got, want, of_runtime(folder / "q.onnx", x)):
        near.append(decibels(np, q, y))
        lost = decibels(np, w, q)  # by the quantization itself; where that left few codes, one at a tie counts for much
        if lost > LEAST_LOST_DB and near[-1] < min(LEAST_DB, lost + 4):
            raise Wrong(f"output {name}: {near[-1]:.1f} dB between the integers and ONNX Runtime's answers of the QDQ file, which lost {lost:.1f} dB")
    if min(near) < 300:
        compare_codes(program, folder, x)
    integers = compare_levels(program, folder, folder / "q.vireo", x, net.outputs, got, levels)
    vireo(program, "quantize", *common, "-o", folder / "again.vireo", "--recipe", folder / "saved.json")
    if (folder / "again.vireo").read_bytes() != (folder / "q.vireo").read_bytes():
        raise Wrong("the saved recipe gives other bytes")
    return min(near), integers


def run_seed(program, seed, keep, levels):
    with tempfile.TemporaryDirectory() as some:
        try:
            return seed, examine(program, seed, pathlib.Path(some), levels), ""
        except Exception as wrong:  # of any kind: told with the seed, and counted
            if keep:
                shutil.copytree(some, pathlib.Path(keep) / str(seed), dirs_exist_ok=True)
            return seed, None, f"{type(wrong).__name__}: {wrong}" if not isinstance(wrong, Wrong) else str(wrong)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("vireo")
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep")
    arguments = parser.parse_args()
    try:
        import numpy, onnx, onnxruntime  # noqa: F401, E401
    except ImportError as missing:
        print(f"SKIPPED: {missing.name} is not installed (toolchains/bootstrap --for tests)")
        print("0 0 1", file=sys.stderr)
        return 77
    levels = levels_here(arguments.vireo)
    counts, near = collections.Counter(), []
    with concurrent.futures.ProcessPoolExecutor(arguments.jobs) as pool:
        tasks = [pool.submit(run_seed, arguments.vireo, seed, arguments.keep, levels)
                 for seed in (*FOUND, *range(arguments.first, arguments.first + arguments.count))]
        for task in concurrent.futures.as_completed(tasks):
            seed, found, wrong = task.result()
            counts["failed" if wrong else "passed" if found is not None else "left"] += 1
            if found is not None:
                near.append(found[0])
                counts["integers"] += found[1]
            if wrong:
                print(f"FAILED: seed {seed}: {wrong}", flush=True)
    near.sort()
    if near:
        equal = sum(decibel >= 300 for decibel in near)
        print(f"between Vireo's integers and ONNX Runtime's QDQ: {equal} of {len(near)} equal, {near[0]:.1f} dB at least, median {near[len(near) // 2]:.1f}")
        print(f"{counts['integers']} are all integers, with the same bits at the levels {', '.join(levels)}")
    if counts["left"]:
        print(f"{counts['left']} networks have nothing to quantize, or answers that are no numbers in float")
    print(counts["passed"] + counts["left"], counts["failed"], 0, file=sys.stderr)
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
