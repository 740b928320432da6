"""Operators of com.microsoft that came before the standard's, say in one node what the standard says in a few, or are decoders'
forms; and ONNX's first experiments. Compared with ONNX Runtime where its CPU kernels have them, with formulas otherwise."""
import support
from contrib_test import B, D, H, N, bad, check, codes, ragged, save, session


def transformed(op, *shapes, outputs=("y",), ints=None, **attributes):
    """A node whose inputs are drawn; `ints`: inputs that are given, as constants."""
    def build(c):
        inputs = [c.input(f"x{i}", c.real(*shape)) for i, shape in enumerate(shapes)]
        inputs += [c.constant(v) if v is not None else "" for v in ints or ()]
        c.node(op, inputs, list(outputs), **attributes)
    return check(build, outputs)


def first_of_each(c):
    c.node("Unique", [c.input("x", c.np.float32([2, 1, 1, 3, 4, 3]))], ["y", "at", "count"])


def group_norm(skip=False, last=True, silu=False):
    def build(c):
        np = c.np
        x, gamma, beta = c.real(2, 4, 5, 6), c.real(6), c.real(6)
        if not last:
            x = x.transpose(0, 3, 1, 2)
        inputs = [c.input("x", x), c.constant(gamma), c.constant(beta)]
        total = x
        if skip:
            other, bias = c.real(2, 6), c.real(6)
            inputs += [c.input("skip", other), c.constant(bias)]
            total = x + (other[:, None, None, :] + bias if last else (other + bias)[:, :, None, None])
        c.node("SkipGroupNorm" if skip else "GroupNorm", inputs, ["y", "sum"] if skip else ["y"], groups=3, channels_last=int(last), activation=int(silu), epsilon=1e-5)
        v = total if last else total.transpose(0, 2, 3, 1)
        parts = v.reshape(2, -1, 3, 2)
        y = ((parts - parts.mean((1, 3), keepdims=True)) / np.sqrt(parts.var((1, 3), keepdims=True) + 1e-5)).reshape(v.shape) * gamma + beta
        if silu:
            y = y / (1 + np.exp(-y))
        y = y if last else y.transpose(0, 3, 1, 2)
        return {"y": y.astype("float32"), "sum": total.astype("float32")}
    return check(build, ("y", "sum") if skip else ("y",))


def bias_softmax(shape, bias, axis, inner):
    def build(c):
        x, b = c.real(*shape), c.real(*bias)
        c.node("BiasSoftmax", [c.input("x", x), c.input("b", b)], ["y"], axis=axis, is_inner_broadcast=inner)
        rows = (x + b).reshape(int(c.np.prod(shape[:axis])), -1)
        e = c.np.exp(rows - rows.max(1, keepdims=True))
        return {"y": (e / e.sum(1, keepdims=True)).reshape(shape).astype("float32")}
    return check(build)


def transform(inverse=False):
    def build(c):
        x = c.real(2, 3, 10)
        y = c.np.fft.rfft(x)
        parts = c.np.stack([y.real, y.imag], -1).astype("float32")
        c.node("Irfft" if inverse else "Rfft", [c.input("x", parts if inverse else x)], ["y"], signal_ndim=1, normalized=0, onesided=1)
        return {"y": x if inverse else parts}
    return check(build)


def product_of_16(c):
    c.node("MatMulInteger16", [c.input("a", c.rng.integers(-900, 900, (3, 4)).astype("int16")), c.input("b", c.rng.integers(-900, 900, (4, 5)).astype("int16"))], ["y"])


def nhwc_conv(c):
    x, w, b, z = c.real(2, 6, 5, 3), c.real(4, 3, 3, 3), c.real(4), c.real(2, 6, 5, 4)
    c.node("NhwcFusedConv", [c.input("x", x), c.constant(w), c.constant(b), c.input("z", z)], ["y"], kernel_shape=[3, 3], pads=[1, 1, 1, 1], activation="Relu")
    np = c.np
    p = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    y = sum(p[:, i:i + 6, j:j + 5] @ w[:, :, i, j].T for i in range(3) for j in range(3)) + b + z
    return {"y": np.maximum(y, 0).astype("float32")}


