"""Makers of the operators of ai.onnx.ml."""
import numpy as np
from onnx import TensorProto, helper

from case import maker, numpy_type

ML = "ai.onnx.ml"
NUMBERS = {TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT64, TensorProto.INT32}
POST = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")


def rows(c, features=None):
    n, k = c.size(), features or c.size()
    elem = c.t(c.schema.inputs[0].type_str, NUMBERS)
    return c.array((n, k), elem), k


def floats(c, count):
    return [c.draw.randint(-8, 8) / 4 for _ in range(count)]


@maker("ArrayFeatureExtractor", domain=ML, exact=True)
def extractor(c):
    elem = c.t("T")
    shape = c.shape(1, 3)
    if min(shape) == 0:
        c.unfit()
    return [c.array(shape, elem), c.rng.integers(0, shape[-1], c.one((c.size(),), (1, c.size()))).astype("int64")], {}


@maker("Binarizer", domain=ML, exact=True)
def binarizer(c):
    return [c.array(c.shape(1, 3), c.t("T"))], {"threshold": c.one(None, 0.5, -1.0)}


@maker("FeatureVectorizer", domain=ML, exact=True)
def vectorizer(c):
    elem, n, widths = c.t("T1"), c.size(), [c.size() for _ in range(c.draw.randint(1, 3))]
    return [c.array((n, w), elem) for w in widths], {"inputdimensions": widths}


@maker("Imputer", domain=ML, exact=True)
def imputer(c):
    x, k = rows(c)
    whole = x.dtype.kind == "i"
    count = c.one(1, k)
    if whole:
        return [x], {"imputed_value_int64s": c.draw.sample(range(20, 40), count), "replaced_value_int64": c.one(0, 1, -2)}
    gap = c.one(float("nan"), 0.5)
    x = np.where(c.rng.random(x.shape) < 0.3, np.asarray(gap, x.dtype), x)
    return [x], {"imputed_value_floats": floats(c, count), "replaced_value_float": gap}


@maker("LabelEncoder", domain=ML, exact=True)
def label_encoder(c):
    if c.version < 2:
        strings = c.chance(0.5)
        c.types.update(T1=TensorProto.STRING if strings else TensorProto.INT64)
        c.result_types[0] = TensorProto.INT64 if strings else TensorProto.STRING
        x = c.array(c.shape(), c.types["T1"], 0, 6)
        return [x], {"classes_strings": ["a", "abc", "dog"], "default_int64": c.one(None, -7), "default_string": c.one(None, "none")}
    kinds = {TensorProto.STRING: ("strings", "default_string", ["a", "abc", "42", "dog"], "zz"), TensorProto.INT64: ("int64s", "default_int64", [1, -2, 3, 0], 9),
             TensorProto.FLOAT: ("floats", "default_float", [0.5, 1.0, -2.0, 3.25], 7.5)}
    key, value = c.t("T1", set(kinds)), c.t("T2", set(kinds))
    attributes = {"keys_" + kinds[key][0]: kinds[key][2], "values_" + kinds[value][0]: kinds[value][2][::-1]}
    if c.chance(0.6):
        attributes[kinds[value][1]] = kinds[value][3]
    return [c.array(c.shape(), key)], attributes


@maker("CategoryMapper", domain=ML, exact=True)
def category_mapper(c):
    strings = c.chance(0.5)
    c.types["T1"] = TensorProto.STRING if strings else TensorProto.INT64
    c.result_types[0] = TensorProto.INT64 if strings else TensorProto.STRING
    return [c.array(c.shape(), c.types["T1"], 0, 5)], {"cats_int64s": [1, 2, 3], "cats_strings": ["a", "abc", "dog"], "default_int64": c.one(None, 9), "default_string": c.one(None, "no")}


