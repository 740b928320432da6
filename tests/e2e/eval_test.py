"""vireo eval: metrics against numpy on random outputs, tests of differences, data that do not fit, and the recorded metric of every
trained model."""
import json
import re

import support

WORK = support.room("eval")
ROWS = 60


def model(name, inputs, outputs=None):
    """A model that gives its inputs back: {name: (type, shape)}. outputs: their names, in the order of the inputs."""
    from onnx import TensorProto, helper, save
    outputs = outputs or ["y" if len(inputs) == 1 else f"{key}_out" for key in inputs]
    of = {"f": TensorProto.FLOAT, "i": TensorProto.INT64, "s": TensorProto.STRING}
    values = [helper.make_tensor_value_info(key, of[kind], shape) for key, (kind, shape) in inputs.items()]
    results = [helper.make_tensor_value_info(out, of[kind], shape) for out, (kind, shape) in zip(outputs, inputs.values())]
    nodes = [helper.make_node("Identity", [key], [out]) for key, out in zip(inputs, outputs)]
    path = WORK / f"{name}.onnx"
    save(helper.make_model(helper.make_graph(nodes, name, values, results), opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def data(name, **arrays):
    import numpy as np
    path = WORK / f"{name}.npz"
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


def overlap(a, b):
    width, height = (min(a[k + 2], b[k + 2]) - max(a[k], b[k]) for k in (0, 1))
    both = max(width, 0) * max(height, 0)
    area = lambda x: (x[2] - x[0]) * (x[3] - x[1])
    return both / (area(a) + area(b) - both)


def average_precision(found, truth, limits):
    """found: per picture (box, score, class); truth: per picture (box, class). By the definition, one box at a time."""
    import numpy as np
    values = []
    for label in sorted({c for picture in truth for _, c in picture}):
        total = sum(c == label for picture in truth for _, c in picture)
        for limit in limits:
            rows = []
            for picture, (boxes, wanted) in enumerate(zip(found, truth)):
                free = [b for b, c in wanted if c == label]
                for box, score, c in sorted(boxes, key=lambda f: -f[1]):
                    if c != label:
                        continue
                    best = max(free, key=lambda b, box=box: overlap(box, b), default=None)
                    hit = best is not None and overlap(box, best) >= limit
                    if hit:
                        free = [b for b in free if b is not best]
                    rows.append((-score, picture, hit))
            hits = np.cumsum([hit for _, _, hit in sorted(rows, key=lambda r: r[:2])])
            precision = hits / np.arange(1, len(hits) + 1)
            # Precision at each right box is the best at it or behind it.
            values.append(sum(precision[np.searchsorted(hits, k):].max() for k in range(1, int(hits[-1]) + 1)) / total)
    return float(np.mean(values))


def scenes(seed, shake, wrong):
    """True boxes, and boxes near them with scores and some wrong classes, in double and in float32."""
    import numpy as np
    rng = np.random.default_rng(seed)
    corner, size = rng.uniform(0, 60, (ROWS, 4, 2)), rng.uniform(10, 30, (ROWS, 4, 2))
    true = np.concatenate([corner, corner + size], 2).astype(np.float32)
    label = rng.integers(0, 3, (ROWS, 4))
    label[rng.random((ROWS, 4)) < 0.2] = -1
    near = (true + rng.normal(scale=shake, size=true.shape)).astype(np.float32)
    guess = np.where(rng.random((ROWS, 4)) < wrong, rng.integers(0, 3, (ROWS, 4)), np.maximum(label, 0))
    return true, label, near, guess, rng.random((ROWS, 4)).astype(np.float32)


def truth_of(true, label):
    return [[(b, c) for b, c in zip(boxes.tolist(), classes.tolist()) if c >= 0] for boxes, classes in zip(true, label)]


LIMITS = {"map50": [0.5], "map": [0.5 + 0.05 * k for k in range(10)]}


def boxes(test):
    true, label, near, guess, score = scenes(3, 2, 0.3)
    found = [list(zip(b.tolist(), s.tolist(), c.tolist())) for b, s, c in zip(near, score, guess)]
    m = model("final", {"b": ("f", [4, 4]), "s": ("f", [4]), "c": ("i", [4])}, ["boxes", "scores", "classes"])
    file = data("final", b=near, s=score, c=guess, boxes=true, labels=label)
    got = values(evaluate(m, "--data", file, "--metric", "map,map50", "--decode", "final"))
    for name, limits in LIMITS.items():
        test.assertAlmostEqual(got[name], average_precision(found, truth_of(true, label), limits), places=6, msg=name)
    test.assertIn("how the outputs are boxes", refusal(test, m, "--data", file, "--metric", "map")[0])
    test.assertIn("did you mean yolo8? ", refusal(test, m, "--data", file, "--decode", "yolo")[1])


def suppressed(found, limit):
    kept = []
    for box, score, c in sorted(found, key=lambda f: -f[1]):
        if not any(c == other and overlap(box, b) > limit for b, _, other in kept):
            kept.append((box, score, c))
    return kept


def decodings(test):
    """The same boxes as columns of middles and sizes (yolo8), and as rows of a grid."""
    import numpy as np
    true, label, near, guess, score = scenes(4, 1, 0.3)
    near, guess, score = (np.concatenate([x, np.roll(x, 1, axis=1)], 1) for x in (near, guess, score))  # each box twice
    score = np.maximum(score - np.linspace(0, 0.3, 8, dtype=np.float32), 0.01)
    table = np.zeros((ROWS, 8, 7), np.float32)
    table[..., :2], table[..., 2:4] = (near[..., :2] + near[..., 2:]) / 2, near[..., 2:] - near[..., :2]
    np.put_along_axis(table[..., 4:], guess[..., None], score[..., None], 2)
    corners = np.concatenate([table[..., :2] - table[..., 2:4] / 2, table[..., :2] + table[..., 2:4] / 2], 2)
    found = [suppressed(list(zip(b.tolist(), s.tolist(), c.tolist())), 0.7) for b, s, c in zip(corners, score, guess)]
    want = average_precision(found, truth_of(true, label), LIMITS["map50"])
    yolo = evaluate(model("yolo", {"x": ("f", [1, 7, 8])}), "--data",
                    data("yolo", x=table.transpose(0, 2, 1), boxes=true, labels=label), "--metric", "map50", "--decode", "yolo8")
    test.assertAlmostEqual(values(yolo)["map50"], want, places=5)
    # Cells of a grid of 4 x 2 pixels of 32: the offsets of the middles, logarithms of the sizes, logits times an objectness.
    grid = np.zeros((ROWS, 8, 8), np.float32)
    cells = np.stack([np.tile(np.arange(4), 2), np.repeat(np.arange(2), 4)], 1) + 0.5
    grid[..., :2], grid[..., 2:4] = table[..., :2] / 32 - cells, np.log(table[..., 2:4] / 32)
    grid[..., 4] = 3
    shares = np.clip(table[..., 4:], 1e-6, 1 - 1e-6) / (1 / (1 + np.exp(-3.0)))
    scale = 0.9
    grid[..., 5:] = np.log(shares * scale / (1 - shares * scale))
    how = WORK / "grid.json"
    how.write_text(json.dumps({"form": "grid", "strides": [32], "size": [128, 64], "objectness_column": 4, "score_columns": [5, 8],
                               "activation": "sigmoid", "floor": 0.001, "overlap": 0.7, "most": 300}))
    got = evaluate(model("grid", {"x": ("f", [1, 8, 8])}), "--data", data("grid", x=grid, boxes=true, labels=label), "--metric", "map50", "--decode", how)
    test.assertAlmostEqual(values(got)["map50"], want, places=5)
    how.write_text('{"layuot": "rows"}')
    test.assertIn("did you mean layout? ", refusal(test, WORK / "grid.onnx", "--data", WORK / "grid.npz", "--decode", how)[1])


def references(test):
    import numpy as np
    rng = np.random.default_rng(5)
    a = rng.normal(size=(ROWS, 3, 4)).astype(np.float32)
    b = a + rng.normal(scale=0.1, size=a.shape).astype(np.float32)
    one, other = model("one", {"a": ("f", [1, 3, 4])}), model("other", {"b": ("f", [1, 3, 4])})
    result = evaluate(one, other, "--data", data("reference", a=a, b=b), "--metric", "sqnr,cosine,psnr,agreement")
    test.assertEqual(set(values(result).values()), {None})
    x, y = a.reshape(ROWS, -1).astype(np.float64), b.reshape(ROWS, -1).astype(np.float64)
    noise = ((x - y) ** 2).sum()
    want = {"sqnr": 10 * np.log10((x ** 2).sum() / noise), "psnr": 10 * np.log10((x.max() - x.min()) ** 2 * x.size / noise),
            "cosine": ((x * y).sum(1) / np.linalg.norm(x, axis=1) / np.linalg.norm(y, axis=1)).mean(),
            "agreement": (a.argmax(2) == b.argmax(2)).mean()}
    got = values(result, 1)
    for name, value in want.items():
        test.assertAlmostEqual(got[name], value, places=6, msg=name)
    test.assertEqual(values(evaluate(one, one, "--data", WORK / "reference.npz"), 1), {"sqnr": 300})
    test.assertIn("a second model", refusal(test, one, "--data", WORK / "reference.npz", "--metric", "sqnr")[0])


def equal_error_rate(test):
    import numpy as np
    rng = np.random.default_rng(6)
    label = rng.integers(0, 2, ROWS)
    score = np.round(rng.normal(size=ROWS) + label, 1).astype(np.float32)  # some are equal
    thresholds = np.concatenate([[-np.inf], np.unique(score) + 0.01])
    taken, missed = (np.array([f(t) for t in thresholds]) for f in
                     (lambda t: (score[label == 0] >= t).mean(), lambda t: (score[label == 1] < t).mean()))
    want = np.interp(0, missed - taken, taken)
    m = model("single", {"x": ("f", [1, 1])})
    got = evaluate(m, "--data", data("score", x=score[:, None], label=label), "--metric", "eer")
    test.assertAlmostEqual(values(got)["eer"], want, places=6)
    pair = np.stack([np.zeros_like(score), score], 1)
    got = evaluate(model("pair", {"x": ("f", [1, 2])}), "--data", data("pair", x=pair, label=label), "--metric", "eer")
    test.assertAlmostEqual(values(got)["eer"], want, places=6)


def pixels(test):
    import numpy as np
    rng = np.random.default_rng(7)
    label = rng.integers(0, 4, (ROWS, 5, 6))
    label[rng.random(label.shape) < 0.1] = 255
    x = rng.normal(size=(ROWS, 4, 5, 6)).astype(np.float32) + 2 * (label[:, None] == np.arange(4)[:, None, None])
    answer, known = x.argmax(1), label != 255
    want = np.mean([((answer == c) & (label == c)).sum() / (((answer == c) | (label == c)) & known).sum() for c in range(4)])
    front = evaluate(model("front", {"x": ("f", [1, 4, 5, 6])}), "--data", data("front", x=x.astype(np.float32), label=label))
    behind = evaluate(model("behind", {"x": ("f", [1, 5, 6, 4])}), "--data", data("behind", x=x.transpose(0, 2, 3, 1).astype(np.float32), label=label))
    chosen = evaluate(model("chosen", {"x": ("i", [1, 5, 6])}), "--data", data("chosen", x=answer, label=label))
    for result in (front, behind, chosen):
        test.assertAlmostEqual(values(result)["miou"], want, places=6)


def tokens(test):
    import numpy as np
    from onnx import TensorProto, helper, numpy_helper, save
    rng = np.random.default_rng(8)
    table, text = rng.normal(size=(11, 11)).astype(np.float32), rng.integers(0, 11, 200)
    graph = helper.make_graph([helper.make_node("Gather", ["table", "input_ids"], ["logits"])], "g",
                              [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "length"])],
                              [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", "length", 11])],
                              [numpy_helper.from_array(table, "table")])
    path = WORK / "tokens.onnx"
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    logs = table.astype(np.float64) - np.log(np.exp(table.astype(np.float64)).sum(1, keepdims=True))
    told = -logs[text[:-1], text[1:]]
    for window, samples in ((32, 7), (199, 1), (500, 1)):
        result = evaluate(path, "--data", data("text", words=text.astype(np.uint8)), "--window", window, "--input", "input_ids=words",
                          "--metric", "perplexity,nll,top1")
        got = values(result)
        test.assertEqual(result["samples"], samples)
        test.assertAlmostEqual(got["perplexity"], np.exp(told.mean()), places=5)
        test.assertAlmostEqual(got["nll"], told.mean(), places=6)
        test.assertAlmostEqual(got["top1"], (table.argmax(1)[text[:-1]] == text[1:]).mean(), places=6)
    test.assertIn("one row of tokens", refusal(test, path, "--data", data("wrong", words=text.astype(np.float32)), "--window", 8, "--input", "input_ids=words")[0])


def words(test):
    """Edits by the recursive definition."""
    import functools
    import numpy as np
    rng = np.random.default_rng(9)
    said = [rng.choice(list("abc"), rng.integers(0, 6)).tolist() for _ in range(ROWS)]
    heard = [rng.choice(list("abc"), rng.integers(0, 6)).tolist() for _ in range(ROWS)]

    @functools.lru_cache(None)
    def edits(a, b):
        if not a or not b:
            return len(a) + len(b)
        return min(edits(a[1:], b) + 1, edits(a, b[1:]) + 1, edits(a[1:], b[1:]) + (a[0] != b[0]))
    want = sum(edits(tuple(a), tuple(b)) for a, b in zip(said, heard)) / sum(map(len, said))
    text = lambda rows: np.array([" ".join(row) for row in rows])
    result = evaluate(model("words", {"x": ("s", [1])}), "--data", data("words", x=text(heard), label=text(said)))
    test.assertAlmostEqual(values(result)["wer"], want, places=6)


def files(test):
    """Folders of arrays with labels.csv, a folder a class, and COCO's boxes of a picture that the signature shrinks."""
    import shutil
    import numpy as np
    rng = np.random.default_rng(10)
    x, label = rng.normal(size=(12, 3)).astype(np.float32), rng.integers(0, 3, 12)
    m, want = model("three", {"x": ("f", [1, 3])}), (x.argmax(1) == label).mean()
    listed, sorted_ = WORK / "listed", WORK / "sorted"
    for root in (listed, sorted_):
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir()
    names = ["cat", "ant", "bee"]
    for i, row in enumerate(x):
        np.save(listed / f"{i}.npy", row[None])
        (sorted_ / names[label[i]]).mkdir(exist_ok=True)
        np.save(sorted_ / names[label[i]] / f"{i}.npy", row[None])
    (listed / "labels.csv").write_text("file,label\n" + "".join(f"{i}.npy,{c}\n" for i, c in enumerate(label)))
    test.assertAlmostEqual(values(evaluate(m, "--data", listed))["top1"], want)
    test.assertAlmostEqual(values(evaluate(m, "--data", sorted_, "--classes", "cat,ant,bee"))["top1"], want)
    order = np.argsort(names)  # without --classes the names are sorted
    result = evaluate(m, "--data", sorted_)
    test.assertAlmostEqual(values(result)["top1"], (x.argmax(1) == np.argsort(order)[label]).mean())
    test.assertIn("0 ant, 1 bee, 2 cat", " ".join(result["assumed"]))
    test.assertIn("none of --classes", refusal(test, m, "--data", sorted_, "--classes", "cat,ant,bea")[0])
    (listed / "labels.csv").write_text("file,label\n0.npy,1\nnone.npy,1\n")
    test.assertIn("line 3 names none.npy", refusal(test, m, "--data", listed)[0])


def report(test):
    """The page has what --json prints, and shows it without errors."""
    import browser
    import numpy as np
    rng = np.random.default_rng(12)
    a = rng.normal(size=(ROWS, 4)).astype(np.float32)
    file = data("report", a=a, b=a + rng.normal(size=a.shape).astype(np.float32), label=rng.integers(0, 4, ROWS))
    models = model("one4", {"a": ("f", [1, 4])}), model("other4", {"b": ("f", [1, 4])})
    page = WORK / "report.html"
    told = evaluate(*models, "--data", file, "--metric", "top1,sqnr", "--worst", 3, "--report", page)
    as_json = WORK / "report.json"
    support.vireo("eval", *models, "--data", file, "--metric", "top1,sqnr", "--worst", 3, "--report", as_json)
    written = json.loads(as_json.read_text())["evaluation"]
    for result in (told, written):
        for entry in result["models"]:
            del entry["ms"]
    test.assertEqual(written, told)
    test.assertIn("neither .html nor .json", refusal(test, *models, "--data", file, "--report", WORK / "report.txt")[0])
    if browser.missing():
        return print(browser.missing())
    with browser.Browser() as b:
        b.open(page)
        test.assertEqual(b.errors(), [])
        shown = b.run("document.getElementById('evaluation').textContent")
        fronts = b.run("[...document.querySelectorAll('#evaluation canvas')].map(c => c.getAttribute('aria-label'))")
        # d is as good as c and dearer; a and c are worse than b, and cheaper.
        points = [{"name": n, "cost": c, "value": v} for n, c, v in (("a", 1, 0.5), ("b", 9, 0.9), ("c", 4, 0.7), ("d", 5, 0.7), ("e", 10, 0.2))]
        best = [b.run(f"frontOf({json.dumps(points)}, {higher}).map(p => p.name).join('')") for higher in ("true", "false")]
    test.assertEqual(best, ["acb", "ae"])
    # Two plots of top1, none of what compares with the first model.
    test.assertEqual([label.split(";")[0] for label in fronts], ["top1 against size of the file", "top1 against time of a run"])
    for words in ("60 samples", "top1", "sqnr", "other4.onnx", "significant difference at 95 %", "Worst samples"):
        test.assertIn(words, shown)


def own_metric(test):
    import sys
    import numpy as np
    rng = np.random.default_rng(11)
    x, label = rng.normal(size=(ROWS, 4)).astype(np.float32), rng.integers(0, 4, ROWS)
    m, file, script = model("four", {"x": ("f", [1, 4])}), data("four", x=x, label=label), WORK / "metric.py"
    script.write_text("import json, sys, numpy as np\nz = np.load(sys.stdin.buffer)\n"
                      "print(json.dumps({'mean': float(z['y'].mean()), 'rows': len(z['label']), 'right': float((z['y'].argmax(1) == z['label']).mean())}))\n")
    got = values(evaluate(m, "--data", file, "--metric-command", f"{sys.executable} {script}"))
    test.assertAlmostEqual(got["mean"], float(x.mean()), places=6)
    test.assertAlmostEqual(got["right"], (x.argmax(1) == label).mean(), places=6)
    test.assertEqual(got["rows"], ROWS)
    for command, words in (("exit 3", "ended with status 3"), ("echo no", "printed no JSON object of numbers: no"), ("sleep 60", "did not end in time"),
                           ("echo '{}'", "printed no JSON"), ("kill -9 $$", "was ended by signal 9")):
        test.assertIn(words, refusal(test, m, "--data", file, "--metric-command", command, "--metric-seconds", 0.5)[0])


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
    test.assertIn("no significant difference at 95 %", text)
    test.assertIn("6 samples", text)


def bad_data(test):
    import numpy as np
    m = model("bad", {"x": ("f", [1, 4])})
    x, label = np.zeros((3, 4), np.float32), np.zeros(3, np.int64)
    good = data("good", x=x, label=label)
    for arguments, words in (
            ([m, "--data", WORK / "none.npz"], "there is no"),
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
            ([model("score1", {"x": ("f", [1, 1])}), "--data", data("zeros", x=x[:, :1], label=label), "--metric", "eer"], "has no value over these 3"),
            ([m, "--data", good, "--input", "z=x"], "has no input 'z'"),
            ([m, "--data", good, "--output", "z"], "has no output 'z'"),
            ([m, "--data", data("columns", x=np.asfortranarray(np.ones((3, 4), np.float32)), label=label)], "column by column"),
    ):
        message, advice = refusal(test, *arguments)
        test.assertIn(words, message)
        test.assertTrue(advice or words in ("has no samples",), message)
    test.assertIn("only 3 samples", evaluate(m, "--data", data("column", x=x, label=label[:, None]))["assumed"][0])
    test.assertIn("did you mean top1? ", refusal(test, m, "--data", good, "--metric", "topp1")[1])
    test.assertEqual(support.vireo("eval", m, check=False).returncode, 2)


def missing_numbers_are_said(test):
    """NaN may mean something to a model, so it is measured; that it is there is said, with the first sample that has it."""
    import numpy as np
    x = np.random.default_rng(2).normal(size=(ROWS, 5)).astype(np.float32)
    x[[7, 9], 3] = np.nan
    path = model("missing", {"x": ("f", [1, 5])})
    result = evaluate(path, "--data", data("missing", x=x, label=np.zeros(ROWS, np.int64)), "--metric", "top1")
    test.assertEqual(result["assumed"][:2], [f"{WORK / 'missing.npz'} has NaN in 2 samples, first in row 7",
                                             f"{path} answers NaN in 2 samples, first in row 7"])
    result = evaluate(path, "--data", data("present", x=np.nan_to_num(x), label=np.zeros(ROWS, np.int64)), "--metric", "top1")
    test.assertEqual(result["assumed"], [])


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


def coco(items, root):
    """The annotations of trained/digit_det in COCO's form."""
    file = WORK / "coco.json"
    file.write_text(json.dumps({
        "images": [{"id": n, "file_name": str(root / i["file"])} for n, i in enumerate(items)],
        "annotations": [{"image_id": n, "category_id": c, "bbox": [b[0], b[1], b[2] - b[0], b[3] - b[1]]}
                        for n, i in enumerate(items) for b, c in zip(i["boxes"], i["labels"])],
        "categories": [{"id": k, "name": str(k)} for k in range(10)]}))
    return file


def detector(name):
    def run(test):
        root = support.SHARED / "trained" / "digit_det"
        how = WORK / "digits.json"
        how.write_text(json.dumps({"boxes": "raw", "form": "grid", "strides": [8, 16, 32], "size": [320, 320], "objectness_column": 4,
                                   "score_columns": [5, 15], "activation": "sigmoid", "floor": 0.01, "overlap": 0.5, "most": 50}))
        got = values(evaluate(root / f"{name}.onnx", "--data", coco(json.loads((root / "test.json").read_text())["images"], root),
                              "--metric", "map50,map", "--decode", how if name == "digit_det" else "final"))
        close(test, got["map50"], recorded(name)["mAP50"], f"{name} mAP50")
        close(test, got["map"], recorded(name)["mAP50_95"], f"{name} mAP50-95")
    return run


def language(name):
    def run(test):
        root = support.SHARED / "trained" / "lm"
        got = values(evaluate(root / f"{name}.onnx", "--data", root / "test.txt", "--tokenizer", root / "tokenizer.json",
                              "--metric", "perplexity,top1"))
        close(test, got["perplexity"], recorded(name)["perplexity"], f"{name} perplexity")
        close(test, got["top1"], recorded(name)["next_token_accuracy"], f"{name} next token")
    return run


def px_det(test):
    path, how = support.SHARED / "patients" / "px_det", WORK / "px_det.json"
    how.write_text(json.dumps({"layout": "columns", "form": "corners", "floor": 0.02, "overlap": 0.5, "most": 1000}))
    got, want = values(evaluate(path / "model.onnx", "--data", path / "data.npz", "--metric", "map50,map", "--decode", how)), patient("px_det")
    close(test, got["map50"], want["mAP50"], "px_det mAP50")
    close(test, got["map"], want["mAP50_95"], "px_det mAP50-95")


def gain_lm(test):
    path = support.SHARED / "patients" / "gain_lm"
    got = values(evaluate(path / "model.onnx", "--data", path / "data.npz", "--window", 256, "--input", "input_ids=ids", "--samples", 78,
                          "--metric", "perplexity,top1"))  # its page leaves the last, shorter window out
    close(test, got["perplexity"], patient("gain_lm")["perplexity"], "gain_lm perplexity")
    close(test, got["top1"], patient("gain_lm")["next_token"], "gain_lm next token")


Metrics = support.cases(support.missing("numpy", "onnx"), {f.__name__: f for f in (
    scores, kinds_of_numbers, boxes, decodings, references, equal_error_rate, pixels, tokens, words, files, report, own_metric, two_models, bad_data, missing_numbers_are_said)})
Trained = support.cases(support.missing(folder="trained"), {
    "kws_dscnn": trained("kws_dscnn", "kws/test.npz", "features=logmel"),
    "kws_dscnn_mfcc": trained("kws_dscnn_mfcc", "kws/test.npz", "features=mfcc"),
    "kws_gru": trained("kws_gru", "kws/test.npz", "features=logmel"),
    "digit_vit": trained("digit_vit", "digit_cls/digit_test.npz", "image=image"),
    "digit_mobile": trained("digit_mobile", "digit_cls/digit_test.npz", "image=image"),
    **{name: detector(name) for name in ("digit_det", "digit_det_nms")},
    **{name: language(name) for name in ("lm_main", "lm_draft", "lm_draft_op23")},
})
Patients = support.cases(support.missing(folder="patients"), {
    **{name: classifier(name) for name in ("spread_dw", "sink_vit", "wide_cnn")}, "px_det": px_det, "gain_lm": gain_lm})

if __name__ == "__main__":
    support.main()
