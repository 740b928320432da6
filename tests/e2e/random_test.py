"""Random ONNX models: converted, run, and compared with ONNX Runtime. Graphs of 4 to 24 nodes over tensors of rank 1 to 4,
half of them with an open first dimension, drawn from operators whose results stay finite.

    random_test.py                          models of fixed seeds
    random_test.py --seeds FIRST COUNT      these seeds; a model that fails is kept and named
"""
import random
import sys

import support

OPSET = 17


class Builder:
    """Draws one model. Values are (name, shape, open): shape at batch `self.batch`, open when dimension 0 is symbolic."""

    def __init__(self, seed):
        import numpy as np
        from onnx import TensorProto, helper, numpy_helper
        self.np, self.helper, self.numpy_helper, self.float = np, helper, numpy_helper, TensorProto.FLOAT
        self.draw = random.Random(seed)
        self.rng = np.random.default_rng(seed)
        self.batch = self.draw.choice([1, 2, 3])
        self.nodes, self.constants, self.values, self.used = [], [], [], set()
        self.feed, self.inputs = {}, []

    def name(self):
        return f"v{len(self.nodes) + len(self.constants) + len(self.inputs)}"

    def constant(self, array):
        name = "c" + self.name()
        self.constants.append(self.numpy_helper.from_array(self.np.asarray(array), name))
        return name

    def weights(self, *shape):
        return self.constant((self.rng.standard_normal(shape) / max(1, self.np.prod(shape[1:])) ** 0.5).astype("float32"))

    def ints(self, *values):
        return self.constant(self.np.array(values, "int64"))

    def add_input(self):
        rank = self.draw.choice([2, 3, 4, 4])
        shape = [self.batch] + [self.draw.choice([1, 2, 3, 4, 6, 8]) for _ in range(rank - 1)]
        name, is_open = f"x{len(self.inputs)}", self.draw.random() < 0.5
        dims = (["N"] if is_open else [self.batch]) + shape[1:]
        self.inputs.append(self.helper.make_tensor_value_info(name, self.float, dims))
        self.feed[name] = self.rng.standard_normal(shape).astype("float32")
        self.values.append((name, shape, is_open))

    def node(self, op, inputs, shape, is_open, **attributes):
        out = self.name()
        self.nodes.append(self.helper.make_node(op, inputs, [out], name=f"n{len(self.nodes)}", **attributes))
        self.used.update(inputs)
        self.values.append((out, list(shape), is_open))

    def step(self):
        d = self.draw
        name, shape, is_open = d.choice(self.values[-6:])
        rank, size = len(shape), lambda s: int(self.np.prod(s)) if s else 1
        kind = d.choice(["unary", "unary", "binary", "binary", "scalar", "matmul", "conv", "conv", "pool", "reduce", "transpose",
                         "reshape", "flatten", "concat", "slice", "softmax", "norm", "gather", "squeeze", "pad", "clip",
                         "shape", "where", "split", "resize", "depth", "expand"])
        if kind == "unary":
            op = d.choice(["Relu", "Sigmoid", "Tanh", "Abs", "Neg", "Erf", "HardSwish", "Softplus", "LeakyRelu", "Elu", "Floor",
                           "Identity", "Selu", "Softsign", "Sin", "HardSigmoid"])
            self.node(op, [name], shape, is_open)
        elif kind == "binary":
            others = [v for v in self.values if v[1] == shape and v[2] == is_open]
            self.node(d.choice(["Add", "Sub", "Mul", "Max", "Min"]), [name, d.choice(others)[0]], shape, is_open)
        elif kind == "scalar":
            other = self.weights(*[s if d.random() < 0.6 else 1 for s in shape[1:]]) if d.random() < 0.5 else self.constant(
                self.np.float32(d.choice([0.5, 1, 2, -1, 0])))
            op = d.choice(["Add", "Mul", "Sub", "Div"])
            if op == "Div":
                other = self.constant(self.np.float32(d.choice([2, 0.5, -4])))
            self.node(op, [name, other] if d.random() < 0.7 or op == "Div" else [other, name], shape, is_open)
        elif kind == "matmul" and rank >= 2:
            n = d.choice([1, 3, 5, 8, 17])
            self.node("MatMul", [name, self.weights(shape[-1], n)], shape[:-1] + [n], is_open)
        elif kind == "conv" and rank == 4 and min(shape[2:]) >= 1:
            k, stride, group = d.choice([1, 1, 3, 3, 5]), d.choice([1, 1, 2]), 1
            m = d.choice([1, 4, 6, 8])
            if d.random() < 0.3:
                group = m = shape[1]
            p = k // 2
            out = [shape[0], m] + [(s + 2 * p - k) // stride + 1 for s in shape[2:]]
            inputs = [name, self.weights(m, shape[1] // group, k, k)] + ([self.weights(m)] if d.random() < 0.5 else [])
            self.node("Conv", inputs, out, is_open, kernel_shape=[k, k], pads=[p] * 4, strides=[stride] * 2, group=group)
        elif kind == "pool" and rank == 4 and min(shape[2:]) >= 2:
            if d.random() < 0.3:
                self.node("GlobalAveragePool", [name], shape[:2] + [1, 1], is_open)
            else:
                out = shape[:2] + [(s - 2) // 2 + 1 for s in shape[2:]]
                self.node(d.choice(["MaxPool", "AveragePool"]), [name], out, is_open, kernel_shape=[2, 2], strides=[2, 2])
        elif kind == "reduce" and rank >= 2:
            axis, keep = d.randrange(1, rank), d.choice([0, 1])
            out = shape[:axis] + ([1] if keep else []) + shape[axis + 1:]
            self.node(d.choice(["ReduceMean", "ReduceMax", "ReduceL2"]), [name], out, is_open, axes=[axis - (rank if d.random() < 0.5 else 0)], keepdims=keep)
        elif kind == "transpose" and rank >= 2:
            order = [0] + d.sample(range(1, rank), rank - 1)
            self.node("Transpose", [name], [shape[i] for i in order], is_open, perm=order)
        elif kind == "reshape":
            rest = size(shape[1:])
            parts = d.choice([[rest], [rest, 1], [1, rest]] + ([[rest // 2, 2]] if rest % 2 == 0 else []))
            self.node("Reshape", [name, self.ints(0, *parts)], [shape[0]] + parts, is_open)
        elif kind == "flatten" and rank >= 2:
            self.node("Flatten", [name], [shape[0], size(shape[1:])], is_open)
        elif kind == "concat" and rank >= 2:
            axis = d.randrange(1, rank)
            others = [v for v in self.values if len(v[1]) == rank and v[2] == is_open and
                      all(a == b for i, (a, b) in enumerate(zip(v[1], shape)) if i != axis)]
            chosen = [(name, shape, is_open), d.choice(others)]
            out = shape[:axis] + [sum(v[1][axis] for v in chosen)] + shape[axis + 1:]
            self.node("Concat", [v[0] for v in chosen], out, is_open, axis=axis)
        elif kind == "slice" and rank >= 2:
            axis = d.randrange(1, rank)
            start = d.randrange(shape[axis])
            end = d.randrange(start + 1, shape[axis] + 1)
            out = shape[:axis] + [end - start] + shape[axis + 1:]
            self.node("Slice", [name, self.ints(start), self.ints(end), self.ints(axis)], out, is_open)
        elif kind == "softmax" and rank >= 2:
            self.node(d.choice(["Softmax", "LogSoftmax"]), [name], shape, is_open, axis=d.choice([-1, rank - 1, 1]))
        elif kind == "norm" and rank >= 2:
            c = shape[-1]
            self.node("LayerNormalization", [name, self.weights(c), self.weights(c)], shape, is_open, axis=-1)
        elif kind == "gather" and rank >= 2:
            axis = d.randrange(1, rank)
            picked = [d.randrange(-shape[axis], shape[axis]) for _ in range(d.choice([1, 2, 3]))]
            self.node("Gather", [name, self.ints(*picked)], shape[:axis] + [len(picked)] + shape[axis + 1:], is_open, axis=axis)
        elif kind == "squeeze":
            ones = [i for i, s in enumerate(shape) if s == 1 and i > 0]
            if ones and d.random() < 0.7:
                self.node("Squeeze", [name, self.ints(ones[0])], shape[:ones[0]] + shape[ones[0] + 1:], is_open)
            elif rank < 4:
                axis = d.randrange(1, rank + 1)
                self.node("Unsqueeze", [name, self.ints(axis)], shape[:axis] + [1] + shape[axis:], is_open)
        elif kind == "pad" and rank >= 2:
            axis = d.randrange(1, rank)
            pads = [0] * (2 * rank)
            pads[axis], pads[rank + axis] = d.choice([0, 1]), d.choice([1, 2])
            out = shape[:axis] + [shape[axis] + pads[axis] + pads[rank + axis]] + shape[axis + 1:]
            self.node("Pad", [name, self.ints(*pads)], out, is_open, mode=d.choice(["constant", "edge"]))
        elif kind == "clip":
            self.node("Clip", [name, self.constant(self.np.float32(-0.5)), self.constant(self.np.float32(d.choice([1, 6])))], shape, is_open)
        elif kind == "shape" and rank >= 2:
            # The usual x.view(x.size(0), -1) of exporters.
            self.node("Shape", [name], [rank], False)
            whole = self.values.pop()[0]
            self.node("Gather", [whole, self.constant(self.np.int64(0))], [], False, axis=0)
            first = self.values.pop()[0]
            self.node("Unsqueeze", [first, self.ints(0)], [1], False)
            self.node("Concat", [self.values.pop()[0], self.ints(-1)], [2], False, axis=0)
            self.node("Reshape", [name, self.values.pop()[0]], [shape[0], size(shape[1:])], is_open)
        elif kind == "where":
            other = [v for v in self.values if v[1] == shape and v[2] == is_open]
            self.node("Greater", [name, self.constant(self.np.float32(0.1))], shape, is_open)
            self.node("Where", [self.values.pop()[0], name, d.choice(other)[0]], shape, is_open)
        elif kind == "split" and rank >= 2:
            axis = d.randrange(1, rank)
            if shape[axis] % 2 == 0:
                half = shape[:axis] + [shape[axis] // 2] + shape[axis + 1:]
                out = [self.name() + "a", self.name() + "b"]
                self.nodes.append(self.helper.make_node("Split", [name], out, axis=axis))
                self.used.add(name)
                self.values += [(o, half, is_open) for o in out]
        elif kind == "resize" and rank == 4:
            scale = self.constant(self.np.array([1, 1, 2, 2], "float32"))
            self.node("Resize", [name, "", scale], shape[:2] + [2 * shape[2], 2 * shape[3]], is_open,
                      mode=d.choice(["nearest", "linear"]), coordinate_transformation_mode=d.choice(["asymmetric", "half_pixel"]),
                      nearest_mode="floor")
        elif kind == "depth" and rank == 4 and shape[1] % 4 == 0:
            self.node("DepthToSpace", [name], [shape[0], shape[1] // 4, 2 * shape[2], 2 * shape[3]], is_open, blocksize=2,
                      mode=d.choice(["DCR", "CRD"]))
        elif kind == "expand" and rank >= 2 and not is_open:
            wide = [s if s > 1 else d.choice([1, 3]) for s in shape]
            self.node("Expand", [name, self.ints(*wide)], wide, is_open)

    def model(self):
        for _ in range(self.draw.choice([1, 1, 2])):
            self.add_input()
        count = self.draw.randrange(4, 25)
        while len(self.nodes) < count:
            self.step()
            if sum(self.np.prod(v[1]) for v in self.values) > 1 << 18:
                break
        outputs = [v for v in self.values if v[0] not in self.used and v[0] not in self.feed] or self.values[-1:]
        infos = [self.helper.make_tensor_value_info(n, self.float, (["N"] if o else s[:1]) + s[1:]) for n, s, o in outputs]
        graph = self.helper.make_graph(self.nodes, "random", self.inputs, infos, self.constants)
        return self.helper.make_model(graph, opset_imports=[self.helper.make_opsetid("", OPSET)], ir_version=8)


def compare(test, seed):
    import numpy as np
    import onnx
    import onnxruntime
    import vireo
    builder = Builder(seed)
    model = builder.model()
    onnx.checker.check_model(model)
    path = support.WORK / f"random_{seed}.onnx"
    onnx.save(model, str(path))
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    expected = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"]).run(None, builder.feed)
    file = support.convert(path)
    with vireo.Model(file) as loaded:
        arrays = [builder.feed[v.name] for v in loaded.inputs]
        with loaded.session(loaded.bounds_for(*arrays)) as session:
            outputs = [np.array(a) for a in session.run(*arrays)]
    for info, got, want in zip(model.graph.output, outputs, expected):
        test.assertEqual(got.shape, want.shape, f"seed {seed}, {info.name}")
        error = np.abs(got.astype("float64") - want)
        limit = 2e-5 * max(1.0, float(np.abs(want).max(initial=0))) + 1e-4 * np.abs(want)
        test.assertTrue((error <= limit).all(), f"seed {seed}, {info.name}: {error.max():.3g} at {path}")
    path.unlink()
    file.unlink()


def check(first, count):
    def run(test):
        for seed in range(first, first + count):
            compare(test, seed)
    return run


reason = support.missing("numpy", "onnx", "onnxruntime")
Random = support.cases(reason, {} if reason else {f"seeds_{s}": check(s, 20) for s in range(0, 200, 20)})

if __name__ == "__main__":
    if sys.argv[1:2] == ["--seeds"]:
        import unittest
        case, failed, seeds = unittest.TestCase(), 0, range(int(sys.argv[2]), int(sys.argv[2]) + int(sys.argv[3]))
        for number in seeds:
            try:
                compare(case, number)
            except Exception as e:  # a fault of any kind is what this looks for
                failed += 1
                print(f"seed {number}: {type(e).__name__}: {e}", flush=True)
        print(f"{len(seeds) - failed} of {len(seeds)} models agree")
        sys.exit(1 if failed else 0)
    support.main()