def experiment(op, formula, **attributes):
    """ONNX's first experiments, of its own domain."""
    def build(c):
        x = c.real(1, 3, 6, 7)
        c.node(op, [c.input("x", x)], ["y"], domain="", **attributes)
        return {"y": formula(c.np, x).astype("float32")}
    return check(build)


def rows_of_codes(dtype, block=16, bits=None, zeros=False, gather=0, quantize=1, indices=(2, 2)):
    """An embedding in blocks of codes. `bits`: of codes packed in bytes."""
    def build(c):
        import onnx
        from onnx import helper
        np, blocks = c.np, 64 // block
        shape, scale_shape = ((9, 64), (9, blocks)) if quantize == 1 else ((64, 9), (blocks, 9))
        low, high = {"int4": (-8, 8), "uint4": (0, 16), "uint8": (0, 1 << (bits or 8))}[dtype]
        at, scales = c.rng.integers(0, shape[gather], indices), c.rng.uniform(0.5, 1.5, scale_shape).astype("float32")

        def stored(values):
            name = f"c{len(c.constants)}"
            if dtype != "uint8":
                c.constants.append(helper.make_tensor(name, getattr(onnx.TensorProto, dtype.upper()), values.shape, values.reshape(-1)))
                return name
            each = 8 // bits
            wide = np.pad(values, ((0, 0), (0, -values.shape[1] % each))).reshape(values.shape[0], -1, each)
            return c.constant((wide << (np.arange(each) * bits)).sum(-1).astype("uint8"))
        codes, zero = c.rng.integers(low, high, shape), c.rng.integers(low, high, scale_shape)
        inputs = [stored(codes), c.input("at", at), c.constant(scales)] + ([stored(zero)] if zeros else [])
        extra = {"bits": bits} if bits else {}
        c.node("GatherBlockQuantized", inputs, ["y"], block_size=block, gather_axis=gather, quantize_axis=quantize, **extra)
        if not zeros:
            zero = np.full(scale_shape, (1 << (bits - 1)) if bits else 0)
        table = (codes - zero.repeat(block, quantize)) * scales.repeat(block, quantize)
        return {"y": np.take(table, at, gather).astype("float32")}
    return check(build)


def dynamic_lstm(directions=1, rows=False, dtype="uint8", narrow=False, runtime=False):
    """The real numbers are run where int8 does not hold the weights, and the formula is theirs. Else x is rounded to 8 bits as ONNX
    Runtime does it, and h with one scale for all steps, where ONNX Runtime has one for each. runtime: its answer, within roundings."""
    def build(c):
        np, T, I, Hidden = c.np, 3, 4, 5
        x = c.real(T, B, I)
        scale = lambda: c.rng.uniform(0.005, 0.01, (directions, 4 * Hidden) if rows else (directions,)).astype("float32")
        drawn = lambda *shape: codes(c, directions, *shape, 4 * Hidden, dtype=dtype)
        made = lambda *shape: np.clip(drawn(*shape), 3, 247) if narrow else drawn(*shape)  # 3 - 131 and 247 - 120 are ends of int8
        w, r, ws, rs = made(I), made(Hidden), scale(), scale()
        zeros = (0, 0) if dtype == "int8" else (120, 131)
        wz, rz, bias = np.full(ws.shape, zeros[0], dtype), np.full(rs.shape, zeros[1], dtype), c.real(directions, 8 * Hidden) / 4
        inputs = [c.input("x", x), c.constant(w), c.constant(r), c.constant(bias), "", "", "", "", *map(c.constant, (ws, wz, rs, rz))]
        c.node("DynamicQuantizeLSTM", inputs, ["y"], hidden_size=Hidden, direction="bidirectional" if directions == 2 else "forward")
        if runtime:
            return None
        integers = all((q.astype(int) - z).max() < 128 and (q.astype(int) - z).min() >= -128 for q, z in ((w, zeros[0]), (r, zeros[1])))
        if integers:
            s = (max(x.max(), 0) - min(x.min(), 0)) / np.float32(255)
            zero = np.round(-min(x.min(), 0) / s)
            x = (np.clip(np.round(x / s) + zero, 0, 255) - zero) * s
        seen = lambda h: (np.clip(np.round(h * 127.5) + 128, 0, 255) - 128) / 127.5 if integers else h
        real = lambda q, s, z, d: (q[d].astype("float64") - z[d]) * s[d]
        logistic, out = lambda v: 1 / (1 + np.exp(-v)), np.zeros((T, directions, B, Hidden))
        for d in range(directions):
            h, m = np.zeros((B, Hidden)), np.zeros((B, Hidden))
            for t in range(T) if d == 0 else reversed(range(T)):
                i, o, f, g = np.split(x[t] @ real(w, ws, wz, d) + seen(h) @ real(r, rs, rz, d) + bias[d, :4 * Hidden] + bias[d, 4 * Hidden:], 4, 1)
                m = logistic(f) * m + logistic(i) * np.tanh(g)
                h = logistic(o) * np.tanh(m)
                out[t, d] = h
        return {"y": out.astype("float32")}
    # A step of h is off by 1/255 here and less there, so a gate by sum |r| / 255 <= 5 * 1.28 / 255; a gate's slope is 1/4 mostly.
    return check(build, atol=0.03 if runtime else 0)


