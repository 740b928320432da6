"""Random operators: a node's seed gives the same numbers in every run, another seed others; a node without one draws on in each run
of a session; and what is drawn has the distribution that the operator names: mean, variance, Kolmogorov-Smirnov's distance, frequencies, and no correlation between
neighbours, outputs of two runs, or two nodes. Seeds are fixed, so a case passes always or never; limits are five standard
errors (of 2.9e-7 each, both sides), Kolmogorov-Smirnov's at the same level."""
import math

import support

COUNT = 40000
SIGMAS = 5.0


def model(op, inputs=(), dims=(COUNT,), outputs=1, elem=1, opset=22, **attributes):
    from onnx import helper
    infos = [helper.make_tensor_value_info(f"x{i}", helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for i, v in enumerate(inputs)]
    node = helper.make_node(op, [i.name for i in infos], ["y"], **attributes)
    graph = helper.make_graph([node], "drawn", infos, [helper.make_tensor_value_info("y", elem, dims)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


class Drawn:
    """A converted model: `runs` lists of outputs of one session, which goes on drawing."""

    def __init__(self, onnx_model, inputs, name):
        import onnx
        path = support.WORK / f"drawn_{name}.onnx"
        onnx.save(onnx_model, str(path))
        self.file, self.inputs = support.convert(path), inputs
        path.unlink()

    def runs(self, count=1):
        import numpy as np
        import vireo
        with vireo.Model(self.file) as loaded, loaded.session(loaded.bounds_for(*self.inputs)) as session:
            return [[np.array(a) for a in session.run(*self.inputs)] for _ in range(count)]


def near(test, what, got, want, error):
    """`error`: the standard error of `got`."""
    test.assertLessEqual(abs(got - want), SIGMAS * error, f"{what} is {got:.6g}, wanted {want:.6g} with a standard error of {error:.2g}")


def correlation(test, what, a, b):
    import numpy as np
    near(test, f"correlation of {what}", float(np.corrcoef(a, b)[0, 1]), 0.0, 1 / math.sqrt(len(a)))


def continuous(test, x, cumulative, mean, variance, fourth):
    """`fourth`: the fourth central moment, for the error of the variance."""
    import numpy as np
    n = x.size
    near(test, "mean", float(x.mean()), mean, math.sqrt(variance / n))
    near(test, "variance", float(x.var()), variance, math.sqrt((fourth - variance * variance) / n))
    p = cumulative(np.sort(x))
    steps = np.arange(n)
    distance = max(float((p - steps / n).max()), float(((steps + 1) / n - p).max()))
    # Kolmogorov: P(distance > t / sqrt(n)) -> 2 exp(-2 t^2), which is 5.7e-7 at t = 2.75.
    test.assertLessEqual(distance, 2.75 / math.sqrt(n), "Kolmogorov-Smirnov")
    for lag in (1, 2, 4, 8, 16):
        correlation(test, f"elements {lag} apart", x[:-lag], x[lag:])


def normal(mean, scale):
    import numpy as np
    erf = np.vectorize(math.erf)
    return {"cumulative": lambda x: (1 + erf((x - mean) / (scale * math.sqrt(2)))) / 2, "mean": mean, "variance": scale**2, "fourth": 3 * scale**4}


def uniform(low, high):
    import numpy as np
    width = high - low
    return {"cumulative": lambda x: np.clip((x - low) / width, 0, 1), "mean": (low + high) / 2, "variance": width**2 / 12, "fourth": width**4 / 80}


def check(op, law, like=False, elem=1, opset=22, seeds=(1.0, 7.0, -3.5, None), **attributes):
    def run(test):
        import numpy as np
        inputs = [np.zeros(COUNT, "float32")] if like else []
        extra = {"dtype": elem} if not like or elem != 1 else {}
        if not like:
            extra["shape"] = [COUNT]
        drawn = []
        for seed in seeds:
            seeded = {} if seed is None else {"seed": seed}
            make = lambda: Drawn(model(op, inputs, elem=elem, opset=opset, **seeded, **extra, **attributes), inputs, f"{op}_{elem}_{opset}")
            first = make()
            (a,), (b,) = first.runs(2)
            (again,), = first.runs(1)
            test.assertEqual(a.dtype, {1: np.float32, 10: np.float16, 11: np.float64}[elem])
            test.assertTrue(np.array_equal(a, again), f"seed {seed} gives other numbers in a second session")
            (rebuilt,), = make().runs(1)
            test.assertTrue(np.array_equal(a, rebuilt), f"seed {seed} gives other numbers in a second file")
            test.assertEqual(np.array_equal(a, b), seed is not None, "a seed repeats its numbers in each run, a node without one draws on")
            drawn.append(a.astype("float64"))
            if seed is None:
                drawn.append(b.astype("float64"))
        for x in drawn:
            continuous(test, x, **law)
        for a, b in zip(drawn, drawn[1:]):
            correlation(test, "two seeds or runs", a, b)
    return run


def two_nodes(op):
    """Two nodes without seeds are not each other's copy."""
    def run(test):
        from onnx import helper
        nodes = [helper.make_node(op, [], [f"y{i}"], shape=[COUNT]) for i in range(2)]
        graph = helper.make_graph(nodes, "two", [], [helper.make_tensor_value_info(f"y{i}", 1, [COUNT]) for i in range(2)])
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
        (a, b), = Drawn(made, [], f"two_{op}").runs(1)
        correlation(test, "two nodes", a, b)
    return run


def bernoulli(p):
    def run(test):
        import numpy as np
        inputs = [np.full(COUNT, p, "float32")]
        (a,), (b,) = Drawn(model("Bernoulli", inputs), inputs, "bernoulli").runs(2)
        for x in (a, b):
            test.assertEqual(set(np.unique(x)) - {0.0, 1.0}, set())
            near(test, "frequency of 1", float(x.mean()), p, max(math.sqrt(p * (1 - p) / COUNT), 1e-9))
        if 0 < p < 1:
            correlation(test, "two runs", a, b)
            correlation(test, "neighbours", a[:-1], a[1:])
    return run


def multinomial(test):
    """Inputs are logarithms of probabilities, not of sum 1; a chi-square statistic for each row."""
    import numpy as np
    weights = np.float32([[1, 2, 3, 4], [5, 1, 0.001, 5]])
    inputs = [np.log(weights) + np.float32([[3], [-2]])]
    (y,), (again,) = Drawn(model("Multinomial", inputs, dims=(2, COUNT), elem=6, dtype=6, sample_size=COUNT), inputs, "multinomial").runs(2)
    test.assertEqual((y.dtype, y.shape), (np.dtype("int32"), (2, COUNT)))
    test.assertFalse(np.array_equal(y, again))
    for row, w in zip(y, weights.astype("float64")):
        p = w / w.sum()
        for k in range(4):
            near(test, f"frequency of {k}", float((row == k).mean()), p[k], math.sqrt(p[k] * (1 - p[k]) / COUNT))
        correlation(test, "neighbours", row[:-1].astype("float64"), row[1:].astype("float64"))


def dropout(ratio):
    """In training: zeros with probability `ratio`, the others scaled to keep the mean; the mask says which."""
    def run(test):
        import numpy as np
        from onnx import helper, numpy_helper
        x = np.random.default_rng(2).uniform(0.5, 1.5, COUNT).astype("float32")
        node = helper.make_node("Dropout", ["x", "ratio", "train"], ["y", "mask"])
        constants = [numpy_helper.from_array(np.float32(ratio).reshape(()), "ratio"), numpy_helper.from_array(np.array(True), "train")]
        infos = [helper.make_tensor_value_info("y", 1, [COUNT]), helper.make_tensor_value_info("mask", 9, [COUNT])]
        graph = helper.make_graph([node], "dropout", [helper.make_tensor_value_info("x", 1, [COUNT])], infos, constants)
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
        (y, mask), (_, other) = Drawn(made, [x], "dropout").runs(2)
        near(test, "what stays", float(mask.mean()), 1 - ratio, math.sqrt(ratio * (1 - ratio) / COUNT))
        np.testing.assert_allclose(y, np.where(mask, x / np.float32(1 - ratio), 0), rtol=1e-6)
        correlation(test, "two runs", mask.astype("float64"), other.astype("float64"))
    return run


def table():
    rows = {f"two_nodes_{op}": two_nodes(op) for op in ("RandomNormal", "RandomUniform")}
    for opset in (15, 22):
        for like in (False, True):
            end = ("_like" if like else "") + f"_opset_{opset}"
            rows["normal" + end] = check("RandomNormal" + ("Like" if like else ""), normal(1.5, 2.0), like, opset=opset, mean=1.5, scale=2.0)
            rows["uniform" + end] = check("RandomUniform" + ("Like" if like else ""), uniform(-1.0, 3.0), like, opset=opset, low=-1.0, high=3.0)
    rows["normal_double"] = check("RandomNormal", normal(0.0, 1.0), elem=11)
    rows["uniform_double"] = check("RandomUniform", uniform(0.0, 1.0), elem=11)
    for p in (0.0, 0.25, 0.9, 1.0):
        rows[f"bernoulli_{p}"] = bernoulli(p)
    return {**rows, "multinomial": multinomial, "dropout": dropout(0.3), "dropout_most": dropout(0.9)}


reason = support.missing("numpy", "onnx")
Distributions = support.cases(reason, {} if reason else table())

if __name__ == "__main__":
    support.main()
