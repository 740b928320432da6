"""Models that ONNX Runtime's optimisers and exporters write, with operators of its own domain com.microsoft: converted, run, and
compared with ONNX Runtime, whose kernels are the authority on what these operators mean. One node a case, over the forms that it
may take; forms that ONNX Runtime has no CPU kernel for are compared with the same thing written in standard operators.
Then whole models: saved by ONNX Runtime's optimiser, and by its optimiser for transformers, where they must answer as the
original does, with about as few nodes after our passes."""
import json

import support

FLOAT, INT32, INT64, UINT8, INT8 = 1, 6, 7, 2, 3


class Case:
    """One graph under construction, and its inputs."""

    def __init__(self, seed=0):
        import numpy as np
        self.np, self.rng = np, np.random.default_rng(seed)
        self.nodes, self.infos, self.constants, self.feed = [], [], [], {}

    def real(self, *shape):
        return self.rng.standard_normal(shape).astype("float32")

    def input(self, name, array, dims=None):
        from onnx import helper
        array = self.np.asarray(array)
        self.infos.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), dims or array.shape))
        self.feed[name] = array
        return name

    def constant(self, array):
        from onnx import numpy_helper
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(self.np.asarray(array), name))
        return name

    def node(self, op, inputs, outputs, domain="com.microsoft", **attributes):
        from onnx import helper
        self.nodes.append(helper.make_node(op, inputs, outputs, domain=domain, name=f"{op}{len(self.nodes)}", **attributes))

    def model(self, outputs):
        from onnx import helper
        infos = [helper.make_empty_tensor_value_info(o) for o in outputs]
        graph = helper.make_graph(self.nodes, "contrib", self.infos, infos, self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)], ir_version=10)


def session(path, level=None):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = level or onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def run_vireo(path, feed, *arguments):
    import numpy as np
    import vireo
    file = support.convert(path, None, *arguments)
    with vireo.Model(file) as loaded:
        arrays = [feed[v.name] for v in loaded.inputs]
        with loaded.session(loaded.bounds_for(*arrays)) as running:
            out = [np.array(a) for a in running.run(*arrays)]
    file.unlink()
    return out


def save(model, name):
    import onnx
    path = support.WORK / f"contrib_{name}.onnx"
    onnx.save(model, str(path))
    return path


def agree(test, got, want, what, step=0, atol=0):
    """Rounding of float32 sums, and `atol`; codes by at most `step`."""
    import numpy as np
    test.assertEqual(got.shape, want.shape, what)
    test.assertEqual(got.dtype, want.dtype, what)
    error = np.abs(got.astype("float64") - want.astype("float64"))
    limit = step if want.dtype.kind in "iu" else atol + 2e-5 * max(1.0, float(np.abs(want).max(initial=0))) + 1e-4 * np.abs(want)
    test.assertTrue((error <= limit).all(), f"{what}: {error.max(initial=0):.3g}")


def check(build, outputs=("y",), step=0, rows=None, atol=0):
    """`build(case)` adds nodes; a dictionary that it returns is what to expect instead of ONNX Runtime's answer. `rows`: the part
    of each output that has a meaning."""
    def run(test):
        case = Case()
        expected = build(case)
        path = save(case.model(outputs), test.id().split(".")[-1])
        want = [expected[o] for o in outputs] if expected else session(path).run(None, case.feed)
        for arguments in ([], ["--no-optimize"]):
            got = run_vireo(path, case.feed, *arguments)
            for name, g, w in zip(outputs, got, want):
                agree(test, rows(g) if rows else g, rows(w) if rows else w, f"{name} {' '.join(arguments)}", step, atol)
        path.unlink()
    return run


def refuse(build, *words):
    """Refused, with these words in what is printed."""
    def run(test):
        case = Case()
        build(case)
        path = save(case.model(["y"]), test.id().split(".")[-1])
        done = support.vireo("check", path, check=False)
        test.assertNotEqual(done.returncode, 0)
        for word in words:
            test.assertIn(word, done.stdout + done.stderr)
        path.unlink()
    return run


# ---- attention ----

B, S, N, D = 2, 5, 3, 4
H = N * D


def ragged(c, total, first=3):
    """A mask of [B, total] with padding at the end."""
    mask = c.np.ones((B, total), "int32")
    mask[0, first:] = 0
    return mask


def attention(mask=None, past=0, sizes=None, score_bias=False, **attributes):
    def build(c):
        total = past + S
        widths = sizes or [H, H, H]
        inputs = [c.input("x", c.real(B, S, 7)), c.constant(c.real(7, sum(widths)) / 3), c.constant(c.real(sum(widths)))]
        masks = {
            None: lambda: None, "keys": lambda: ragged(c, total), "rows": lambda: c.rng.integers(0, 2, (B, S, total)).astype("int32"),
            "ends": lambda: c.np.array([total - 2, total], "int32"),
            "both": lambda: c.np.array([total - 1, total, 1, 0], "int32"),
            "runs": lambda: c.np.array([total - 1, total] + [0] * (2 * B + 2), "int32"), "empty": lambda: c.np.zeros((B, total), "int32"),
        }[mask]()
        inputs.append("" if masks is None else c.input("mask", masks))
        inputs.append(c.input("past", c.real(2, B, N, past, D)) if past else "")
        inputs.append(c.input("bias", c.real(1, N, S, total)) if score_bias else "")
        if sizes:
            attributes["qkv_hidden_sizes"] = sizes
        c.node("Attention", inputs, ["y", "present"] if past else ["y"], num_heads=N, **attributes)
    return check(build, ("y", "present") if past else ("y",))


