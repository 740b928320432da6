"""vireo quantize and convert --quantize int8: an ONNX file and sample data in, a model that computes in integers out. What leaves as
QDQ runs in ONNX Runtime to the same answers, a recipe that nobody edited gives the same bytes, and bad data end in an error that
names them and leaves nothing behind."""
import json
import re

import support

WORK = support.room("static_int8")


def network(np, spread=1.0):
    """Conv, depthwise, residual, pool, squeeze and excite, two heads: what small networks are made of. spread: of its channels' sizes."""
    import onnx
    from onnx import helper, numpy_helper
    rng = np.random.default_rng(5)
    constants, nodes = {}, []

    def weight(name, *shape):
        w = rng.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))
        constants[name] = w.astype(np.float32)
        return name

    def conv(name, x, n, k, size=1, group=1, act="Relu", strides=1):
        nodes.append(helper.make_node("Conv", [x, weight(name + ".w", n, k, size, size), weight(name + ".b", n)], [name + ".conv"], name=name,
                                      pads=[size // 2] * 4, group=group, strides=[strides] * 2))
        if act:
            nodes.append(helper.make_node(act, [name + ".conv"], [name + ".out"], name=name + "." + act))
            return name + ".out"
        return name + ".conv"

    a = conv("stem", "image", 8, 3, 3, strides=2)
    b = conv("dw", a, 8, 1, 3, group=8)
    c = conv("project", b, 8, 8, act=None)
    nodes.append(helper.make_node("Add", [a, c], ["sum"], name="residual"))
    nodes.append(helper.make_node("MaxPool", ["sum"], ["pooled"], name="pool", kernel_shape=[2, 2], strides=[2, 2]))
    d = conv("expand", "pooled", 16, 8, act="HardSwish")
    nodes.append(helper.make_node("GlobalAveragePool", [d], ["mean"], name="gap"))
    gate = conv("gate", "mean", 16, 16, act="HardSigmoid")
    nodes.append(helper.make_node("Mul", [d, gate], ["gated"], name="excite"))
    e = conv("last", "gated", 16, 16)
    nodes.append(helper.make_node("GlobalAveragePool", [e], ["features"], name="gap2"))
    nodes.append(helper.make_node("Flatten", ["features"], ["flat"], name="flatten"))
    nodes.append(helper.make_node("Gemm", ["flat", weight("fc.w", 5, 16), weight("fc.b", 5)], ["logits"], name="fc", transB=1))
    if spread > 1:  # a factor on each channel and its inverse behind Relu
        s = np.geomspace(1, spread, 8).astype(np.float32)
        constants["stem.w"] *= s[:, None, None, None]
        constants["stem.b"] *= s
        constants["dw.w"] /= s[:, None, None, None]
        nodes[:] = [n for n in nodes if n.name not in ("residual",)]
        for n in nodes:
            n.input[:] = ["project.conv" if i == "sum" else i for i in n.input]
    real = onnx.TensorProto.FLOAT
    graph = helper.make_graph(nodes, "net", [helper.make_tensor_value_info("image", real, ["batch", 3, 16, 16])],
                              [helper.make_tensor_value_info("logits", real, ["batch", 5])], [numpy_helper.from_array(v, k) for k, v in constants.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def made(spread=1.0):
    """The model and its data, in the work folder."""
    import numpy as np
    import onnx
    model, data = WORK / f"net{spread:g}.onnx", WORK / "samples.npz"
    if not model.exists():
        onnx.save(network(np, spread), model)
    if not data.exists():
        np.savez(data, image=np.random.default_rng(3).standard_normal((24, 3, 16, 16)).astype(np.float32))
    return model, data


def run(model, x):
    import numpy as np
    np.save(WORK / "x.npy", x)
    support.vireo("run", model, "--input", f"image={WORK / 'x.npy'}", "--output", WORK / "y.npz")
    return np.load(WORK / "y.npz")["logits"]


def ort(path, x):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return session.run(None, {session.get_inputs()[0].name: x})[0]


def signal_to_noise(np, reference, other):
    return 10 * np.log10((reference ** 2).sum() / ((reference - other) ** 2).sum())


def quantize(model, name, *arguments):
    out = WORK / (name + ".vireo")
    if support.PRELOAD and "--memory" not in arguments:  # a sanitizer's own memory is part of what the process holds
        arguments = (*arguments, "--memory", "8G")
    done = support.vireo("quantize", model, "-o", out, *arguments, "--json")
    return out, json.loads(done.stdout)


def near_the_float_model(test):
    import numpy as np
    model, data = made()
    out, report = quantize(model, "near", "--data", data)
    x = np.random.default_rng(8).standard_normal((32, 3, 16, 16)).astype(np.float32)
    test.assertGreater(signal_to_noise(np, ort(model, x), run(out, x)), 20)
    facts = json.loads(support.vireo("inspect", out, "--json").stdout)
    test.assertTrue(facts["integer_only"], facts.get("float_nodes"))
    layers = report["quantization"]["layers"]
    test.assertEqual(sorted(layers), ["dw", "expand", "fc", "gate", "last", "project", "stem"])
    for name, layer in layers.items():
        test.assertGreater(layer["sqnr_db"], 20, name)
        test.assertGreater(layer["sqnr_db"], layer["accumulated_db"] - 1, name)


def the_qdq_file_says_the_same(test):
    import numpy as np
    import onnx
    model, data = made()
    qdq = WORK / "net.qdq.onnx"
    out, _ = quantize(model, "qdq", "--data", data, "--emit-onnx", qdq)
    exported = onnx.load(qdq)
    onnx.checker.check_model(exported, full_check=True)
    test.assertGreaterEqual(exported.opset_import[0].version, 21)
    test.assertIn("QuantizeLinear", {n.op_type for n in exported.graph.node})
    x = np.random.default_rng(8).standard_normal((32, 3, 16, 16)).astype(np.float32)
    ours, theirs = run(out, x), ort(qdq, x)
    # A code of the result, where float sums and integer ones lie on two sides of a half; seldom two.
    codes = {n.output[0]: n for n in exported.graph.node}
    scale = onnx.numpy_helper.to_array(next(i for i in exported.graph.initializer if i.name == codes["logits"].input[1]))
    test.assertLessEqual(np.abs(ours - theirs).max(), 2.01 * scale)
    test.assertGreater((np.abs(ours - theirs) < 0.01 * scale).mean(), 0.8)
    again = support.convert(qdq, "static_int8/qdq_again")
    test.assertTrue(np.array_equal(run(again, x), ours))


def other_formats_say_the_same_in_onnx_runtime(test):
    """w8a16 and w4a8: nearer to the float model, and smaller; as QDQ of int16 and int4 the same answers."""
    import numpy as np
    import onnx
    model, data = made()
    x = np.random.default_rng(8).standard_normal((32, 3, 16, 16)).astype(np.float32)
    reference = ort(model, x)
    least, heard, bytes_of = {"w8a8": 20, "w8a16": 32, "w4a8": 8}, {}, {}
    for scheme in least:
        qdq = WORK / f"{scheme}.qdq.onnx"
        out, report = quantize(model, scheme, "--data", data, "--scheme", scheme, "--emit-onnx", qdq)
        exported = onnx.load(qdq)
        onnx.checker.check_model(exported, full_check=True)
        ours, theirs = run(out, x), ort(qdq, x)
        heard[scheme] = signal_to_noise(np, reference, ours)
        bytes_of[scheme] = sum(layer["bytes"] for layer in report["quantization"]["layers"].values())
        test.assertGreater(heard[scheme], least[scheme], scheme)
        constants = {i.name: onnx.numpy_helper.to_array(i) for i in exported.graph.initializer}
        made_by = {n.output[0]: n for n in exported.graph.node}
        scale = constants[made_by["logits"].input[1]]
        # Codes of 16 bits: the float file rounds sums in float32, whose steps are a few codes here.
        test.assertLessEqual(np.abs(ours - theirs).max(), (16 if scheme == "w8a16" else 2.01) * scale, scheme)
        test.assertTrue(np.array_equal(run(support.convert(qdq, "static_int8/again_" + scheme), x), ours), scheme)
        types = {i.data_type for i in exported.graph.initializer}
        test.assertEqual(onnx.TensorProto.INT4 in types, scheme == "w4a8")
        test.assertEqual(onnx.TensorProto.INT16 in types, scheme == "w8a16")
    test.assertGreater(heard["w8a16"], heard["w8a8"] + 3)
    test.assertLess(heard["w4a8"], heard["w8a8"])
    test.assertLess(bytes_of["w4a8"], 0.51 * bytes_of["w8a8"])


def a_recipe_gives_layers_their_format(test):
    import numpy as np
    model, data = made()
    recipe = WORK / "mixed.json"
    recipe.write_text(json.dumps({"vireo_recipe": 1, "layers": {"fc": {"format": "w8a16"}, "expand": {"format": "w4a8"}}}))
    saved = WORK / "mixed_saved.json"
    out, _ = quantize(model, "mixed", "--data", data, "--recipe", recipe, "--save-recipe", saved)
    test.assertEqual(json.loads(saved.read_text())["layers"], {"fc": {"format": "w8a16"}, "expand": {"format": "w4a8"}})
    x = np.random.default_rng(8).standard_normal((32, 3, 16, 16)).astype(np.float32)
    test.assertGreater(signal_to_noise(np, ort(model, x), run(out, x)), 15)
    again, _ = quantize(model, "mixed_again", "--data", data, "--recipe", saved)
    test.assertEqual(out.read_bytes(), again.read_bytes())


def an_unedited_recipe_gives_the_same_bytes(test):
    model, data = made()
    recipe = WORK / "recipe.json"
    first, _ = quantize(model, "first", "--data", data, "--save-recipe", recipe)
    for verb in (("quantize", "--data"), ("convert", "--calibrate")):
        out = WORK / "second.vireo"
        support.vireo(verb[0], model, "-o", out, verb[1], data, "--recipe", recipe)
        test.assertEqual(first.read_bytes(), out.read_bytes())


def ranges_of_a_recipe_need_no_data(test):
    import numpy as np
    model, data = made()
    recipe = WORK / "kept_bias.json"
    recipe.write_text(json.dumps({"vireo_recipe": 1, "condition": [], "defaults": {"bias": "keep", "rounding": "nearest"}}))
    whole = WORK / "whole.json"
    with_data, _ = quantize(model, "with_data", "--data", data, "--recipe", recipe, "--save-recipe", whole)
    without, _ = quantize(model, "without", "--recipe", whole)
    x = np.random.default_rng(8).standard_normal((4, 3, 16, 16)).astype(np.float32)
    test.assertTrue(np.array_equal(run(with_data, x), run(without, x)))


def a_layer_that_is_kept_stays_in_float(test):
    model, data = made()
    recipe = WORK / "edited.json"
    quantize(model, "before", "--data", data, "--save-recipe", recipe)
    edited = json.loads(recipe.read_text())
    edited["layers"] = {"f*": {"keep": True}, "flatten": {"keep": False}}
    recipe.write_text(json.dumps(edited))
    out, report = quantize(model, "edited", "--data", data, "--recipe", recipe)
    test.assertEqual(report["quantization"]["float"], {"fc": "the recipe keeps it in float"})
    test.assertNotIn("fc", report["quantization"]["layers"])
    test.assertFalse(json.loads(support.vireo("inspect", out, "--json").stdout)["integer_only"])


def equalised_channels_are_as_good_as_even_ones(test):
    import numpy as np
    model, data = made(300.0)
    x = np.random.default_rng(8).standard_normal((32, 3, 16, 16)).astype(np.float32)
    reference = ort(model, x)
    off = WORK / "off.json"
    off.write_text(json.dumps({"vireo_recipe": 1, "condition": [], "defaults": {"weights": "tensor"}}))
    on = WORK / "on.json"
    on.write_text(json.dumps({"vireo_recipe": 1, "condition": [{"equalise": "*"}], "defaults": {"weights": "tensor"}}))
    without, _ = quantize(model, "spread_off", "--data", data, "--recipe", off)
    repaired, report = quantize(model, "spread_on", "--data", data, "--recipe", on)
    test.assertGreater(signal_to_noise(np, reference, run(repaired, x)), signal_to_noise(np, reference, run(without, x)) + 6)
    test.assertGreater(report["quantization"]["equalised"]["stem.out"]["gain_db"], 6)


def detector(np):
    """A trunk and two branches, whose boxes in pixels and scores are joined as the output."""
    import onnx
    from onnx import helper, numpy_helper
    rng = np.random.default_rng(9)
    constants, nodes = {}, []

    def conv(name, x, n, k, scale=1.0, act="HardSwish"):
        constants[name + ".w"] = (scale * rng.standard_normal((n, k, 3, 3)) / np.sqrt(9 * k)).astype(np.float32)
        constants[name + ".b"] = (scale * rng.standard_normal(n)).astype(np.float32)
        nodes.append(helper.make_node("Conv", [x, name + ".w", name + ".b"], [name + ".conv"], name=name, pads=[1] * 4))
        if act:
            nodes.append(helper.make_node(act, [name + ".conv"], [name + ".out"], name=name + "." + act))
        return name + (".out" if act else ".conv")

    a = conv("trunk1", conv("trunk0", "image", 16, 3), 16, 16)
    boxes = conv("boxes", conv("left", a, 4, 16), 4, 4, 20, None)
    scores = conv("scores", conv("right", a, 4, 16), 3, 4, 1, None)
    nodes.append(helper.make_node("Concat", [boxes, scores], ["raw"], name="join", axis=1))
    real = onnx.TensorProto.FLOAT
    graph = helper.make_graph(nodes, "det", [helper.make_tensor_value_info("image", real, ["batch", 3, 16, 16])],
                              [helper.make_tensor_value_info("raw", real, ["batch", 7, 16, 16])], [numpy_helper.from_array(v, k) for k, v in constants.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def outputs_that_are_joined_take_16_bits(test):
    """Where boxes and scores come from, and nothing of a classifier. A recipe that names the values needs no search."""
    import numpy as np
    import onnx
    _, data = made()
    model, recipe, none = WORK / "det.onnx", WORK / "det.json", WORK / "det_none.json"
    onnx.save(detector(np), model)
    none.write_text(json.dumps({"vireo_recipe": 1, "wide": []}))
    x = np.random.default_rng(8).standard_normal((8, 3, 16, 16)).astype(np.float32)
    reference, heard, files = ort(model, x), {}, {}
    for name, more in (("wide", ("--save-recipe", recipe)), ("narrow", ("--recipe", none))):
        files[name], report = quantize(model, "det_" + name, "--data", data, *more)
        np.save(WORK / "x.npy", x)
        support.vireo("run", files[name], "--input", f"image={WORK / 'x.npy'}", "--output", WORK / "y.npz")
        y = np.load(WORK / "y.npz")["raw"]
        heard[name] = [signal_to_noise(np, reference[:, c], y[:, c]) for c in (slice(0, 4), slice(4, 7))]
        wide = report["quantization"]["wide"]
        test.assertEqual("boxes.conv" in wide and "scores.conv" in wide, name == "wide", wide)
        test.assertNotIn("trunk0.out", wide)
        test.assertEqual(report["quantization"]["integer_share"], 1)
    for wide, narrow in zip(heard["wide"], heard["narrow"]):
        test.assertGreater(wide, narrow + 1)
    again, _ = quantize(model, "det_again", "--data", data, "--recipe", recipe)
    test.assertEqual(files["wide"].read_bytes(), again.read_bytes())
    _, report = quantize(made()[0], "classifier", "--data", data)
    test.assertEqual(report["quantization"]["wide"], [])


def transformer(np, joined, mask=None):
    """Two blocks of attention with their normalisations; q, k and v by three products, or by one. mask: what is added to scores of later rows."""
    import onnx
    from onnx import helper, numpy_helper
    rows, heads, size = 9, 2, 8
    channels = heads * size
    rng = np.random.default_rng(4)
    constants, nodes = {}, []

    def constant(name, value):
        constants[name] = np.asarray(value)
        return name

    def add(op, inputs, name, **attributes):
        nodes.append(helper.make_node(op, inputs, [name], name=name, **attributes))
        return name

    def product(name, x, columns, factor=1.0):
        w = (factor * rng.standard_normal((channels, columns)) / np.sqrt(channels)).astype(np.float32)
        y = add("MatMul", [x, constant(name + ".w", w)], name + ".product")
        return add("Add", [y, constant(name + ".b", 0.1 * w[0])], name)

    x = "x"
    for b in ("a", "b"):
        n = add("LayerNormalization", [x, constant(b + ".g", np.ones(channels, np.float32)), constant(b + ".s", np.zeros(channels, np.float32))], b + ".n")
        if joined:
            parts = [b + ".q", b + ".k", b + ".v"]
            nodes.append(helper.make_node("Split", [product(b + ".qkv", n, 3 * channels, 1.5), constant(b + ".sizes", np.array([channels] * 3))], parts, axis=-1))
        else:
            parts = [product(f"{b}.{p}", n, channels, 1.5) for p in "qkv"]
        apart = [add("Reshape", [p, constant(p + ".shape", np.array([0, rows, heads, size]))], p + ".apart") for p in parts]
        q, k, v = (add("Transpose", [p], p + ".heads", perm=[0, 2, 3, 1] if p.startswith(b + ".k") else [0, 2, 1, 3]) for p in apart)
        scores = add("Mul", [add("MatMul", [q, k], b + ".scores"), constant(b + ".scale", np.float32(size ** -0.5))], b + ".scaled")
        if mask is not None:
            scores = add("Add", [scores, constant(b + ".mask", np.triu(np.full((rows, rows), mask, np.float32), 1))], b + ".masked")
        y = add("MatMul", [add("Softmax", [scores], b + ".shares", axis=-1), v], b + ".attention")
        y = add("Reshape", [add("Transpose", [y], b + ".rows", perm=[0, 2, 1, 3]), constant(b + ".all", np.array([0, rows, channels]))], b + ".joined")
        x = add("Add", [product(b + ".out", y, channels), x], b + ".sum")
    x = product("head", x, 5)
    real = onnx.TensorProto.FLOAT
    graph = helper.make_graph(nodes, "vit", [helper.make_tensor_value_info("x", real, ["batch", rows, channels])],
                              [helper.make_tensor_value_info(x, real, ["batch", rows, 5])], [numpy_helper.from_array(v, k) for k, v in constants.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def attention_computes_on_integers(test):
    """Both products of attention, also of what came before alone: no share in float, one node of the file, and the same answers as QDQ elsewhere. A recipe keeps one in float."""
    import numpy as np
    import onnx
    data = WORK / "rows.npz"
    np.savez(data, x=np.random.default_rng(3).standard_normal((24, 9, 16)).astype(np.float32))
    x = np.random.default_rng(8).standard_normal((16, 9, 16)).astype(np.float32)
    np.save(WORK / "rows.npy", x)

    def answer(model):
        support.vireo("run", model, "--input", f"x={WORK / 'rows.npy'}", "--output", WORK / "rows_y.npz")
        return np.load(WORK / "rows_y.npz")["head"]

    for joined, mask in ((False, None), (True, None), (False, -1e9), (True, -np.inf)):
        model, recipe, qdq = WORK / f"vit{joined:d}.onnx", WORK / "vit.json", WORK / f"vit{joined:d}.qdq.onnx"
        onnx.save(transformer(np, joined, mask), model)
        reference = ort(model, x)
        out, report = quantize(model, f"vit{joined:d}", "--data", data, "--save-recipe", recipe, "--emit-onnx", qdq)
        test.assertEqual(report["quantization"]["integer_share"], 1)
        names = set(report["quantization"]["layers"])
        test.assertTrue({"a.qkv.product (q)", "b.qkv.product (v)"} <= names if joined else {"a.q.product", "b.v.product"} <= names, names)
        products = {name: layer for name, layer in report["quantization"]["layers"].items() if layer["bytes"] == 0}
        test.assertEqual(set(products), {"a.attention", "a.attention (scores)", "b.attention", "b.attention (scores)"})
        for name, layer in products.items():
            test.assertEqual(layer["op"], "MatMul", name)
            test.assertTrue(20 < layer["accumulated_db"] < layer["sqnr_db"] + 1 < 60, (name, layer))
        kinds = [n["kernel"] for n in json.loads(support.vireo("explain", out, "--device", "cpu", "--json").stdout)["nodes"]]
        test.assertEqual(kinds.count("attention_codes"), 2, kinds)
        ours, theirs = answer(out), ort(qdq, x)
        test.assertGreater(signal_to_noise(np, reference, ours), 25)
        codes = {n.output[0]: n for n in onnx.load(qdq).graph.node}
        constants = {i.name: onnx.numpy_helper.to_array(i) for i in onnx.load(qdq).graph.initializer}
        scale = constants[codes["head"].input[1]]
        test.assertLessEqual(np.abs(ours - theirs).max(), 3.01 * scale)
        test.assertGreater((np.abs(ours - theirs) < 0.01 * scale).mean(), 0.8)
        test.assertTrue(np.array_equal(answer(support.convert(qdq, f"static_int8/vit_again{joined:d}")), ours))
        again, _ = quantize(model, "vit_again", "--data", data, "--recipe", recipe)
        test.assertEqual(out.read_bytes(), again.read_bytes())
        edited = json.loads(recipe.read_text())
        edited["layers"] = {"a.attention": {"keep": True}, "b.attention": {"format": "w8a16"}}
        recipe.write_text(json.dumps(edited))
        kept, report = quantize(model, "vit_kept", "--data", data, "--recipe", recipe)
        test.assertEqual(report["quantization"]["float"], {"a.attention": "the recipe keeps it in float", "b.attention": "products of two values have 8 bits"})
        test.assertLess(report["quantization"]["integer_share"], 1)
        test.assertGreater(signal_to_noise(np, reference, answer(kept)), 25)


def values_quantized_in_the_run(test):
    """int8-dynamic: without data near the float model, a third of its bytes or less, and the same as ONNX Runtime makes of the exported file."""
    import numpy as np
    import onnx
    model, _ = made()
    x = np.random.default_rng(8).standard_normal((32, 3, 16, 16)).astype(np.float32)
    vit = WORK / "vit_dynamic.onnx"
    onnx.save(transformer(np, False), vit)
    rows = np.random.default_rng(8).standard_normal((16, 9, 16)).astype(np.float32)
    for source, name, value, output, kind in ((model, "image", x, "logits", "dynamic_conv_f32_nchw"), (vit, "x", rows, "head", "dynamic_gemm_i8i8f32")):
        out, exported = WORK / "dynamic.vireo", WORK / "dynamic.onnx"
        support.vireo("quantize", source, "-o", out, "--scheme", "int8-dynamic")
        by_quantize = out.read_bytes()
        support.vireo("convert", source, "-o", out, "--quantize", "int8-dynamic", "--emit-onnx", exported, "--check")
        test.assertEqual(out.read_bytes(), by_quantize)
        support.vireo("quantize", source, "--emit-onnx", WORK / "dynamic_2.onnx", "--scheme", "int8-dynamic")
        test.assertEqual(exported.read_bytes(), (WORK / "dynamic_2.onnx").read_bytes())
        np.save(WORK / "in.npy", value)
        support.vireo("run", out, "--input", f"{name}={WORK / 'in.npy'}", "--output", WORK / "out.npz")
        ours = np.load(WORK / "out.npz")[output]
        test.assertGreater(signal_to_noise(np, ort(source, value), ours), 25)
        theirs = ort(exported, value)
        test.assertLess(np.abs(ours - theirs).max(), 0.02 * np.abs(theirs).max())  # but for a code at a tie
        onnx.checker.check_model(onnx.load(exported), full_check=True)
        test.assertIn(kind, {n["kernel"] for n in json.loads(support.vireo("explain", out, "--device", "cpu", "--json").stdout)["nodes"]})
    for option in ("--data", "--recipe", "--save-recipe"):
        said = support.vireo("quantize", model, "-o", WORK / "no.vireo", "--scheme", "int8-dynamic", option, WORK / "some.json", check=False).stderr
        test.assertIn(f"--scheme int8-dynamic takes no {option}: the ranges of values are found in each run", said)
        test.assertIn(f"leave {option} out, or take --scheme w8a8", said)


def a_ceiling_changes_no_byte(test):
    model, data = made()
    free, _ = quantize(model, "free", "--data", data)
    # A sanitizer's own memory is part of what the process holds.
    tight, _ = quantize(model, "tight", "--data", data, "--memory", "1G" if support.PRELOAD else "100M")
    test.assertEqual(free.read_bytes(), tight.read_bytes())


def pictures(np, name, side, channels, layers, samples):
    """A chain of convolutions over pictures of side x side, with random weights, and sample data for it."""
    import onnx
    from onnx import helper, numpy_helper
    rng = np.random.default_rng(7)
    constants, nodes, x, read = {}, [], "image", 3
    for i in range(layers):
        constants[f"w{i}"] = (rng.standard_normal((channels, read, 3, 3)) / np.sqrt(9 * read)).astype(np.float32)
        nodes += [helper.make_node("Conv", [x, f"w{i}"], [f"c{i}"], name=f"c{i}", pads=[1] * 4, strides=[2 if i == 0 else 1] * 2),
                  helper.make_node("Relu", [f"c{i}"], [f"r{i}"], name=f"r{i}")]
        x, read = f"r{i}", channels
    nodes.append(helper.make_node("GlobalAveragePool", [x], ["y"], name="mean"))
    real = onnx.TensorProto.FLOAT
    graph = helper.make_graph(nodes, "pictures", [helper.make_tensor_value_info("image", real, [1, 3, side, side])],
                              [helper.make_tensor_value_info("y", real, [1, channels, 1, 1])], [numpy_helper.from_array(v, k) for k, v in constants.items()])
    model, data = WORK / f"{name}.onnx", WORK / f"{name}.npz"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), model)
    coarse = rng.standard_normal((samples, 3, side // 8, side // 8)).astype(np.float32)
    np.savez_compressed(data, image=np.kron(coarse, np.ones((1, 1, 8, 8), np.float32)))
    return model, data


def a_ceiling_is_kept(test):
    """Whatever it is: the process stays within 5 % above it, as the system counts, or says that it cannot. Bytes are the same."""
    import numpy as np
    if support.PRELOAD:
        test.skipTest("a sanitizer holds memory of its own")
    tensor = WORK / "tensor.json"  # equalising a whole chain, which may turn out not to pay
    tensor.write_text('{"vireo_recipe": 1, "defaults": {"weights": "tensor"}}')
    small = (18, 22, 28, 36, 48, 96)
    # Weights of 18 MiB: what the program has of them at a time is a question of copies, in float and in codes.
    heavy, heavy_data = pictures(np, "heavy", 16, 256, 9, 3)
    models = [(*pictures(np, "chain", 256, 16, 12, 3), small), (*made(), small), (heavy, heavy_data, (50, 66, 100)),
              (heavy, heavy_data, (72,), "--recipe", tensor)]
    least = {}
    for model, data, ceilings, *more in models:
        files, fits, enough = set(), [], 0
        for mib in ceilings:
            out = WORK / "ceiling.vireo"
            out.unlink(missing_ok=True)
            status, peak, said = support.peak_of("quantize", model, "-o", out, "--data", data, "--memory", f"{mib}M", *more)
            if status != 0:
                test.assertLess(peak, 1.05 * (mib << 20), f"{model.stem} in {mib} MiB, which it refused")
                test.assertIn("--memory allows", said)
                enough = int(re.search(r"--memory (\d+)M would do", said).group(1))
                test.assertEqual(fits, [], f"{model.stem}: {mib} MiB do not suffice, and less does")
                continue
            fits.append(mib)
            files.add(out.read_bytes())
            test.assertLess(peak, 1.05 * (mib << 20), f"{model.stem} in {mib} MiB")
        for mib, status in ((enough, 0), (enough * 7 // 10, 1)) if enough else ():
            done, peak, said = support.peak_of("quantize", model, "-o", out, "--data", data, "--memory", f"{mib}M", *more)
            test.assertEqual(done, status, f"{model.stem} in {mib} MiB of {enough} that would do: {said}")
        test.assertEqual(len(files), 1)
        if ceilings[0] == 50:  # three times its weights would be 54 MiB, and the program is some 20 without them
            test.assertIn(50, fits, "the pass has the weights, in no second form, and the program has them on the disk")
        least[model.stem] = fits[0]
    test.assertGreater(least["chain"], 18, "the ceiling that would do was not asked for")
    # Values of 1 MiB each, of which the chain has 12.
    test.assertLessEqual(least["chain"], 40)


def large_pictures_fit(test):
    """1760 x 1760 pixels: less than 512 MB without being asked."""
    import numpy as np
    if support.PRELOAD:
        test.skipTest("a sanitizer holds memory of its own")
    model, data = pictures(np, "large", 1760, 8, 3, 1)
    status, peak, said = support.peak_of("quantize", model, "-o", WORK / "large.vireo", "--data", data)
    test.assertEqual(status, 0, said)
    test.assertLess(peak, 512 << 20)
    data.unlink()


def statistics_are_used_again(test):
    """--stats keeps what the data showed: another recipe runs only what it changes, and gives the bytes that it gives without the file.
    A file that is damaged, or of another model, version or data, is refused by name."""
    import numpy as np
    model, data = made()
    kept, edited = WORK / "again.stats", WORK / "again.json"
    kept.unlink(missing_ok=True)
    plain, report = quantize(model, "alone", "--data", data)
    whole = plain.read_bytes()
    test.assertGreater(report["quantization"]["runs"], 24)
    for runs in (report["quantization"]["runs"], 0):
        out, report = quantize(model, "again", "--data", data, "--stats", kept)
        test.assertEqual(report["quantization"]["runs"], runs)
        test.assertEqual(out.read_bytes(), whole)
    for recipe, none in (({"layers": {"fc": {"keep": True}}}, False), ({"layers": {"expand": {"format": "w4a8"}}}, True), ({"defaults": {"range": "minmax"}}, True),
                         ({"defaults": {"rounding": "nearest"}}, True), ({"defaults": {"weights": "tensor", "bias": "keep"}}, False), ({"condition": []}, False)):
        edited.write_text(json.dumps({"vireo_recipe": 1, **recipe}))
        again, report = quantize(model, "again", "--data", data, "--recipe", edited, "--stats", kept)
        alone, other = quantize(model, "alone", "--data", data, "--recipe", edited)
        test.assertEqual(again.read_bytes(), alone.read_bytes(), recipe)
        test.assertLess(report["quantization"]["runs"], other["quantization"]["runs"], recipe)
        test.assertTrue(report["quantization"]["runs"] == 0 or not none, recipe)
    good = kept.read_bytes()
    test.assertEqual(quantize(model, "again", "--data", data, "--stats", kept)[1]["quantization"]["runs"], 0)

    def refused(why, *arguments):
        out = WORK / "refused.vireo"
        out.unlink(missing_ok=True)
        done = support.vireo("quantize", *arguments, "-o", out, "--stats", kept, check=False)
        test.assertEqual(done.returncode, 1, why)
        test.assertIn(why, done.stderr)
        test.assertIn("help:", done.stderr)
        test.assertFalse(out.exists())

    middle = len(good) // 2
    for bad, why in ((b"", "is no file of statistics"), (b"PK" + good[2:], "is no file of statistics"), (good[:-1], "is damaged"), (good[:middle], "is damaged"),
                     (good[:middle] + bytes([good[middle] ^ 1]) + good[middle + 1:], "is damaged"), (good[:7] + b"0" + good[8:], "another version of vireo")):
        kept.write_bytes(bad)
        refused(f"again.stats {why}" if bad[6:8] != b"T0" else why, model, "--data", data)
        test.assertEqual(kept.read_bytes(), bad)
    kept.write_bytes(good)
    np.savez(WORK / "others.npz", image=2 * np.load(data)["image"])
    refused("of other sample data", model, "--data", WORK / "others.npz")
    spread, _ = made(spread=16)
    refused("is of another model", spread, "--data", data)
    refused("for int8, and w4/32", model, "--data", data, "--scheme", "w4/32")
    refused("no data are given", model, "--recipe", edited)
    test.assertEqual(kept.read_bytes(), good)
    placed = WORK / "placed.stats"
    placed.unlink(missing_ok=True)
    support.vireo("convert", model, "-o", out, "--quantize", "int8", "--calibrate", data, "--stats", placed)
    test.assertTrue(placed.exists())
    test.assertEqual(out.read_bytes(), whole)


def bad_data_and_recipes(test):
    import numpy as np
    model, data = made()
    x = np.load(data)["image"]

    def npz(name, **arrays):
        np.savez(WORK / name, **arrays)
        return WORK / name

    def text(name, content):
        (WORK / name).write_text(content)
        return WORK / name

    nan = x.copy()
    nan[3, 0, 0, 0] = np.nan
    for arguments, said in [
            ((), "int8 needs sample data"),
            (("--data", WORK / "missing.npz"), "missing.npz"),
            (("--data", npz("empty.npz", image=x[:0])), "it holds no samples"),
            (("--data", npz("rank.npz", image=x[0])), "it has 3 dimensions, not 4"),
            (("--data", npz("shape.npz", image=x[:, :2])), "dimension 1 does not fit"),
            (("--data", npz("type.npz", image=x.astype(np.float64))), "another type"),
            (("--data", npz("name.npz", imag=x)), 'no array for the model\'s input "image"'),
            (("--data", npz("nan.npz", image=nan)), 'sample 3 has NaN or an infinite number in the input "image"'),
            (("--data", model), "holds no data that is known"),
            (("--data", data, "--memory", "1M"), "needs"),
            (("--data", data, "--memory", "lots"), "is no amount of memory"),
            (("--data", data, "--recipe", text("bad.json", "{")), "is no JSON"),
            (("--data", data, "--recipe", text("key.json", '{"vireo_recipe": 1, "layer": {}}')), 'did you mean "layers"?'),
            (("--data", data, "--recipe", text("prune.json", '{"vireo_recipe": 1, "prune": []}')), "does not do"),
            (("--data", data, "--recipe", text("other.json", '{"vireo_recipe": 1, "model": "sha256:00"}')), "for another model"),
            (("--data", data, "--recipe", text("layer.json", '{"vireo_recipe": 1, "layers": {"none*": {"keep": true}}}')), "no node of the model"),
            (("--data", data, "--recipe", text("range.json", '{"vireo_recipe": 1, "ranges": {"none": [0, 1]}}')), "the model has no such value"),
            (("--data", data, "--recipe", text("wide.json", '{"vireo_recipe": 1, "wide": ["none"]}')), 'gives 16 bits to "none"'),
            (("--data", data, "--recipe", text("wider.json", '{"vireo_recipe": 1, "wide": "all"}')), "is not a list"),
            (("--recipe", text("plain.json", '{"vireo_recipe": 1}')), "has to be seen on data")]:
        out = WORK / "bad.vireo"
        out.unlink(missing_ok=True)
        done = support.vireo("quantize", model, "-o", out, *arguments, check=False)
        test.assertEqual(done.returncode, 1, (arguments, done.stdout))
        test.assertIn(said, done.stderr, arguments)
        test.assertIn("help:", done.stderr, arguments)
        test.assertFalse(out.exists(), arguments)
        test.assertEqual([p for p in WORK.iterdir() if p.name.startswith(".")], [], arguments)


def huge_numbers_are_named(test):
    """A sample whose squares leave float32 takes all codes: the layers say so, though nothing can be compared."""
    import numpy as np
    model, data = made()
    x = np.load(data)["image"]
    x[1, 0, 0, 0] = 1e37
    np.savez(WORK / "huge.npz", image=x)
    said = support.vireo("quantize", model, "-o", WORK / "huge.vireo", "--data", WORK / "huge.npz").stdout
    test.assertIn("none   none  Conv \"stem\": its input reaches 1e+37: look for a sample with a wrong number", said)


def what_stays_is_said(test):
    """A file beside the model that cannot be written: the model is there, and the error says so."""
    model, data = made()
    out = WORK / "stays.vireo"
    done = support.vireo("quantize", model, "-o", out, "--data", data, "--emit-onnx", "/dev/full", check=False)
    test.assertEqual(done.returncode, 1)
    test.assertIn(f"nothing was written but {out}", " ".join(done.stderr.split()))
    test.assertTrue(out.exists())


def constant_and_dead_values_are_named(test):
    import numpy as np
    import onnx
    model, _ = made()
    dead = onnx.load(model)
    for i in dead.graph.initializer:
        if i.name == "stem.b":
            i.CopyFrom(onnx.numpy_helper.from_array(np.full(8, -1000, np.float32), "stem.b"))
    onnx.save(dead, WORK / "dead.onnx")
    np.savez(WORK / "constant.npz", image=np.ones((3, 3, 16, 16), np.float32))
    out, report = quantize(WORK / "dead.onnx", "dead", "--data", WORK / "constant.npz")
    test.assertIn("stem.out", report["quantization"]["never_fires"])
    x = np.ones((2, 3, 16, 16), np.float32)
    test.assertLess(np.abs(run(out, x) - ort(WORK / "dead.onnx", x)).max(), 0.05)


def data_in_other_forms(test):
    import numpy as np
    import onnx
    models = support.ROOT / "samples" / "models"
    stored = np.load(models / "glyphs_data.npz")
    np.savez(WORK / "glyphs.npz", image=stored["calibration"].astype(np.float32) / 255)
    want, _ = quantize(models / "glyphs.onnx", "glyphs", "--data", WORK / "glyphs.npz")
    got, report = quantize(models / "glyphs.onnx", "glyphs_bytes", "--data", models / "glyphs_data.npz", "--input", "image=calibration")
    test.assertEqual(got.read_bytes(), want.read_bytes())
    test.assertIn("0..255 taken as 0..1", report["quantization"]["assumed"][0])
    folder = WORK / "pictures" / "inner"
    folder.mkdir(parents=True, exist_ok=True)
    for i, picture in enumerate(stored["calibration"]):
        (folder / f"{i:03}.pgm").write_bytes(b"P5 24 24 255\n" + picture.tobytes())
    got, report = quantize(models / "glyphs.onnx", "glyphs_folder", "--data", folder.parent)
    test.assertEqual(report["quantization"]["samples"], len(stored["calibration"]))
    test.assertEqual(got.read_bytes(), want.read_bytes())
    (WORK / "signature.json").write_text(json.dumps({"inputs": [{"name": "image", "meaning": "image", "layout": "NCHW", "range": [0, 255]}]}))
    _, report = quantize(models / "glyphs.onnx", "glyphs_wide", "--data", folder.parent, "--signature", WORK / "signature.json")
    test.assertEqual(report["quantization"]["ranges"]["image"][1], 255)
    # Labels of bytes, which no input bears, leave a model whose batch is four as it is.
    fixed = onnx.load(made()[0])
    for value in (*fixed.graph.input, *fixed.graph.output):
        value.type.tensor_type.shape.dim[0].dim_value = 4
    onnx.save(fixed, WORK / "fixed.onnx")
    np.savez(WORK / "labelled.npz", image=np.load(made()[1])["image"], label=np.zeros(24, np.uint8))
    _, report = quantize(WORK / "fixed.onnx", "fixed", "--data", WORK / "labelled.npz")
    test.assertEqual(report["quantization"]["samples"], 6)
    (WORK / "nothing").mkdir(exist_ok=True)
    for data, words in ((WORK / "nothing", "holds no samples"), (WORK / "nowhere", "there is no"), (models / "glyphs.onnx", "holds no data that is known")):
        done = support.vireo("quantize", models / "glyphs.onnx", "-o", WORK / "none.vireo", "--data", data, check=False)
        test.assertEqual(done.returncode, 1)
        test.assertIn(words, done.stderr)
        test.assertFalse((WORK / "none.vireo").exists())


def the_report_shows_each_layer(test):
    import browser
    model, data = made()
    page, as_json = WORK / "report.html", WORK / "report.json"
    _, printed = quantize(model, "shown", "--data", data, "--report", page)
    quantize(model, "shown", "--data", data, "--report", as_json)
    written = json.loads(as_json.read_text())["quantization"]
    for result in (printed["quantization"], written):
        del result["seconds"], result["runs"]
    test.assertEqual(written, printed["quantization"])
    test.assertIn("stem.out", written["ranges"])
    if browser.missing():
        return print(browser.missing())
    with browser.Browser() as b:
        b.open(page)
        test.assertEqual(b.errors(), [])
        shown = b.run("document.getElementById('quantization').textContent")
        plot = b.run("document.querySelector('#quantization-plot canvas').getAttribute('aria-label')")
    test.assertIn("of 7 layers", plot)
    for words in ("7 products and ", "project", "accumulated dB", "Ranges of"):
        test.assertIn(words, shown)


def trained_transformers(test):
    """All products on integers, and as many right as in float, within 0.3 and 0.7 points."""
    import numpy as np
    for folder, model, sample, images, held, right, size in (
            ("trained/digit_cls", "digit_vit.onnx", "calibration.npz", "image", "digit_test.npz", 0.9849 - 0.003, 480_000),
            ("patients/sink_vit", "model.onnx", "data.npz", "calibration_image", "data.npz", 0.8557 - 0.007, 230_000)):
        where = support.SHARED / folder
        if not where.is_dir():
            test.skipTest(f"{folder} is not there: set VIREO_SHARED to the folder that holds it")
        out, report = quantize(where / model, "trained_" + where.name, "--data", where / sample, "--input", f"image={images}")
        test.assertEqual(report["quantization"]["integer_share"], 1)
        results = json.loads(support.vireo("eval", out, "--data", where / held, "--metric", "top1", "--json").stdout)
        test.assertGreaterEqual(results["models"][0]["values"]["top1"]["value"], right)
        test.assertLess(out.stat().st_size, size)


def trained_keyword_spotter(test):
    import numpy as np
    folder = support.SHARED / "trained" / "kws"
    if not folder.is_dir():
        test.skipTest("trained/kws is not there: set VIREO_SHARED to the folder that holds it")
    calibration, held = np.load(folder / "calibration.npz"), np.load(folder / "test.npz")
    np.savez(WORK / "kws.npz", features=calibration["logmel"].astype(np.float32)[:, None])
    out, _ = quantize(folder / "kws_dscnn.onnx", "kws", "--data", WORK / "kws.npz")
    np.save(WORK / "features.npy", held["logmel"].astype(np.float32)[:, None])
    support.vireo("run", out, "--input", f"features={WORK / 'features.npy'}", "--output", WORK / "kws_y.npz")
    right = (np.load(WORK / "kws_y.npz")["logits"].argmax(1) == held["label"]).mean()
    test.assertGreater(right, 0.9517 - 0.005)
    test.assertLess(out.stat().st_size, 70000)


def accuracy_of_a_patient(np, name, recipe):
    """Of the patient in int8 by this recipe, and of the float model."""
    folder = support.SHARED / "patients" / name
    z = np.load(folder / "data.npz")
    scaled = {k: z[k][:, None].astype(np.float32) / 255 for k in ("image", "calibration_image")}
    np.savez(WORK / f"{name}.npz", image=scaled["calibration_image"])
    (WORK / f"{name}.json").write_text(json.dumps(recipe))
    out, _ = quantize(folder / "model.onnx", name, "--data", WORK / f"{name}.npz", "--recipe", WORK / f"{name}.json")
    np.save(WORK / "x.npy", scaled["image"])
    support.vireo("run", out, "--input", f"image={WORK / 'x.npy'}", "--output", WORK / "y.npz")
    answers = next(iter(np.load(WORK / "y.npz").values()))
    return (answers.argmax(1) == z["label"]).mean(), (ort(folder / "model.onnx", scaled["image"]).argmax(1) == z["label"]).mean()


def one_scale_for_all_weights_of_a_layer(test):
    import numpy as np
    if not (support.SHARED / "patients").is_dir():
        test.skipTest("patients are not there: set VIREO_SHARED to the folder that holds them")
    for name in ("spread_dw", "wide_cnn"):
        int8, real = accuracy_of_a_patient(np, name, {"vireo_recipe": 1, "defaults": {"weights": "tensor"}})
        test.assertGreater(int8, real - 0.01, name)


reason = support.missing("numpy", "onnx", "onnxruntime")
StaticInt8 = support.cases(reason, {f.__name__: f for f in (
    near_the_float_model, the_qdq_file_says_the_same, other_formats_say_the_same_in_onnx_runtime, a_recipe_gives_layers_their_format,
    an_unedited_recipe_gives_the_same_bytes, ranges_of_a_recipe_need_no_data,
    a_layer_that_is_kept_stays_in_float, equalised_channels_are_as_good_as_even_ones, outputs_that_are_joined_take_16_bits, attention_computes_on_integers, values_quantized_in_the_run, a_ceiling_changes_no_byte, a_ceiling_is_kept, large_pictures_fit, statistics_are_used_again, bad_data_and_recipes,
    huge_numbers_are_named, what_stays_is_said, constant_and_dead_values_are_named, data_in_other_forms, the_report_shows_each_layer, trained_transformers, trained_keyword_spotter,
    one_scale_for_all_weights_of_a_layer)})

if __name__ == "__main__":
    support.main()
