"""vireo eval: metrics against numpy on random outputs, tests of differences, data that do not fit, and the recorded metric of every
trained model."""
import json
import re

import support

WORK = support.WORK / "eval"
ROWS = 60


def folder():
    WORK.mkdir(parents=True, exist_ok=True)
    return WORK


def model(name, inputs, outputs=None):
    """A model that gives its inputs back: {name: (type, shape)}. outputs: their names, in the order of the inputs."""
    from onnx import TensorProto, helper, save
    outputs = outputs or ["y" if len(inputs) == 1 else f"{key}_out" for key in inputs]
    of = {"f": TensorProto.FLOAT, "i": TensorProto.INT64, "s": TensorProto.STRING}
    values = [helper.make_tensor_value_info(key, of[kind], shape) for key, (kind, shape) in inputs.items()]
    results = [helper.make_tensor_value_info(out, of[kind], shape) for out, (kind, shape) in zip(outputs, inputs.values())]
    nodes = [helper.make_node("Identity", [key], [out]) for key, out in zip(inputs, outputs)]
    path = folder() / f"{name}.onnx"
    save(helper.make_model(helper.make_graph(nodes, name, values, results), opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def data(name, **arrays):
    import numpy as np
    path = folder() / f"{name}.npz"
    np.savez(path, **arrays)
    return path


def evaluate(*arguments):
    return json.loads(support.vireo("eval", *arguments, "--json").stdout)


def values(result, row=0):
    return {name: v["value"] for name, v in result["models"][row]["values"].items()}


def refusal(test, *arguments):
    done = support.vireo("eval", *arguments, "--json", check=False)
    test.assertEqual(done.returncode, 1, done.stderr)
    error = json.loads(done.stdout)["error"]
    test.assertIn(error["message"], done.stderr)
    return error["message"], error["help"] or ""


def scores(test):
    import numpy as np
    rng = np.random.default_rng(1)
    x = rng.normal(size=(ROWS, 12)).astype(np.float32)
    label = rng.integers(0, 12, ROWS)
    result = evaluate(model("scores", {"x": ("f", [1, 12])}), "--data", data("scores", x=x, label=label), "--metric", "top1,top5,nll")
    order = np.argsort(-x, axis=1, kind="stable")
    logs = x - np.log(np.exp(x.astype(np.float64)).sum(1, keepdims=True))
    want = {"top1": (order[:, 0] == label).mean(), "top5": (order[:, :5] == label[:, None]).any(1).mean(),
            "nll": -logs[np.arange(ROWS), label].mean()}
    got = values(result)
    test.assertEqual(set(got), set(want))
    for name, value in want.items():
        test.assertAlmostEqual(got[name], value, places=6, msg=name)
        low, high = result["models"][0]["values"][name]["ci95"]
        test.assertTrue(low < value < high)


def kinds_of_numbers(test):
    """Arrays of another type than the input's are read where no number changes; bytes are pictures."""
    import numpy as np
    rng = np.random.default_rng(2)
    codes = rng.integers(0, 256, (ROWS, 1, 3, 4), dtype=np.uint8)
    label = rng.integers(0, 12, ROWS)
    flat = model("pixels", {"x": ("f", [1, 12])})
    byte = evaluate(flat, "--data", data("bytes", pictures=codes.reshape(ROWS, 12), label=label), "--input", "x=pictures", "--metric", "nll")
    real = evaluate(flat, "--data", data("reals", x=codes.reshape(ROWS, 12).astype(np.float32) / 255, label=label), "--metric", "nll")
    test.assertAlmostEqual(values(byte)["nll"], values(real)["nll"], places=6)
    test.assertIn("0..255 taken as 0..1", byte["assumed"][0])
    half = rng.normal(size=(ROWS, 12)).astype(np.float16)
    a = evaluate(flat, "--data", data("half", x=half, label=label), "--metric", "nll")
    b = evaluate(flat, "--data", data("single", x=half.astype(np.float32), label=label), "--metric", "nll")
    test.assertEqual(values(a), values(b))


def two_models(test):
    """McNemar by hand: of 60 samples, a is right on those below 40, b on those from 4 on."""
    import numpy as np
    from math import comb
    right = lambda keep: np.eye(2, dtype=np.float32)[np.where(keep, 0, 1)]
    at = np.arange(ROWS)
    both = data("two", a=right(at < 40), b=right(at >= 4), label=np.zeros(ROWS, np.int64))
    one, other = model("one", {"a": ("f", [1, 2])}), model("other", {"b": ("f", [1, 2])})
    result = evaluate(one, other, "--data", both, "--metric", "top1")
    found = result["models"][1]["values"]["top1"]["against_first"]
    test.assertAlmostEqual(found["difference"], (56 - 40) / 60)
    test.assertAlmostEqual(found["p"], 2 * sum(comb(24, k) for k in range(5)) / 2**24, places=9)
    test.assertEqual((found["test"], found["told_apart"]), ("McNemar", True))
    text = support.vireo("eval", one, other, "--data", both, "--samples", 6).stdout
    test.assertIn("not told apart at 95 %", text)
    test.assertIn("6 samples", text)


def bad_data(test):
    import numpy as np
    m = model("bad", {"x": ("f", [1, 4])})
    x, label = np.zeros((3, 4), np.float32), np.zeros(3, np.int64)
    good = data("good", x=x, label=label)
    for arguments, words in (
            ([m, "--data", folder() / "none.npz"], "there is no"),
            ([m, "--data", good, "--metric", "top2"], "there is no metric 'top2'"),
            ([m, "--data", data("apart", x=x, label=np.zeros((3, 2), np.int64)), "--metric", "top1"], "needs a class for each sample"),
            ([m, "--data", data("other", y=x, label=label)], "has no array 'x'"),
            ([m, "--data", data("rows", x=x, label=label[:2])], "has 2 rows, but"),
            ([m, "--data", data("empty", x=x[:0], label=label[:0])], "has no samples"),
            ([m, "--data", data("shape", x=x[:, :3], label=label)], "has shape 3"),
            ([m, "--data", data("type", x=x.astype(np.int64), label=label)], "holds int64"),
            ([m, "--data", data("label", x=x, label=label + 4)], "label 4 is none of the 4 classes"),
            ([m, "--data", data("real", x=x, label=x[:, 0])], "labels are whole numbers"),
            ([m, "--data", data("unlabelled", x=x)], "nothing to judge a model by"),
            ([m, "--data", good, "--input", "z=x"], "has no input 'z'"),
            ([m, "--data", good, "--output", "z"], "has no output 'z'"),
            ([m, "--data", data("columns", x=np.asfortranarray(np.ones((3, 4), np.float32)), label=label)], "column by column"),
    ):
        message, advice = refusal(test, *arguments)
        test.assertIn(words, message)
        test.assertTrue(advice or words in ("has no samples",), message)
    test.assertIn("did you mean top1? ", refusal(test, m, "--data", good, "--metric", "topp1")[1])
    test.assertEqual(support.vireo("eval", m, check=False).returncode, 2)


def recorded(name):
    return json.loads((support.SHARED / "trained" / "metrics.json").read_text())[name]


def patient(name):
    """The figures of a patient's page, as ONNX Runtime gave them for the float model."""
    row = re.search(r"^\| float \| ([^|]*)\|", (support.SHARED / "patients" / name / "README.md").read_text(), re.M)[1]
    return {key: float(value) for key, value in re.findall(r"(\w+) ([0-9.]+)", row)}


def close(test, got, want, what):
    print(f"{what}: recorded {want:.4f}, ours {got:.4f}, difference {got - want:+.4f}")
    test.assertLessEqual(abs(got - want), 1e-4, what)


def trained(name, file, key):
    def run(test):
        path = support.SHARED / "trained" / file
        got = values(evaluate(path.parent / f"{name}.onnx", "--data", path, "--input", key, "--metric", "top1"))["top1"]
        close(test, got, recorded(name)["accuracy"], name)
    return run


def classifier(name):
    def run(test):
        path = support.SHARED / "patients" / name
        got, want = values(evaluate(path / "model.onnx", "--data", path / "data.npz", "--metric", "top1,nll")), patient(name)
        close(test, got["top1"], want["accuracy"], name)
        close(test, got["nll"], want["nll"], f"{name} nll")
    return run


Metrics = support.cases(support.missing("numpy", "onnx"), {f.__name__: f for f in (scores, kinds_of_numbers, two_models, bad_data)})
Trained = support.cases(support.missing(folder="trained"), {
    "kws_dscnn": trained("kws_dscnn", "kws/test.npz", "features=logmel"),
    "kws_dscnn_mfcc": trained("kws_dscnn_mfcc", "kws/test.npz", "features=mfcc"),
    "kws_gru": trained("kws_gru", "kws/test.npz", "features=logmel"),
    "digit_vit": trained("digit_vit", "digit_cls/digit_test.npz", "image=image"),
    "digit_mobile": trained("digit_mobile", "digit_cls/digit_test.npz", "image=image"),
})
Patients = support.cases(support.missing(folder="patients"), {name: classifier(name) for name in ("spread_dw", "sink_vit", "wide_cnn")})

if __name__ == "__main__":
    support.main()