def one_query(mask=False, past=0, bias=False):
    """ONNX Runtime's CPU kernel is for caches of a fixed length alone; MultiHeadAttention says the same."""
    def build(c):
        outputs = ["y", "k2", "v2"]
        q, k, v = (c.input(n, c.real(B, 1, H)) for n in "qkv")
        masked = c.input("mask", ragged(c, past + 1, first=past)) if mask else ""
        cache = [c.input(n, c.real(B, N, past, D)) if past else "" for n in ("past_k", "past_v")]
        added = c.constant(c.real(3 * H)) if bias else ""
        c.node("MultiHeadAttention", [q, k, v, added, masked, "", *cache], outputs, num_heads=N)
        path = save(c.model(outputs), "answer")
        answers = dict(zip(outputs, session(path).run(None, c.feed)))
        path.unlink()
        c.nodes.clear()
        c.node("DecoderMaskedMultiHeadAttention", [q, k, v, masked, "", *cache, "", "", "", added], outputs, num_heads=N)
        return answers
    return check(build, ("y", "k2", "v2"))


def standard_cases():
    i64 = lambda *v: __import__("numpy").array(v, "int64")
    i32 = lambda v: __import__("numpy").array(v, "int32")
    return {
        "transpose_matmul": transformed("TransposeMatMul", (2, 4, 3), (2, 4, 5), transA=1, alpha=0.5), "matmul_activation": check(activated_product),
        "expand_dims": transformed("ExpandDims", (2, 3), ints=[i32(1)]), "expand_dims_last": transformed("ExpandDims", (2, 3), ints=[i32(-1)]),
        "pad": transformed("Pad", (2, 3), ints=[i64(1, 0, 0, 2)]), "pad_rank_2": transformed("Pad", (2, 3), ints=[i64(1, 0, 0, 2).reshape(1, 4)]), "pad_edge": transformed("Pad", (2, 3), ints=[i64(1, 0, 0, 2)], mode="edge"),
        "range": transformed("Range", ints=[i32(2), i32(9), i32(3)]), "range_by_one": transformed("Range", ints=[i32(2), i32(9)]),
        "trilu": transformed("Trilu", (4, 5), upper=1), "trilu_lower": transformed("Trilu", (2, 4, 5), ints=[i64(1).reshape(())], upper=0),
        "gather_nd": transformed("GatherND", (3, 4), ints=[i64(0, 1, 2, 3).reshape(2, 2)]), "gather_nd_32": transformed("GatherND", (3, 4), ints=[i32([[0], [2]])]),
        "grid_sample": transformed("GridSample", (1, 2, 4, 5), (1, 3, 3, 2)), "grid_sample_border": transformed("GridSample", (1, 2, 4, 5), (1, 3, 3, 2), mode="nearest", padding_mode="border", align_corners=1),
        "unique": check(first_of_each, ("y", "at", "count")), "distances": transformed("CDist", (3, 4), (5, 4), metric="euclidean"), "distances_squared": transformed("CDist", (3, 4), (5, 4), metric="sqeuclidean"),
        "bias_softmax": bias_softmax((2, 3, 5), (2, 1, 5), 2, 1), "bias_softmax_outer": bias_softmax((2, 3, 5), (3, 5), 2, 0), "bias_softmax_joined": bias_softmax((2, 3, 5), (3, 5), 1, 0),
        "group_norm": group_norm(), "group_norm_silu": group_norm(silu=True), "group_norm_first": group_norm(last=False), "skip_group_norm": group_norm(skip=True, silu=True), "skip_group_norm_first": group_norm(skip=True, last=False),
        "rfft": transform(), "irfft": transform(inverse=True), "product_of_16_bits": check(product_of_16), "nhwc_conv": check(nhwc_conv),
        "affine": experiment("Affine", lambda np, x: 2 * x - 0.5, alpha=2.0, beta=-0.5), "scaled_tanh": experiment("ScaledTanh", lambda np, x: 1.5 * np.tanh(0.5 * x), alpha=1.5, beta=0.5),
        "parametric_softplus": experiment("ParametricSoftplus", lambda np, x: 0.5 * np.log1p(np.exp(2 * x)), alpha=0.5, beta=2.0),
        "image_scaler": experiment("ImageScaler", lambda np, x: 0.25 * x + np.float32([1, 2, 3]).reshape(3, 1, 1), scale=0.25, bias=[1.0, 2.0, 3.0]),
        "crop": experiment("Crop", lambda np, x: x[:, :, 2:-1, 1:-2], border=[1, 2, 2, 1]), "crop_scale": experiment("Crop", lambda np, x: x[:, :, 2:5, 1:3], border=[1, 2, 0, 0], scale=[3, 2]),
        "rows_int4": rows_of_codes("int4"), "rows_uint4_zeros": rows_of_codes("uint4", zeros=True), "rows_along_blocks": rows_of_codes("int4", gather=1), "columns_uint4": rows_of_codes("uint4", gather=1, quantize=0, zeros=True),
        "rows_bytes_4": rows_of_codes("uint8", bits=4), "rows_bytes_4_zeros": rows_of_codes("uint8", bits=4, zeros=True, block=64), "rows_bytes_8": rows_of_codes("uint8", bits=8, indices=(3,)), "rows_bytes_2": rows_of_codes("uint8", bits=2, zeros=True),
        "dynamic_lstm": dynamic_lstm(), "dynamic_lstm_rows": dynamic_lstm(rows=True), "dynamic_lstm_both": dynamic_lstm(directions=2),
        "dynamic_lstm_integers": dynamic_lstm(dtype="int8"), "dynamic_lstm_integers_rows": dynamic_lstm(2, True, "int8"),
        "dynamic_lstm_narrow": dynamic_lstm(2, narrow=True), "dynamic_lstm_as_theirs": dynamic_lstm(2, True, "int8", runtime=True),
        "one_query": one_query(), "one_query_past": one_query(past=4), "one_query_mask": one_query(past=4, mask=True), "one_query_bias": one_query(past=3, bias=True),
    }


