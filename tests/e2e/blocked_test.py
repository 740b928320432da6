"""Models as ONNX Runtime saves them with ORT_ENABLE_ALL: convolutions and pools are NCHWc forms (com.microsoft.nchwc) in blocks of 8 or 16
channels, as the machine that saves them likes. They convert and give what ONNX Runtime computes of the original without any optimisation.
Small models are looked at in the blocks of this machine and, put into the other blocks here, of both."""
import json
import re

import saved_models_test
import support
import zoo_test

DOMAIN = "com.microsoft.nchwc"
H, W = 10, 9


class Model:
    """A small graph of one input x and one output y, under construction."""

    def __init__(self, shape, sample=None):
        import numpy
        self.np = numpy
        self.rng = numpy.random.default_rng(1)
        self.shape, self.sample = shape, sample or shape
        self.nodes, self.constants, self.count = [], {}, 0

    def node(self, op, *inputs, out=None, **attributes):
        import onnx
        self.count += 1
        out = out or f"v{self.count}"
        self.nodes.append(onnx.helper.make_node(op, list(inputs), [out], name=f"{op}_{self.count}", **attributes))
        return out

    def constant(self, array):
        name = f"c{len(self.constants)}"
        self.constants[name] = self.np.asarray(array, self.np.float32)
        return name

    def real(self, *shape):
        return self.rng.standard_normal(shape) / max(1.0, self.np.prod(shape[1:]) ** 0.5)

    def conv(self, x, out, inputs, k=3, bias=True, **attributes):
        """inputs: of one group."""
        parts = [x, self.constant(self.real(out, inputs, k, k))] + ([self.constant(self.real(out))] if bias else [])
        return self.node("Conv", *parts, pads=[k // 2] * 4, **attributes)

    def norm(self, x, n):
        return self.node("BatchNormalization", x, *(self.constant(abs(self.real(n)) + 0.5) for _ in range(4)))

    def resize(self, x, factors, **attributes):
        return self.node("Resize", x, "", self.constant([1, 1, *factors]), **attributes)

    def build(self, y):
        import onnx
        from onnx import helper
        self.node("Identity", y, out="y")
        real = onnx.TensorProto.FLOAT
        graph = helper.make_graph(self.nodes, "small", [helper.make_tensor_value_info("x", real, self.shape)],
                                  [helper.make_tensor_value_info("y", real, None)], [onnx.numpy_helper.from_array(v, k) for k, v in self.constants.items()])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


# ---- small models ----

def residual(m):
    a = m.node("Relu", m.conv("x", 20, 3))
    b = m.node("Clip", m.conv(a, 20, 1, group=20), m.constant(0), m.constant(1))
    return m.node("Relu", m.node("Add", m.conv(b, 20, 20, 1, bias=False), a))


def activations(m):
    a = m.node("HardSigmoid", m.conv("x", 20, 3))
    b = m.node("LeakyRelu", m.conv(a, 24, 20), alpha=0.2)
    c = m.node("Tanh", m.conv(b, 12, 24))
    return m.node("Mul", m.node("Sigmoid", c), c)


def pools(m):
    a = m.node("MaxPool", m.conv("x", 32, 20), kernel_shape=[2, 3], strides=[2, 1], pads=[0, 1, 0, 1])
    b = m.node("AveragePool", a, kernel_shape=[2, 2], pads=[1, 0, 1, 0], count_include_pad=1)
    c = m.node("AveragePool", b, kernel_shape=[3, 2], pads=[1, 0, 1, 0], ceil_mode=1, strides=[2, 1])
    return m.node("Add", m.node("GlobalAveragePool", c), m.node("GlobalMaxPool", b))


def joins(m):
    a = m.conv("x", 32, 3)
    b = m.node("Concat", m.node("MaxPool", a, kernel_shape=[3, 3], pads=[1] * 4), m.conv(a, 16, 32, 1), a, axis=1)
    return m.conv(b, 7, 80)


def groups(m):
    return m.conv(m.conv(m.conv("x", 64, 16, 1, group=2), 64, 32, group=2, strides=[2, 1]), 9, 64, 1)


def nearest(m):
    a = m.resize(m.conv("x", 20, 3), [2, 3], mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    return m.conv(a, 12, 20)


def linear(m):
    a = m.conv("x", 20, 3)
    for mode in ("asymmetric", "align_corners", "half_pixel"):
        a = m.resize(a, [2, 1] if mode == "asymmetric" else [1, 2], mode="linear", coordinate_transformation_mode=mode)
    return m.conv(a, 12, 20)


def norms(m):
    a = m.conv("x", 20, 3, 1)
    b = m.node("Sigmoid", m.norm(a, 20))
    return m.conv(m.node("Sum", b, m.conv(a, 20, 20)), 5, 20)


def excitation(m):
    a = m.node("HardSwish", m.conv("x", 24, 3))
    b = m.conv(m.node("GlobalAveragePool", a), 24, 24, 1)
    return m.conv(m.node("Mul", a, m.node("HardSigmoid", b)), 12, 24)


def channels_last(m):
    a = m.conv(m.node("Transpose", "x", perm=[0, 3, 1, 2]), 28, 20)
    return m.node("Transpose", m.node("Relu", a), perm=[0, 2, 3, 1])


def open_extents(m):
    a = m.conv("x", 20, 3)
    return m.node("Add", m.conv(m.node("Relu", m.conv(a, 36, 20)), 20, 36, 1), a)


SMALL = {
    "residual": (residual, [1, 3, H, W]), "activations": (activations, [2, 3, H, W]), "pools": (pools, [1, 20, H, W]), "joins": (joins, [1, 3, H, W]),
    "groups": (groups, [1, 32, H, W]), "nearest": (nearest, [1, 3, H, W]), "linear": (linear, [1, 3, H, W]), "norms": (norms, [1, 3, H, W]), "excitation": (excitation, [2, 3, H, W]),
    "channels_last": (channels_last, [2, H, W, 20]), "open_extents": (open_extents, ["n", 3, "h", "w"], [2, 3, H, W]),
}


# ---- blocks ----

def plain(w, block, inputs):
    """The filter in the standard's order, padding and all. inputs: they are in blocks as well."""
    o, i, h, k = w.shape
    if inputs:
        return w.reshape(o // block, i // block, h, k, block, block).transpose(0, 5, 1, 4, 2, 3).reshape(w.shape)
    return w.reshape(o // block, i, h, k, block).transpose(0, 4, 1, 2, 3).reshape(w.shape)


def blocked(w, block, inputs):
    """The other way, padded."""
    import numpy as np
    o, i, h, k = w.shape
    w = np.pad(w, [(0, -o % block), (0, -i % block if inputs else 0), (0, 0), (0, 0)])
    o, i, h, k = shape = w.shape
    if inputs:
        return w.reshape(o // block, block, i // block, block, h, k).transpose(0, 2, 4, 5, 3, 1).reshape(shape)
    return w.reshape(o // block, block, i, h, k).transpose(0, 2, 3, 4, 1).reshape(shape)


def channels_in(w, axis):
    """Without those at the end that are zero throughout: of random weights, only padding is."""
    import numpy as np
    used = np.flatnonzero(np.any(w != 0, axis=tuple(a for a in range(w.ndim) if a != axis)))
    return int(used[-1]) + 1


def change_blocks(model, old, new):
    """A saved model as a machine of other blocks saves it."""
    import numpy as np
    from onnx import numpy_helper
    constants = {t.name: t for t in model.graph.initializer}
    makers = {o: n for n in model.graph.node for o in n.output}
    done = {}

    def is_blocked(name):
        n = makers.get(name)
        return n is not None and (n.domain == DOMAIN and n.op_type != "ReorderOutput" or any(map(is_blocked, n.input)) and n.domain != DOMAIN)

    for n in model.graph.node:
        if n.domain != DOMAIN or n.op_type != "Conv":
            continue
        group = next(a for a in n.attribute if a.name == "group")
        if n.input[1] not in done:
            w = numpy_helper.to_array(constants[n.input[1]])
            depthwise = group.i == w.shape[0] > 1
            inputs = is_blocked(n.input[0]) and not depthwise
            w = plain(w, old, inputs)
            real = w[:channels_in(w, 0), :channels_in(w, 1)]
            done[n.input[1]] = len(real)
            constants[n.input[1]].CopyFrom(numpy_helper.from_array(blocked(real, new, inputs), n.input[1]))
        out = done[n.input[1]]
        if group.i > 2:  # of single channels
            group.i = -(-out // new) * new
        if len(n.input) > 2 and n.input[2] and n.input[2] not in done:
            b = numpy_helper.to_array(constants[n.input[2]])[:out]
            done[n.input[2]] = out
            constants[n.input[2]].CopyFrom(numpy_helper.from_array(np.pad(b, (0, -out % new)), n.input[2]))
    for n in model.graph.node:
        # To and from the shape that memory has.
        shape = numpy_helper.to_array(constants[n.input[1]]) if n.op_type == "Reshape" and n.input[1] not in done else []
        if len(shape) not in (4, 5):
            continue
        channels = shape[1] * (shape[4] if len(shape) == 5 else 1)
        channels = -(-channels // new) * new
        done[n.input[1]] = channels
        shape = [0, channels // new, 0, 0, new] if len(shape) == 5 else [0, channels, 0, 0]
        constants[n.input[1]].CopyFrom(numpy_helper.from_array(np.array(shape, np.int64), n.input[1]))
    return model


# ---- running ----

def save(model, name):
    """The model itself and what ONNX Runtime saves of it: path, model."""
    import onnx
    path, saved = support.WORK / f"blocked_{name}.onnx", support.WORK / f"blocked_{name}_saved.onnx"
    onnx.save(model, str(path))
    if not saved_models_test.save(path, saved, "ORT_ENABLE_ALL"):
        raise AssertionError(f"ONNX Runtime does not load {name}")
    return path, onnx.load(str(saved))


def answers(path, feed):
    """Of the original, no optimisation."""
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return dict(zip((o.name for o in session.get_outputs()), session.run(None, feed)))


def compare(test, model, path, name, feed, slack, *arguments):
    """Converts the saved `model`, runs it, and holds it beside the original at `path`: slack * max|ref| + 1e-4 * |ref|."""
    import numpy as np
    import onnx
    forms = sum(n.domain == DOMAIN for n in model.graph.node)
    test.assertGreater(forms, 0, "ONNX Runtime wrote no NCHWc forms")
    saved, out = support.WORK / f"blocked_{name}_in.onnx", support.WORK / f"blocked_{name}.npz"
    onnx.save(model, str(saved))
    file = support.convert(saved, f"blocked_{name}", *arguments)
    inputs = []
    for key, array in feed.items():
        np.save(support.WORK / f"blocked_{name}.{key}.npy", array)
        inputs += ["--input", f"{key}={support.WORK / f'blocked_{name}.{key}.npy'}"]
    support.vireo("run", file, *inputs, "--output", out)
    worst = 0.0
    with np.load(out) as got:
        for key, want in answers(path, feed).items():
            test.assertEqual(got[key].shape, want.shape)
            top = np.abs(want).max()
            worst = max(worst, float((np.abs(got[key] - want) / (slack * top + 1e-4 * np.abs(want) + 1e-30)).max()))
    test.assertLessEqual(worst, 1.0, f"{name}: {worst:.3g} times the tolerance")
    print(f"\n{name}: {forms} NCHWc forms of {len(model.graph.node)} nodes, {worst:.3f} of the tolerance", flush=True)
    for left in [saved, out, file, path, *support.WORK.glob(f"blocked_{name}.*.npy")]:
        left.unlink()


def small(name, block):
    """block: 0 as this machine saves it."""
    def run(test):
        import numpy as np
        build, *shapes = SMALL[name]
        m = Model(*shapes)
        full = f"{name}_{block}"
        path, model = save(m.build(build(m)), full)
        mine = saved_models_test.machine_block()
        wanted = block or mine
        if wanted != mine:
            model = change_blocks(model, mine, wanted)
        feed = {"x": np.random.default_rng(2).standard_normal(m.sample).astype(np.float32)}
        compare(test, model, path, full, feed, 1e-5)
    return run


# Their channels are all multiples of 16: nothing is padded in either blocks.
FULL = ("deit_tiny", "dscnn_kws", "resnet50", "yololike_n_320")


def zoo(name):
    def run(test):
        fill = zoo_test.filler()
        skeleton = fill.load(str(support.SHARED / "zoo" / f"{name}.onnx.gz"))
        path, model = save(fill.fill(skeleton), name)
        option = ["--nchwc-block", saved_models_test.machine_block()] if name in FULL else []
        # Random weights let magnitudes grow from layer to layer, and with them what the order of a sum is worth.
        compare(test, model, path, name, fill.inputs(skeleton), 1e-4, *option)
    return run


def full_blocks(options, *words):
    """Filters of 32 and 64 channels: with these options the model is refused with these words, or converts where there are none."""
    def run(test):
        import onnx
        m = Model([1, 3, H, W])
        path, model = save(m.build(m.conv(m.conv("x", 32, 3), 64, 32)), "full")
        onnx.save(model, str(path))
        done = support.vireo("check", path, *options, check=False)
        test.assertEqual(done.returncode == 0, not words, done.stdout + done.stderr)
        for word in words:
            test.assertIn(word, done.stdout + done.stderr)
        path.unlink()
    return run


def provenance(test):
    """The option is among those that the file was made with."""
    import onnx
    m = Model([1, 3, H, W])
    path, model = save(m.build(m.conv(m.conv("x", 32, 3), 64, 32)), "provenance")
    onnx.save(model, str(path))
    file = support.convert(path, "blocked_provenance", "--nchwc-block", "8")
    test.assertIn("--nchwc-block 8", json.dumps(json.loads(support.vireo("inspect", file, "--json").stdout)))


ZOO = ("deit_tiny", "dscnn_kws", "mobilenet_v2", "mobilenet_v2_dynb4", "mobilenet_v2_op21", "mobilenet_v3_small", "resnet50", "sr_x2",
       "ssdlite320_mbv3", "yololike_n_320")


def table():
    cases = {f"{name}_{'as_saved' if block == 0 else block}": small(name, block) for name in SMALL for block in (0, 8, 16)}
    cases["full_asks"] = full_blocks([], "cannot be told", "--nchwc-block 16", "ORT_ENABLE_EXTENDED")
    cases["full_with_option"] = full_blocks(["--nchwc-block", "8"])
    cases["option_of_12"] = full_blocks(["--nchwc-block", "12"], "--nchwc-block")
    cases["provenance"] = provenance
    return cases


reason = support.missing("numpy", "onnx", "onnxruntime")
Blocked = support.cases(reason, {} if reason else table())
zoo_reason = reason or support.missing(folder="zoo")
Zoo = support.cases(zoo_reason, {} if zoo_reason else {re.sub(r"\W", "_", name): zoo(name) for name in ZOO})

if __name__ == "__main__":
    support.main()