def answer(case, output="y"):
    """What ONNX Runtime says: for the same thing written in a way that its CPU kernels have."""
    path = save(case.model([output]), "answer")
    out = session(path).run(None, case.feed)[0]
    path.unlink()
    return {output: out}


def attention_no_bias(c):
    """ONNX Runtime's CPU kernel reads past a bias that is missing: a bias of 0."""
    x, w, other = c.real(B, S, 7), c.real(7, 3 * H) / 3, Case()
    for case, bias in ((c, ""), (other, other.constant(c.np.zeros(3 * H, "float32")))):
        case.node("Attention", [case.input("x", x), case.constant(w), bias], ["y"], num_heads=N)
    return answer(other)


def attention_of_squares(c):
    """A mask of [B, 1, M, M], which ONNX Runtime's CPU kernel does not have: the same as rows of [B, S, T]."""
    most, past = 9, 2
    square = c.np.tril(c.np.ones((B, 1, most, most), "int32"))
    x, w, bias, cache, other = c.real(B, S, 7), c.real(7, 3 * H) / 3, c.real(3 * H), c.real(2, B, N, past, D), Case()
    for case, mask in ((c, square), (other, square[:, 0, past:past + S, :past + S].copy())):
        inputs = [case.input("x", x), case.constant(w), case.constant(bias), case.input("mask", mask), case.input("past", cache)]
        case.node("Attention", inputs, ["y", "present"], num_heads=N)
    return answer(other)


def multi_head(mask=None, past=0, bias=False, score_bias=False, by_heads=False, keys=S, value=D, dims=None, **attributes):
    def build(c):
        total = past + keys
        q = c.input("q", c.real(B, S, H), dims)
        if by_heads:
            k, v = c.input("k", c.real(B, N, keys, D)), c.input("v", c.real(B, N, keys, value))
        else:
            k, v = c.input("k", c.real(B, keys, H)), c.input("v", c.real(B, keys, N * value))
        inputs = [q, k, v, c.constant(c.real(2 * H + N * value)) if bias else ""]
        masks = {
            None: lambda: None, "keys": lambda: ragged(c, total), "ends": lambda: c.np.array([total - 2, total], "int32"),
            "rows": lambda: c.rng.integers(0, 2, (B, S, total)).astype("int32"),
            "runs": lambda: c.np.array([total - 1, total] + [0] * (2 * B + 2), "int32"),
        }[mask]()
        inputs.append("" if masks is None else c.input("mask", masks))
        inputs.append(c.input("bias", c.real(B, 1, S, total)) if score_bias else "")
        if past:
            inputs += [c.input("pk", c.real(B, N, past, D)), c.input("pv", c.real(B, N, past, value))]
        c.node("MultiHeadAttention", inputs, ["y", "k2", "v2"] if past else ["y"], num_heads=N, **attributes)
    return check(build, ("y", "k2", "v2") if past else ("y",))


def packed(parts):
    """Packed query, key and value, or key and value, which ONNX Runtime's CPU kernel does not have: unpacked, it does."""
    def build(c):
        x, bias = [c.real(B, S, N, D) for _ in range(3)], c.real(3 * H)
        other = Case()
        flat = [other.input(name, a.reshape(B, S, H)) for name, a in zip("qkv", x)]
        other.node("MultiHeadAttention", flat + [other.constant(bias)], ["y"], num_heads=N)
        if parts == 3:
            inputs = [c.input("x", c.np.stack(x, 3)), "", ""]
        else:
            inputs = [c.input("q", x[0].reshape(B, S, H)), c.input("kv", c.np.stack(x[1:], 3)), ""]
        c.node("MultiHeadAttention", inputs + [c.constant(bias)], ["y"], num_heads=N)
        return answer(other)
    return check(build)