def activated_product(c):
    a, b = c.real(3, 4), c.real(4, 5)
    c.node("FusedMatMulActivation", [c.input("a", a), c.input("b", b)], ["y"], activation="Relu", alpha=2.0)
    return {"y": c.np.maximum(2 * (a @ b), 0)}


def refusals():
    return {
        "one_query_buffer": bad("DecoderMaskedMultiHeadAttention", (B, 1, H), (B, 1, H), (B, 1, H), num_heads=N, past_present_share_buffer=1, words=["share_buffer", "help"]),
        "rows_axis": bad("GatherBlockQuantized", (9, 64), (2,), (9, 4), types={0: "uint8", 1: "int64"}, gather_axis=5, block_size=16, words=["gather_axis"]),
        "distances_metric": bad("CDist", (2, 3), (2, 3), metric="cosine", words=["metric", "help"]),
        "rfft_both_sides": bad("Rfft", (2, 8), signal_ndim=2, words=["help"]),
        "expand_dims_axis": bad("ExpandDims", (2, 3), None, words=["missing"]),
    }


reason = support.missing("numpy", "onnx", "onnxruntime")
Standard = support.cases(reason, {} if reason else {**standard_cases(), **{"refuses_" + k: v for k, v in refusals().items()}})

if __name__ == "__main__":
    support.main()