@maker("OneHotEncoder", domain=ML, exact=True)
def one_hot_encoder(c):
    elem = c.t("T", NUMBERS | {TensorProto.STRING})
    c.result_types[0] = TensorProto.FLOAT
    if elem == TensorProto.STRING:
        return [c.array(c.shape(1, 2), elem)], {"cats_strings": ["a", "abc", "cat"], "zeros": 1}
    return [c.array(c.shape(1, 2), elem, 0, 3).round()], {"cats_int64s": [0, 1, 2, 3], "zeros": c.one(None, 0, 1)}


@maker("Scaler", domain=ML, exact=True)
def scaler(c):
    x, k = rows(c)
    c.result_types[0] = TensorProto.FLOAT
    count = c.one(1, k)
    return [x], {"offset": floats(c, count), "scale": floats(c, count)}


@maker("Normalizer", domain=ML)
def normalizer(c):
    c.result_types[0] = TensorProto.FLOAT
    return [rows(c)[0]], {"norm": c.one(None, "MAX", "L1", "L2")}


@maker("LinearRegressor", domain=ML)
def linear_regressor(c):
    x, k = rows(c)
    targets = c.size(1, 3)
    c.result_types[0] = TensorProto.FLOAT
    return [x], {"coefficients": floats(c, targets * k), "intercepts": floats(c, targets) if c.chance(0.6) else None, "targets": targets, "post_transform": c.one(None, *POST[:4])}


def labels(c, count):
    if c.chance(0.5):
        ints = "classlabels_ints" if "classlabels_ints" in c.schema.attributes else "classlabels_int64s"
        return {ints: c.draw.sample(range(-3, 9), count)}, TensorProto.INT64
    return {"classlabels_strings": c.draw.sample(["a", "b", "cat", "dog", "", "x"], count)}, TensorProto.STRING


@maker("LinearClassifier", domain=ML)
def linear_classifier(c):
    x, k = rows(c)
    classes = c.draw.randint(2, 4)
    names, elem = labels(c, classes)
    c.results, c.result_types = 2, {0: elem, 1: TensorProto.FLOAT}
    weights = classes if classes > 2 or c.chance(0.6) else 1
    return [x], {"coefficients": floats(c, weights * k), "intercepts": floats(c, weights), "post_transform": c.one(None, *POST[:4]),
                 "multi_class": c.one(None, 0, 1), **names}


@maker("SVMRegressor", domain=ML)
def svm_regressor(c):
    x, k = rows(c)
    c.result_types[0] = TensorProto.FLOAT
    c.atol = 1e-4
    supports = c.one(0, 1, 3)
    kernel = c.one("LINEAR", "POLY", "RBF", "SIGMOID") if supports else "LINEAR"
    return [x], {"coefficients": floats(c, supports or k), "support_vectors": floats(c, supports * k) or None, "n_supports": supports, "kernel_type": kernel,
                 "kernel_params": [0.5, 0.25, 2.0], "rho": [c.one(0.5, -1.0)], "post_transform": c.one(None, "NONE"), "one_class": c.one(None, 0, 1)}


@maker("SVMClassifier", domain=ML)
def svm_classifier(c):
    x, k = rows(c)
    classes = c.draw.randint(2, 3)
    names, elem = labels(c, classes)
    per = [c.draw.randint(1, 3) for _ in range(classes)]
    pairs = classes * (classes - 1) // 2
    c.results, c.result_types = 2, {0: elem, 1: TensorProto.FLOAT}
    c.atol = 1e-4
    probability = c.chance(0.3)
    return [x], {"coefficients": floats(c, (classes - 1) * sum(per)), "support_vectors": floats(c, sum(per) * k), "vectors_per_class": per,
                 "kernel_type": c.one("LINEAR", "POLY", "RBF", "SIGMOID"), "kernel_params": [0.5, 0.25, 2.0], "rho": floats(c, pairs),
                 "prob_a": floats(c, pairs) if probability else None, "prob_b": floats(c, pairs) if probability else None, "post_transform": c.one(None, "NONE"), **names}