def tables(c, half=D // 2, positions=16):
    angle = c.np.outer(c.np.arange(positions), 1 / 10 ** (c.np.arange(half) / half)).astype("float32")
    return [c.constant(c.np.cos(angle)), c.constant(c.np.sin(angle))]


def group(batch=B, tokens=S, past=0, room=0, lengths=None, one=False, rotary=False, half=8, ids=False, score_bias=False, total_input=False, size=16, **attributes):
    """`past` tokens in a cache of `past`, or of `room` where that is given; lengths: tokens of each batch after this call."""
    heads, kv = 4, 2

    def build(c):
        total = past + tokens
        each = lengths or [total] * batch
        if one:
            inputs = [c.input("q", c.real(batch, tokens, (heads + 2 * kv) * size)), "", ""]
        else:
            inputs = [c.input("q", c.real(batch, tokens, heads * size)), c.input("k", c.real(batch, tokens, kv * size)),
                      c.input("v", c.real(batch, tokens, kv * size))]
        inputs += [c.input("pk", c.real(batch, kv, room or past, size)), c.input("pv", c.real(batch, kv, room or past, size))]
        inputs.append(c.input("lengths", c.np.array(each, "int32") - 1))
        whole = c.np.array([total], "int32")
        inputs.append(c.input("total", whole) if total_input else c.constant(whole))
        inputs += tables(c, half) if rotary else ["", ""]
        inputs.append(c.input("ids", c.np.tile(c.np.arange(past, total), (batch, 1))) if ids else "")
        inputs.append(c.input("bias", c.real(1, heads, tokens, total)) if score_bias else "")
        while not inputs[-1]:
            inputs.pop()
        c.node("GroupQueryAttention", inputs, ["y", "k2", "v2"], num_heads=heads, kv_num_heads=kv, do_rotary=int(rotary), **attributes)
    # A first call with padding: what the padded rows give, and what stands in the cache behind the tokens, is left open.
    least = min(lengths) if lengths else None
    rows = (lambda a: a[:, :least] if a.ndim == 3 else a[:, :, :least]) if lengths and past == 0 else (
        lambda a: a if a.ndim == 3 else a[:, :, :least]) if lengths else (lambda a: a if a.ndim == 3 else a[:, :, :past + tokens])
    return check(build, ("y", "k2", "v2"), rows=rows)


def attention_cases():
    return {
        "attention": attention(), "attention_no_bias": check(attention_no_bias), "attention_keys": attention("keys"),
        "attention_rows": attention("rows"), "attention_ends": attention("ends"), "attention_starts": attention("both"),
        "attention_runs": attention("runs"), "attention_all_masked": attention("empty"), "attention_filter": attention("keys", mask_filter_value=-2.5),
        "attention_causal": attention(unidirectional=1), "attention_causal_keys": attention("keys", unidirectional=1),
        "attention_past": attention(past=3), "attention_past_causal": attention("keys", past=3, unidirectional=1),
        "attention_sizes": attention(sizes=[H, H, 2 * H]), "attention_scale": attention(scale=0.3), "attention_bias": attention(score_bias=True),
        "attention_bias_keys": attention("keys", score_bias=True, unidirectional=1), "attention_squares": check(attention_of_squares),
        "multi_head": multi_head(), "multi_head_bias": multi_head(bias=True), "multi_head_keys": multi_head("keys"), "multi_head_ends": multi_head("ends"),
        "multi_head_rows": multi_head("rows", score_bias=True), "multi_head_runs": multi_head("runs"), "multi_head_past": multi_head(past=2, unidirectional=1),
        "multi_head_past_keys": multi_head("keys", past=2, bias=True), "multi_head_cross": multi_head(keys=7, value=2 * D),
        "multi_head_by_heads": multi_head(by_heads=True, keys=7), "multi_head_open": multi_head("keys", dims=["batch", "tokens", H], bias=True),
        "multi_head_packed": packed(3), "multi_head_packed_keys": packed(2),
        "group_first": group(), "group_first_padded": group(lengths=[3, 5]), "group_grows": group(batch=1, tokens=1, past=4),
        "group_grows_rotary": group(batch=1, tokens=1, past=4, rotary=True), "group_buffer": group(tokens=1, past=4, room=9, rotary=True),
        "group_ragged": group(tokens=1, past=4, room=9, lengths=[3, 5], rotary=True), "group_several": group(batch=1, tokens=3, past=4, rotary=True),
        "group_one": group(one=True, rotary=True), "group_interleaved": group(rotary=True, rotary_interleaved=1),
        "group_partial": group(rotary=True, half=8, size=32), "group_ids": group(batch=1, tokens=1, past=4, rotary=True, ids=True),
        "group_window": group(local_window_size=2), "group_window_past": group(batch=1, tokens=1, past=6, local_window_size=3),
        "group_softcap": group(softcap=0.5, scale=0.7), "group_bias": group(score_bias=True), "group_total_input": group(tokens=1, past=4, room=9, total_input=True),
    }


# ---- norms, activations, products ----

def embedding(mask=True, segments=True, ids=False, total=True):
    def build(c):
        inputs = [c.input("ids", c.rng.integers(0, 11, (B, S)).astype("int32")), c.input("segments", c.rng.integers(0, 2, (B, S)).astype("int32")) if segments else ""]
        inputs += [c.constant(c.real(11, H)), c.constant(c.real(8, H)), c.constant(c.real(2, H)) if segments else "", c.constant(c.real(H)), c.constant(c.real(H))]
        inputs.append(c.input("mask", ragged(c, S)) if mask else "")
        inputs.append(c.input("positions", c.rng.integers(0, 8, (B, S)).astype("int32")) if ids else "")
        while not inputs[-1]:
            inputs.pop()
        c.node("EmbedLayerNormalization", inputs, ["y", "index", "sum"] if total else ["y", "index"])
    return check(build, ("y", "index", "sum") if total else ("y", "index"))


def skip(op, *parts, outputs=("y",), skip_shape=(B, S, H)):
    def build(c):
        inputs = [c.input("x", c.real(B, S, H)), c.input("s", c.real(*skip_shape))]
        for part in (["gamma", "beta", "bias"] if op == "SkipLayerNormalization" else ["gamma", "bias"]):
            inputs.append(c.constant(c.real(H)) if part in parts else "")
        while not inputs[-1]:
            inputs.pop()
        c.node(op, inputs, list(outputs) if len(outputs) == 1 else [outputs[0], "", "", outputs[1]], epsilon=1e-5)
    return check(build, outputs)


def simple(op, *arrays, **attributes):
    def build(c):
        c.node(op, [c.input(f"x{i}", a(c)) for i, a in enumerate(arrays)], ["y"], **attributes)
    return check(build)


def of(*shape):
    return lambda c: c.real(*shape)


def simplified(domain):
    def build(c):
        c.node("SimplifiedLayerNormalization", [c.input("x", c.real(B, S, H)), c.constant(c.real(H))], ["y"], domain=domain, axis=-1, epsilon=1e-5, stash_type=1)
    return check(build)


def fused_conv(activation, parameters=None, add=False):
    def build(c):
        inputs = [c.input("x", c.real(1, 3, 6, 6)), c.constant(c.real(4, 3, 3, 3)), c.constant(c.real(4))]
        if add:
            inputs.append(c.input("z", c.real(1, 4, 6, 6)))
        attributes = {"activation_params": parameters} if parameters else {}
        c.node("FusedConv", inputs, ["y"], activation=activation, pads=[1, 1, 1, 1], kernel_shape=[3, 3], **attributes)
    return check(build)


def fused_gemm(activation, **attributes):
    return check(lambda c: c.node("FusedGemm", [c.input("a", c.real(3, 4)), c.constant(c.real(4, 5)), c.constant(c.real(5))], ["y"], activation=activation, **attributes))


def rotary(form, shape, half=D // 2, offset=False, **attributes):
    def build(c):
        tokens = shape[1] if form == 3 else shape[2]
        ids = c.np.array([2]) if offset else c.rng.integers(0, 16, (shape[0], tokens))
        c.node("RotaryEmbedding", [c.input("x", c.real(*shape)), c.input("ids", ids), *tables(c, half)], ["y"], **attributes)
    return check(build)


def bias_add(c):
    x, b, s = c.real(B, S, H), c.real(H), c.real(B, S, H)
    c.node("BiasAdd", [c.input("x", x), c.constant(b), c.input("s", s)], ["y"])
    return {"y": x + b + s}


def bias_split_gelu(c):
    import math
    x, b = c.real(B, S, 2 * H), c.real(2 * H)
    left, right = c.np.split(x + b, 2, -1)
    c.node("BiasSplitGelu", [c.input("x", x), c.constant(b)], ["y"])
    return {"y": (left * right * 0.5 * (1 + c.np.vectorize(math.erf)(right / math.sqrt(2)))).astype("float32")}


def plain_cases():
    layer, rms = "SkipLayerNormalization", "SkipSimplifiedLayerNormalization"
    return {
        "embedding": embedding(), "embedding_no_mask": embedding(mask=False), "embedding_no_segments": embedding(segments=False),
        "embedding_positions": embedding(ids=True), "embedding_no_sum": embedding(total=False),
        "skip_layer": skip(layer, "gamma", "beta", "bias", outputs=("y", "sum")), "skip_layer_plain": skip(layer, "gamma"),
        "skip_layer_rows": skip(layer, "gamma", "beta", skip_shape=(S, H)), "skip_layer_one": skip(layer, "gamma", "beta", skip_shape=(1, S, H)),
        "skip_rms": skip(rms, "gamma", "bias", outputs=("y", "sum")), "skip_rms_plain": skip(rms, "gamma"),
        "simplified": simplified(""), "bias_gelu": simple("BiasGelu", of(B, S, H), of(H)),
        "fast_gelu": simple("FastGelu", of(B, S, H)), "fast_gelu_bias": simple("FastGelu", of(B, S, H), of(H)),
        "gelu": simple("Gelu", of(B, S, H)), "quick_gelu": simple("QuickGelu", of(B, S, H), alpha=1.3),
        "bias_add": check(bias_add), "bias_split_gelu": check(bias_split_gelu),
        "matmul": simple("FusedMatMul", of(B, 3, 4), of(B, 4, 5), alpha=0.5), "matmul_turned": simple("FusedMatMul", of(B, 4, 3), of(B, 5, 4), transA=1, transB=1),
        "matmul_batch": simple("FusedMatMul", of(3, B, 4), of(B, 4, 5), transBatchA=1),
        "conv": fused_conv("Relu"), "conv_add": fused_conv("Relu", add=True), "conv_clip": fused_conv("Clip", [0.0, 1.0]),
        "conv_leaky": fused_conv("LeakyRelu", [0.2]), "conv_hard": fused_conv("HardSigmoid", [0.3, 0.4]), "conv_tanh": fused_conv("Tanh"),
        "gemm": fused_gemm("Relu", alpha=0.5), "gemm_leaky": fused_gemm("LeakyRelu", activation_alpha=0.3), "gemm_sigmoid": fused_gemm("Sigmoid"),
        "rotary": rotary(3, (B, S, H), num_heads=N), "rotary_no_heads": rotary(3, (B, S, H)), "rotary_heads": rotary(4, (B, N, S, D)), "rotary_offset": rotary(4, (B, N, S, D), offset=True),
        "rotary_interleaved": rotary(3, (B, S, H), num_heads=N, interleaved=1), "rotary_partial": rotary(3, (B, S, N * 8), 2, num_heads=N, rotary_embedding_dim=4),
    }


# ---- on codes ----

def codes(c, *shape, dtype="uint8"):
    low = 0 if dtype == "uint8" else -128
    return c.rng.integers(low, low + 256, shape).astype(dtype)


def weights_of(c, *shape):
    """int8, in seven bits: without VNNI ONNX Runtime adds two products with uint8 in 16 bits, which saturate beyond that."""
    return c.rng.integers(-64, 64, shape).astype("int8")


def scale_of(c, value, zero, dtype="uint8"):
    return [c.constant(c.np.float32(value)), c.constant(c.np.array(zero, dtype)) if zero is not None else ""]


def on_codes(op, dtype="uint8", zero=7, shape=(1, 4, 6, 6), y=(0.02, 3), **attributes):
    def build(c):
        c.node(op, [c.input("x", codes(c, *shape, dtype=dtype)), *scale_of(c, 0.03, zero, dtype), *scale_of(c, y[0], y[1], dtype)], ["y"], **attributes)
    return check(build, step=1)


def pair(op, dtype="uint8", other=(1, 4, 6, 6), zero=9):
    def build(c):
        c.node(op, [c.input("a", codes(c, 1, 4, 6, 6, dtype=dtype)), *scale_of(c, 0.03, zero, dtype), c.input("b", codes(c, *other, dtype=dtype)),
                    *scale_of(c, 0.02, zero, dtype), *scale_of(c, 0.05, zero, dtype)], ["y"])
    return check(build, step=1)


def join(c):
    parts = []
    for i, scale in enumerate((0.02, 0.05, 0.02)):
        parts += [c.input(f"x{i}", codes(c, 2, 3 + i)), *scale_of(c, scale, 4 * i)]
    c.node("QLinearConcat", [*scale_of(c, 0.02, 4), *parts], ["y"], axis=1)


def choice(c):
    c.node("QLinearWhere", [c.input("p", c.rng.integers(0, 2, (2, 5)).astype(bool)), c.input("a", codes(c, 2, 5)), *scale_of(c, 0.02, 3), c.input("b", codes(c, 2, 5)),
                            *scale_of(c, 0.04, 5), *scale_of(c, 0.05, 7)], ["y"])


def q_gemm(turned=False, columns=False, real=False, bias=True, alpha=1.0):
    def build(c):
        m, k, n = 3, 8, 5
        scales = c.rng.uniform(0.01, 0.03, n).astype("float32") if columns else c.np.float32(0.02)
        zeros = c.np.zeros(n if columns else (), "int8")
        inputs = [c.input("a", codes(c, m, k)), *scale_of(c, 0.03, 100), c.constant(weights_of(c, n, k) if turned else weights_of(c, k, n)), c.constant(scales), c.constant(zeros)]
        inputs.append(c.constant(c.rng.integers(-2000, 2000, n).astype("int32")) if bias else "")
        if not real:
            inputs += scale_of(c, 0.3, 120)
        while not inputs[-1]:
            inputs.pop()
        c.node("QGemm", inputs, ["y"], transB=int(turned), alpha=alpha)
    return check(build, step=1)


def to_float(op, columns=False, zeros=True, bias=True):
    def build(c):
        n = 5
        scales = c.constant(c.rng.uniform(0.01, 0.03, n).astype("float32") if columns else c.np.array([0.02], "float32"))
        weights, zero = c.constant(codes(c, 8, n)), c.constant(c.np.full(n if columns else 1, 99, "uint8")) if zeros else ""
        if op == "DynamicQuantizeMatMul":
            inputs = [c.input("a", c.real(B, 3, 8)), weights, scales, zero]
        else:
            inputs = [c.input("a", codes(c, B, 3, 8)), weights, c.constant(c.np.array([0.03], "float32")), scales, c.constant(c.np.array([120], "uint8")) if zeros else "", zero]
        inputs.append(c.constant(c.real(n)) if bias else "")
        while not inputs[-1]:
            inputs.pop()
        c.node(op, inputs, ["y"])
    return check(build)


def n_bits(bits=4, zeros="", block=32, m=3, half=False, bias=False, k=70, n=35):
    """MatMulNBits. `zeros`: "" none, "codes", "real"."""
    def build(c):
        real, blocks = "float16" if half else "float32", -(-k // block)
        inputs = [c.input("a", c.real(m, k).astype(real)), c.constant(codes(c, n, blocks, block * bits // 8)), c.constant(c.rng.uniform(0.01, 0.1, n * blocks).astype(real))]
        packed = n * -(-blocks * bits // 8)
        inputs.append(c.constant(codes(c, packed)) if zeros == "codes" else c.constant(c.rng.integers(0, 16, n * blocks).astype(real)) if zeros else "")
        inputs += ["", c.constant(c.real(n).astype(real))] if bias else []
        while not inputs[-1]:
            inputs.pop()
        c.node("MatMulNBits", inputs, ["y"], K=k, N=n, bits=bits, block_size=block)
    return check(build)


def dequantized(dtype, block=0, zeros=False, turned=False, m=3, k=64, n=35):
    """DequantizeLinear of constant weights, and the product."""
    def build(c):
        from onnx import TensorProto, helper
        low, high = {"int4": (-8, 8), "uint4": (0, 16), "int8": (-128, 128), "uint8": (0, 256)}[dtype]

        def coded(*shape):
            name = f"c{len(c.constants)}"
            c.constants.append(helper.make_tensor(name, getattr(TensorProto, dtype.upper()), shape, c.rng.integers(low, high, shape).flatten().tolist()))
            return name
        shape, axis = ((n, k), 1) if turned else ((k, n), 0)
        scales = tuple(e // block if i == axis else e for i, e in enumerate(shape)) if block else (n,)
        inputs = [coded(*shape), c.constant(c.rng.uniform(0.01, 0.1, scales).astype("float32"))] + ([coded(*scales)] if zeros else [])
        c.node("DequantizeLinear", inputs, ["w"], domain="", axis=axis if block else 1 - axis, **({"block_size": block} if block else {}))
        c.node("Gemm", [c.input("x", c.real(m, k)), "w"], ["y"], domain="", transB=int(turned)) if turned else c.node("MatMul", [c.input("x", c.real(2, m, k)), "w"], ["y"], domain="")
    return check(build)


def q_attention(mask=False, past=0):
    def build(c):
        inputs = [c.input("x", codes(c, B, S, 8)), c.constant(codes(c, 8, 3 * H)), c.constant(c.real(3 * H)), c.constant(c.np.float32(0.01)), c.constant(c.np.float32(0.02))]
        inputs += [c.input("mask", ragged(c, past + S)) if mask else "", c.constant(c.np.uint8(120)), c.constant(c.np.uint8(130))]
        if past:
            inputs.append(c.input("past", c.real(2, B, N, past, D)))
        c.node("QAttention", inputs, ["y", "present"] if past else ["y"], num_heads=N)
    return check(build, ("y", "present") if past else ("y",))


def q_conv(c):
    inputs = [c.input("x", codes(c, 1, 6, 6, 3)), *scale_of(c, 0.03, 100), c.constant(weights_of(c, 4, 3, 3, 3)), c.constant(c.rng.uniform(0.01, 0.02, 4).astype("float32")),
              c.constant(c.np.zeros(4, "int8")), *scale_of(c, 0.2, 90), c.constant(c.rng.integers(-500, 500, 4).astype("int32"))]
    c.node("QLinearConv", inputs, ["y"], channels_last=1, kernel_shape=[3, 3], pads=[1, 1, 1, 1])


def codes_cases():
    return {
        "q_add": pair("QLinearAdd"), "q_add_signed": pair("QLinearAdd", "int8", zero=-5), "q_add_broadcast": pair("QLinearAdd", other=(1, 4, 1, 1)), 
        "q_mul": pair("QLinearMul"), "q_mul_signed": pair("QLinearMul", "int8", zero=2), "q_sigmoid": on_codes("QLinearSigmoid", y=(1 / 256, 0)),
        "q_sigmoid_signed": on_codes("QLinearSigmoid", "int8", -4, y=(1 / 256, -128)), "q_leaky": on_codes("QLinearLeakyRelu", zero=90, alpha=0.2),
        "q_softmax": on_codes("QLinearSoftmax", shape=(3, 10), y=(1 / 256, 0), opset=13, axis=-1), "q_softmax_old": on_codes("QLinearSoftmax", shape=(2, 3, 4), y=(1 / 256, 0), opset=11, axis=1),
        "q_concat": check(join, step=1), "q_where": check(choice, step=1),
        "q_average": on_codes("QLinearAveragePool", kernel_shape=[2, 2], strides=[2, 2]), "q_average_pads": on_codes("QLinearAveragePool", kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        "q_average_last": on_codes("QLinearAveragePool", shape=(1, 6, 6, 4), kernel_shape=[2, 2], channels_last=1),
        "q_global": on_codes("QLinearGlobalAveragePool"), "q_global_last": on_codes("QLinearGlobalAveragePool", shape=(1, 6, 6, 4), channels_last=1),
        "q_gemm": q_gemm(), "q_gemm_turned": q_gemm(turned=True, columns=True), "q_gemm_columns": q_gemm(columns=True), "q_gemm_real": q_gemm(real=True), "q_gemm_alpha": q_gemm(bias=False, alpha=0.5),
        "to_float": to_float("MatMulIntegerToFloat"), "to_float_columns": to_float("MatMulIntegerToFloat", columns=True), "to_float_plain": to_float("MatMulIntegerToFloat", zeros=False, bias=False),
        "dynamic": to_float("DynamicQuantizeMatMul"), "dynamic_columns": to_float("DynamicQuantizeMatMul", columns=True), "dynamic_plain": to_float("DynamicQuantizeMatMul", zeros=False, bias=False),
        "n_bits": n_bits(), "n_bits_one": n_bits(m=1, block=16, bias=True), "n_bits_zeros": n_bits(zeros="codes"), "n_bits_real_zeros": n_bits(zeros="real"),
        "n_bits_many": n_bits(m=40, block=256, k=300), "n_bits_8": n_bits(bits=8, m=2), "n_bits_8_zeros": n_bits(bits=8, zeros="codes", block=128), "n_bits_half": n_bits(half=True),
        "weights_int4": dequantized("int4", 32), "weights_uint4": dequantized("uint4", 16, zeros=True, turned=True), "weights_int8": dequantized("int8"),
        "weights_uint8": dequantized("uint8", zeros=True, turned=True, m=1), "weights_int8_blocks": dequantized("int8", 16, m=20),
        "q_attention": q_attention(), "q_attention_mask": q_attention(mask=True), "q_attention_past": q_attention(past=2), "q_conv": check(q_conv, step=1),
        "q_max_pool": check(lambda c: c.node("NhwcMaxPool", [c.input("x", codes(c, 1, 6, 6, 4))], ["y"], kernel_shape=[2, 2], strides=[2, 2])),
    }


# ---- refusals ----

def bad(op, *shapes, outputs=("y",), words=(), types=None, **attributes):
    """A node whose inputs have these shapes (None: absent), and what its refusal must say."""
    def build(c):
        inputs = [("" if shape is None else c.input(f"x{i}", c.np.zeros(shape, (types or {}).get(i, "float32")))) for i, shape in enumerate(shapes)]
        c.node(op, inputs, list(outputs), **attributes)
    return refuse(build, op, *words)


def refusals():
    q, ints = (B, S, H), {5: "int32", 6: "int32"}
    grouped = (q, (B, S, H), (B, S, H), (B, N, 2, D), (B, N, 2, D), (B,), (1,))
    return {
        "attention_rank": bad("Attention", (S, 7), (7, 3 * H), (3 * H,), num_heads=N, words=["rank"]),
        "attention_heads": bad("Attention", (B, S, 7), (7, 3 * H), (3 * H,), num_heads=5, words=["heads"]),
        "attention_no_heads": bad("Attention", (B, S, 7), (7, 3 * H), (3 * H,), words=["num_heads"]),
        "attention_sizes": bad("Attention", (B, S, 7), (7, 3 * H), (3 * H,), num_heads=N, qkv_hidden_sizes=[H, H, H + 1], words=["columns"]),
        "attention_mask_rank": bad("Attention", (B, S, 7), (7, 3 * H), (3 * H,), (B, 1, 1, S, S), num_heads=N, types={3: "int32"}, words=["mask"]),
        "attention_mask_type": bad("Attention", (B, S, 7), (7, 3 * H), (3 * H,), (B, S), num_heads=N, words=["int32"]),
        "attention_mask_length": bad("Attention", (B, S, 7), (7, 3 * H), (3 * H,), (B + 1,), num_heads=N, types={3: "int32"}, words=["list"]),
        "attention_past_rank": bad("Attention", (B, S, 7), (7, 3 * H), (3 * H,), None, (B, N, 2, D), num_heads=N, words=["past"]),
        "attention_rotary": bad("Attention", (B, S, 7), (7, 3 * H), (3 * H,), num_heads=N, do_rotary=1, words=["do_rotary", "help"]),
        "attention_buffer": bad("Attention", (B, S, 7), (7, 3 * H), (3 * H,), num_heads=N, past_present_share_buffer=1, words=["share_buffer", "help"]),
        "multi_head_rank": bad("MultiHeadAttention", (S, H), (S, H), (S, H), num_heads=N, words=["ranks 2"]),
        "multi_head_no_value": bad("MultiHeadAttention", q, q, None, num_heads=N, words=["rank"]),
        "multi_head_bias": bad("MultiHeadAttention", q, q, q, (H,), num_heads=N, words=["bias"]),
        "multi_head_scores": bad("MultiHeadAttention", q, q, q, num_heads=N, outputs=("y", "", "", "qk"), words=["output 3"]),
        "multi_head_beams": bad("MultiHeadAttention", q, q, q, None, None, None, (B, N, 2, D), (B, N, 2, D), (1,), num_heads=N, types={8: "int32"}, words=["input 8", "help"]),
        "group_missing": bad("GroupQueryAttention", *grouped[:5], None, (1,), num_heads=N, kv_num_heads=N, types=ints, words=["input 5"]),
        "group_heads": bad("GroupQueryAttention", *grouped, num_heads=N, kv_num_heads=2, types=ints, words=["groups"]),
        "group_sink": bad("GroupQueryAttention", *grouped, None, None, None, None, (N,), num_heads=N, kv_num_heads=N, types=ints, words=["head_sink", "help"]),
        "group_rotary": bad("GroupQueryAttention", *grouped, num_heads=N, kv_num_heads=N, do_rotary=1, types=ints, words=["cos_cache"]),
        "group_past_rank": bad("GroupQueryAttention", *grouped[:3], (B, 2, D), (B, 2, D), (B,), (1,), num_heads=N, kv_num_heads=N, types=ints, words=["past_key"]),
        "rotary_tables": bad("RotaryEmbedding", q, (B, S), (9,), (9,), types={1: "int64"}, num_heads=N, words=["rank"]),
        "rotary_scale": bad("RotaryEmbedding", q, (B, S), (9, 2), (9, 2), types={1: "int64"}, num_heads=N, scale=2.0, words=["scale"]),
        "embedding_rank": bad("EmbedLayerNormalization", (S,), None, (9, H), (9, H), None, (H,), (H,), types={0: "int32"}, words=["input 0"]),
        "embedding_segments": bad("EmbedLayerNormalization", (B, S), None, (9, H), (9, H), (2, H), (H,), (H,), types={0: "int32"}, words=["segment"]),
        "split_gelu_odd": bad("BiasSplitGelu", (B, S, 3), (3,), words=["halves"]),
        "q_add_no_scale": bad("QLinearAdd", (2, 3), None, None, (2, 3), (), None, (), types={0: "uint8", 3: "uint8"}, words=["missing"]),
        "q_average_rank": bad("QLinearGlobalAveragePool", (2, 3), (), (), (), (), types={0: "uint8", 2: "uint8", 4: "uint8"}, words=["rank 2"]),
        "q_softmax_axis": bad("QLinearSoftmax", (2, 3), (), (), (), (), types={0: "uint8", 2: "uint8", 4: "uint8"}, axis=4, opset=13, words=["axis"]),
        "to_float_rows": bad("MatMulIntegerToFloat", (2, 3), (3, 4), (2,), (), types={0: "uint8", 1: "uint8"}, words=["row", "help"]),
        "blocked": refuse(blocked, "com.microsoft.nchwc", "ORT_ENABLE_EXTENDED"),
    }


def blocked(c):
    """Channels in blocks are nothing to hand out."""
    c.node("ReorderInput", [c.input("x", c.real(1, 8, 4, 4))], ["y"], domain="com.microsoft.nchwc")


# ---- whole models ----

# Models of the zoo and the trained ones, and where they are.
WHOLE = ["bert_minilm", "bert_minilm_dyn", "bert_minilm_op21", "deit_tiny", "whisper_tiny_enc", "llama_small", "dscnn_kws-int8", "mobilenet_v2-int8", "mobilenet_v3_small",
         "lm_main", "lm_draft", "digit_vit", "digit_mobile"]


# What moves data or renames it. ONNX Runtime moves Transposes past views in ways that leave more of them.
MOVES = ("Reshape", "Squeeze", "Unsqueeze", "Transpose", "Split", "Slice", "Gather", "Concat")


def nodes_of(path):
    """All nodes, and those that compute."""
    report = support.WORK / "contrib_report.json"
    support.vireo("convert", path, "-o", support.WORK / "contrib_report.vireo", "--report", report)
    ops = json.loads(report.read_text())["ops"]
    return sum(ops.values()), sum(n for op, n in ops.items() if op not in MOVES)


def saved_by_optimiser(path, out):
    """What ONNX Runtime's own optimiser leaves; False with the reason where it does not run here."""
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(out)
    onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def saved_by_transformers(path, out):
    import logging
    from onnxruntime.transformers import optimizer
    logging.disable(logging.WARNING)
    kind = {"deit": "vit", "digi": "vit", "whis": "bart", "lm_m": "gpt2", "lm_d": "gpt2", "llam": "gpt2"}.get(path.stem[:4], "bert")
    optimizer.optimize_model(str(path), model_type=kind, opt_level=0).save_model_to_file(str(out))
    logging.disable(logging.NOTSET)


def feed_of(model):
    """Drawn inputs; each name of a dimension is an extent of its own."""
    import numpy as np
    rng, extents, feed = np.random.default_rng(1), {}, {}
    known = {i.name for i in model.graph.initializer}
    for info in model.graph.input:
        if info.name in known:
            continue
        t = info.type.tensor_type
        dims = [d.dim_value or extents.setdefault(d.dim_param, 2 + len(extents)) for d in t.shape.dim]
        if t.elem_type == FLOAT:
            feed[info.name] = rng.standard_normal(dims).astype("float32")
        else:
            feed[info.name] = rng.integers(0, 2 if "mask" in info.name or "type" in info.name else 16, dims).astype("int32" if t.elem_type == INT32 else "int64")
    return feed


def check_whole(find, save_with):
    """The saved file converts; both converted files agree, to what rounding in another order makes of the outputs."""
    def run(test):
        import numpy as np
        import onnx
        path = find()
        model = onnx.load(str(path))
        saved = support.WORK / f"{path.stem}.saved.onnx"
        save_with(path, saved)
        ours, plain = nodes_of(saved), nodes_of(path)
        print(f"\n{path.stem}: {plain[0]} nodes, {ours[0]} from the saved file of {len(onnx.load(str(saved), load_external_data=False).graph.node)}", flush=True)
        feed = feed_of(model)
        quantized = "int8" in path.stem
        for got, want in zip(run_vireo(saved, feed), run_vireo(path, feed)):
            test.assertEqual(got.shape, want.shape)
            a, b = got.astype("float64"), want.astype("float64")
            test.assertLessEqual(np.abs(a - b).max(initial=0), (1e-1 if quantized else 1e-3) * max(float(b.std()), 1e-6))
        test.assertLessEqual(ours[1], 1.05 * plain[1] + 3)
        saved.unlink()
    return run


def whole_cases():
    import zoo_test
    cases = {}
    for name in WHOLE:
        skeleton = support.SHARED / "zoo" / f"{name}.onnx.gz"
        trained = sorted((support.SHARED / "trained").glob(f"*/{name}.onnx"))
        if not skeleton.exists() and not trained:
            continue

        def find(name=name, skeleton=skeleton, trained=trained):
            if trained:
                return trained[0]
            import onnx
            fill = zoo_test.filler()
            full = support.WORK / f"{name}.onnx"
            onnx.save(fill.fill(fill.load(str(skeleton))), str(full))
            return full
        cases[f"optimiser_{name}"] = check_whole(find, saved_by_optimiser)
        if not support.missing("sympy") and name.split("_")[0] in ("bert", "deit", "whisper", "llama", "lm", "digit") and "mobile" not in name:
            cases[f"transformers_{name}"] = check_whole(find, saved_by_transformers)
    if support.missing("sympy"):
        print("left out: onnxruntime.transformers, which wants sympy")
    if not cases:
        print(f"left out: {support.missing(folder='zoo')}")
    return cases


def table():
    return {**attention_cases(), **plain_cases(), **codes_cases(), **{"refuses_" + k: v for k, v in refusals().items()}, **whole_cases()}


reason = support.missing("numpy", "onnx", "onnxruntime")
Contrib = support.cases(reason, {} if reason else table())

if __name__ == "__main__":
    support.main()
