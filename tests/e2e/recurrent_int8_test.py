"""LSTM and GRU through vireo quantize: products of integers, a quarter of the bytes, near the float model and near ONNX Runtime's
answers of the QDQ file, whose state is not rounded. The trained keyword spotter keeps its accuracy."""
import json

import support

WORK = support.room("recurrent_int8")
GATES = {"LSTM": 4, "GRU": 3}


def network(np, op, hidden, direction, linear=1, steps=12, states=False, last=False):
    """One cell behind a product, and a product behind its sequence or its last state."""
    import onnx
    from onnx import helper, numpy_helper
    rng = np.random.default_rng(hidden)
    ways, inputs, rows = 2 if direction == "bidirectional" else 1, 10, GATES[op] * hidden
    constants = {"w": rng.standard_normal((ways, rows, inputs)) / 3, "r": rng.standard_normal((ways, rows, hidden)) / hidden ** 0.5,
                 "b": rng.standard_normal((ways, 2 * rows)) / 4, "stem": rng.standard_normal((7, inputs)) / 2,
                 "head": rng.standard_normal((hidden, 5)) / hidden ** 0.5}
    given = ["x1", "w", "r", "b"]
    if states:
        constants["h0"] = rng.uniform(-0.9, 0.9, (ways, 1, hidden))
        given += ["", "h0"] + (["c0"] if op == "LSTM" else [])
        if op == "LSTM":
            constants["c0"] = rng.uniform(-1, 1, (ways, 1, hidden))
    more = {"linear_before_reset": linear} if op == "GRU" else {}
    results = ["", "y"] if last else ["y"]
    nodes = [helper.make_node("Transpose", ["x"], ["x0"], name="time_first", perm=[1, 0, 2]),
             helper.make_node("MatMul", ["x0", "stem"], ["x1"], name="stem"),
             helper.make_node(op, given, results, name="cell", hidden_size=hidden, direction=direction, **more),
             helper.make_node("MatMul", ["y", "head"], ["out"], name="head")]
    real = onnx.TensorProto.FLOAT
    shape = [ways, 1, 5] if last else [steps, ways, 1, 5]
    graph = helper.make_graph(nodes, "net", [helper.make_tensor_value_info("x", real, [1, steps, 7])],
                              [helper.make_tensor_value_info("out", real, shape)],
                              [numpy_helper.from_array(v.astype(np.float32), k) for k, v in constants.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def ort(path, x):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return session.run(None, {"x": x})[0]


def run(np, model, x):
    np.save(WORK / "x.npy", x)
    support.vireo("run", model, "--input", f"x={WORK / 'x.npy'}", "--output", WORK / "y.npz")
    return np.load(WORK / "y.npz")["out"]


def signal_to_noise(np, reference, other):
    return 10 * np.log10((reference ** 2).sum() / ((reference - other) ** 2).sum())


def cells_of_many_shapes(test):
    import numpy as np
    import onnx
    x = np.random.default_rng(2).standard_normal((40, 12, 7)).astype(np.float32)
    np.savez(WORK / "samples.npz", x=x[:32])
    for op, hidden, direction, more in [
            ("GRU", 16, "forward", {}), ("GRU", 21, "reverse", {"linear": 0}), ("GRU", 64, "bidirectional", {"states": True}),
            ("GRU", 5, "bidirectional", {"linear": 0}), ("GRU", 24, "forward", {"last": True}), ("LSTM", 16, "forward", {"states": True}),
            ("LSTM", 33, "bidirectional", {}), ("LSTM", 64, "reverse", {"last": True})]:
        name = f"{op}_{hidden}_{direction}"
        model, qdq, out = WORK / f"{name}.onnx", WORK / f"{name}.qdq.onnx", WORK / f"{name}.vireo"
        onnx.save(network(np, op, hidden, direction, **more), model)
        done = support.vireo("quantize", model, "-o", out, "--data", WORK / "samples.npz", "--emit-onnx", qdq, "--json")
        layers = json.loads(done.stdout)["quantization"]["layers"]
        test.assertEqual(list(layers), ["stem", "cell", "head"], name)
        test.assertGreater(layers["cell"]["sqnr_db"], 25, name)
        exported = onnx.load(qdq)
        onnx.checker.check_model(exported, full_check=True)
        held = [x[i:i + 1] for i in range(32, 40)]
        float32, theirs = (np.concatenate([ort(path, sample) for sample in held]) for path in (model, qdq))
        ours = np.concatenate([run(np, out, sample) for sample in held])
        test.assertGreater(signal_to_noise(np, float32, ours), 22, name)
        test.assertGreater(signal_to_noise(np, theirs, ours), 25, name)  # their state is not rounded


def a_cell_that_is_kept_or_cannot_stays_in_float(test):
    import numpy as np
    import onnx
    np.savez(WORK / "few.npz", x=np.random.default_rng(2).standard_normal((8, 12, 7)).astype(np.float32))
    model = network(np, "GRU", 16, "forward")
    onnx.save(model, WORK / "kept.onnx")
    recipe = WORK / "kept.json"
    recipe.write_text(json.dumps({"vireo_recipe": 1, "layers": {"cell": {"keep": True}}}))
    clipped = network(np, "GRU", 16, "forward")
    clipped.graph.node[2].attribute.append(onnx.helper.make_attribute("clip", 4.0))
    onnx.save(clipped, WORK / "clipped.onnx")
    for name, arguments, reason in (("kept", ("--recipe", recipe), "the recipe keeps it in float"),
                                    ("clipped", (), "it has other functions, clip, peepholes or coupled gates")):
        done = support.vireo("quantize", WORK / f"{name}.onnx", "-o", WORK / "kept.vireo", "--data", WORK / "few.npz", *arguments, "--json")
        report = json.loads(done.stdout)["quantization"]
        test.assertEqual(report["float"], {"cell": reason})
        test.assertEqual(list(report["layers"]), ["stem", "head"])


def trained_keyword_spotter(test):
    import numpy as np
    folder = support.SHARED / "trained" / "kws"
    if not folder.is_dir():
        test.skipTest("trained/kws is not there: set VIREO_SHARED to the folder that holds it")
    calibration, held = np.load(folder / "calibration.npz"), np.load(folder / "test.npz")
    np.savez(WORK / "kws.npz", features=calibration["logmel"].astype(np.float32))
    np.savez(WORK / "held.npz", features=held["logmel"].astype(np.float32), label=held["label"])
    out, same = WORK / "kws_gru.vireo", WORK / "kws_gru_2.vireo"
    done = support.vireo("quantize", folder / "kws_gru.onnx", "-o", out, "--data", WORK / "kws.npz", "--json")
    layers = json.loads(done.stdout)["quantization"]["layers"]
    test.assertEqual([l for l in layers if layers[l]["sqnr_db"] > 30], ["/gru/GRU", "/gru/GRU_1", "/fc/Gemm"])
    support.vireo("convert", folder / "kws_gru.onnx", "-o", same, "--quantize", "int8", "--calibrate", WORK / "kws.npz")
    test.assertEqual(out.read_bytes(), same.read_bytes())
    test.assertLessEqual(out.stat().st_size, 60000)
    done = support.vireo("eval", folder / "kws_gru.onnx", out, "--data", WORK / "held.npz", "--metric", "top1", "--json")
    float32, int8 = (m["values"]["top1"]["value"] for m in json.loads(done.stdout)["models"])
    test.assertGreaterEqual(int8, float32 - 0.005)


reason = support.missing("numpy", "onnx", "onnxruntime")
RecurrentInt8 = support.cases(reason, {f.__name__: f for f in (
    cells_of_many_shapes, a_cell_that_is_kept_or_cannot_stays_in_float, trained_keyword_spotter)})

if __name__ == "__main__":
    support.main()