def trees(c, k, modes):
    """Parallel lists of the nodes of one to three trees of depth up to 3, and where their leaves are: [(tree, node)]."""
    nodes, leaves = [], []
    for tree in range(c.draw.randint(1, 3)):
        count = 0

        def grow(depth):
            nonlocal count
            me = count
            count += 1
            at = len(nodes)
            nodes.append(None)
            if depth == 0 or c.chance(0.25):
                nodes[at] = (tree, me, 0, "LEAF", 0.0, 0, 0, 0)
                leaves.append((tree, me))
            else:
                yes = grow(depth - 1)
                no = grow(depth - 1)
                nodes[at] = (tree, me, c.draw.randrange(k), c.one(*modes), c.draw.randint(-8, 8) / 4, yes, no, c.one(0, 0, 1))
            return me

        grow(c.draw.randint(0, 3))
    fields = ("treeids", "nodeids", "featureids", "modes", "values", "truenodeids", "falsenodeids", "missing_value_tracks_true")
    return {"nodes_" + f: [n[i] for n in nodes] for i, f in enumerate(fields)}, leaves


MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")


@maker("TreeEnsembleRegressor", domain=ML)
def tree_regressor(c):
    x, k = rows(c)
    attributes, leaves = trees(c, k, c.one(MODES[:1], MODES))
    targets = c.draw.randint(1, 3)
    chosen = [(t, n, c.draw.randrange(targets), w) for (t, n), w in zip(leaves, floats(c, len(leaves)))]
    c.result_types[0] = TensorProto.FLOAT
    return [x], {**attributes, **{"target_" + f: [v[i] for v in chosen] for i, f in enumerate(("treeids", "nodeids", "ids", "weights"))}, "n_targets": targets,
                 "base_values": floats(c, targets) if c.chance(0.4) else None, "aggregate_function": c.one(None, "SUM", "AVERAGE", "MIN", "MAX"), "post_transform": c.one(None, *POST[:4])}


@maker("TreeEnsembleClassifier", domain=ML)
def tree_classifier(c):
    x, k = rows(c)
    attributes, leaves = trees(c, k, c.one(MODES[:1], MODES))
    classes = c.draw.randint(2, 4)
    names, elem = labels(c, classes)
    chosen = [(t, n, i, c.draw.randint(0, 8) / 8) for t, n in leaves for i in range(classes)]
    c.results, c.result_types = 2, {0: elem, 1: TensorProto.FLOAT}
    return [x], {**attributes, **{"class_" + f: [v[i] for v in chosen] for i, f in enumerate(("treeids", "nodeids", "ids", "weights"))},
                 "base_values": floats(c, classes) if c.chance(0.3) else None, "post_transform": c.one(None, *POST[:4]), **names}


@maker("TreeEnsemble", domain=ML)
def tree_ensemble(c):
    """One tree of one split, with a leaf on each side."""
    x, k = rows(c)
    dtype = numpy_type(c.types["T"])
    tensor = lambda name, values, t=dtype: helper.make_tensor(name, helper.np_dtype_to_tensor_dtype(np.dtype(t)), [len(values)], values)
    targets = c.draw.randint(1, 3)
    mode = c.draw.randint(0, 5)
    return [x], {"nodes_featureids": [c.draw.randrange(k)], "nodes_splits": tensor("splits", floats(c, 1)), "nodes_modes": tensor("modes", [mode], "uint8"),
                 "nodes_truenodeids": [0], "nodes_trueleafs": [1], "nodes_falsenodeids": [1], "nodes_falseleafs": [1], "tree_roots": [0],
                 "leaf_targetids": [c.draw.randrange(targets) for _ in range(2)], "leaf_weights": tensor("weights", floats(c, 2)), "n_targets": targets,
                 "aggregate_function": c.one(None, 0, 1, 2, 3), "post_transform": c.one(None, 0, 1, 2, 3)}
