"""Maps: CastMap, DictVectorizer and ZipMap over drawn maps, against ONNX Runtime and against what their definitions say; whole
classifiers that end in ZipMap; what is wrong about maps, refused or failed with a word about it."""
import random
import sys

import support

sys.path.insert(0, str(support.ROOT / "tests"))

FLOAT, INT64, STRING, DOUBLE = 1, 7, 8, 11
ML = "ai.onnx.ml"
DRAWN = 12  # models of each form
RUNS = 6    # maps given to each


def numpy_type(kind):
    return {FLOAT: "float32", INT64: "int64", STRING: object, DOUBLE: "float64"}[kind]


def draw_key(draw, kind):
    if kind == STRING:
        return draw.choice(["", "a", "b", "ab", "ä", "名"]) + "".join(draw.choices("abxyz_ é", k=draw.randrange(3)))
    return draw.choice([draw.randrange(-4, 12), draw.randrange(-2**63, 2**63)])


def draw_value(draw, kind):
    if kind == STRING:
        return draw.choice(["", "one", "zwei", "三", "x" * 300])
    if kind == INT64:
        return draw.choice([0, -1, draw.randrange(-2**63, 2**63)])
    import numpy as np
    wide = draw.choice([0.0, -0.0, draw.gauss(0, 10), float("nan"), float("inf"), 1e30])
    return float(np.float32(wide)) if kind == FLOAT else wide


def draw_map(draw, keys, value, most):
    chosen = draw.sample(keys, min(len(keys), draw.randrange(most + 1)))
    return {k: draw_value(draw, value) for k in chosen}


def model_of(nodes, inputs, outputs, opset=21, constants=()):
    from onnx import helper
    graph = helper.make_graph(nodes, "maps", inputs, outputs, list(constants))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset), helper.make_opsetid(ML, 3)], ir_version=8 if opset < 19 else 10)


def map_info(name, key, value):
    from onnx import helper
    import onnx_versions
    return helper.make_value_info(name, onnx_versions.map_type(key, value))


def node(op, inputs, outputs, **attributes):
    from onnx import helper
    return helper.make_node(op, inputs, outputs, domain=ML if op in ONES_OF_ML else "", **attributes)


ONES_OF_ML = {"CastMap", "DictVectorizer", "ZipMap", "LinearClassifier", "TreeEnsembleClassifier", "SVMClassifier", "Normalizer", "Scaler", "FeatureVectorizer"}


def save(model, test):
    import onnx
    path = support.WORK / f"maps_{test.id().split('.')[-1]}.onnx"
    onnx.save(model, str(path))
    return path


def by_onnxruntime(model):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def feed_of(inputs):
    """Maps as their keys and values: {name: (map, key type, value type) or array}."""
    import numpy as np
    feed = {}
    for name, given in inputs.items():
        if isinstance(given, tuple):
            given, key, value = given
            feed[name + ".keys"] = np.array(list(given), numpy_type(key)).reshape(len(given))
            feed[name + ".values"] = np.array(list(given.values()), numpy_type(value)).reshape(len(given))
        else:
            feed[name] = given
    return feed


def run_all(path, feeds, *arguments):
    """One session for all feeds, with the bounds of the largest."""
    import numpy as np
    import vireo
    file = support.convert(path, None, *arguments)
    answers = []
    with vireo.Model(file) as loaded:
        bounds = {}
        for feed in feeds:
            for name, extent in loaded.bounds_for(**feed).items():
                bounds[name] = (0, max(extent if isinstance(extent, int) else extent[1], bounds.get(name, (0, 0))[1]))
        names = [v.name for v in loaded.outputs]
        with loaded.session(bounds) as running:
            for feed in feeds:
                answers.append(dict(zip(names, (np.array(a) for a in running.run(feed=feed)))))
    file.unlink()
    return answers


def same(test, got, want, what):
    import numpy as np
    want = np.asarray(want)
    test.assertEqual(got.shape, want.shape, what)
    if want.dtype.kind in "OU":
        test.assertEqual(got.tolist(), want.tolist(), what)
        return
    test.assertEqual(got.dtype, want.dtype, what)
    test.assertTrue(np.array_equal(got, want, equal_nan=want.dtype.kind == "f"), f"{what}: {got} is not {want}")


def runtime():
    """ONNX Runtime for maps of any type, made once."""
    import onnxruntime_maps
    if not RUNTIME:
        RUNTIME.append(onnxruntime_maps.Runtime())
    return RUNTIME[0]


RUNTIME = []


def against_both(test, model, maps, key, value, expected, told=True):
    """Each of `maps`: as `expected` says, which is what ONNX Runtime says if `told`."""
    path = save(model, test)
    running = runtime().session(model) if told else None
    feeds = [feed_of({"x": (given, key, value)}) for given in maps]
    for arguments in ([], ["--no-optimize"]):
        for given, got in zip(maps, run_all(path, feeds, *arguments)):
            want = expected(given)
            if running is not None:
                same(test, running(given), want, f"the definition of {given}")
            same(test, got["y"], want, f"{given} {' '.join(arguments)}")
    path.unlink()


def dict_vectorizer(key, value):
    def run(test):
        import numpy as np
        from onnx import helper
        import onnx_versions
        draw = random.Random(f"{key} {value}")
        for _ in range(DRAWN):
            keys = list({draw_key(draw, key) for _ in range(draw.randrange(1, 40))})
            vocabulary = draw.choices([*keys, *(draw_key(draw, key) for _ in range(3))], k=draw.randrange(1, 30))
            name = "string_vocabulary" if key == STRING else "int64_vocabulary"
            model = model_of([node("DictVectorizer", ["x"], ["y"], **{name: vocabulary})], [map_info("x", key, value)],
                             [helper.make_tensor_value_info("y", value, None)])
            maps = [{}, *(draw_map(draw, keys, value, len(keys)) for _ in range(RUNS))]
            against_both(test, model, maps, key, value, lambda given: onnx_versions.dict_vectorizer(np, given, vocabulary, numpy_type(value)))
    return run


def cast_map(value, to, form):
    def run(test):
        import numpy as np
        from onnx import helper
        import onnx_versions
        draw = random.Random(f"{value} {to} {form}")
        kind = {"TO_FLOAT": FLOAT, "TO_INT64": INT64, "TO_STRING": STRING}[to]

        def entry():
            number = draw.choice([0, draw.randrange(-10**6, 10**6)])
            if value == FLOAT:
                return float(np.float32(number / draw.choice([1, 3, 8])))
            whole = str(number)
            return draw.choice([whole, whole + ".5"]) if to == "TO_FLOAT" else whole if to == "TO_INT64" else draw_value(draw, STRING)

        def expected(given):
            if value == FLOAT:
                given = {k: np.float32(v) for k, v in given.items()}
            return onnx_versions.cast_map(np, given, **attributes)

        for _ in range(DRAWN):
            attributes = {"cast_to": to, "map_form": form, "max_map": draw.randrange(1, 30)}
            low = -50 if form == "DENSE" else 0
            keys = list({draw.choice([draw.randrange(low, 40), draw.randrange(-2**63 if low else 0, 2**63)]) for _ in range(40)})
            model = model_of([node("CastMap", ["x"], ["y"], **attributes)], [map_info("x", INT64, value)], [helper.make_tensor_value_info("y", kind, None)])
            maps = [{}, *({k: entry() for k in draw.sample(keys, draw.randrange(len(keys) + 1))} for _ in range(RUNS))]
            against_both(test, model, maps, INT64, value, expected, told=value == STRING or to != "TO_STRING")
    return run


def text_of_numbers(test):
    """ONNX Runtime writes six decimals, Vireo what Cast writes: the same numbers, as far as six decimals go."""
    from onnx import helper
    draw = random.Random(7)
    model = model_of([node("CastMap", ["x"], ["y"], cast_to="TO_STRING", map_form="SPARSE", max_map=9)], [map_info("x", INT64, FLOAT)],
                     [helper.make_tensor_value_info("y", STRING, None)])
    path, running = save(model, test), by_onnxruntime(model)
    maps = [{k: draw.gauss(0, 100) for k in draw.sample(range(12), 6)} for _ in range(20)]
    for given, got in zip(maps, run_all(path, [feed_of({"x": (given, INT64, FLOAT)}) for given in maps])):
        want = running.run(None, {"x": given})[0]
        test.assertEqual(got["y"].shape, want.shape)
        for k, (g, w) in enumerate(zip(got["y"][0], want[0])):
            test.assertEqual(g == "0.f", w == "0.f", f"{given} at {k}")
            if g != "0.f":
                test.assertAlmostEqual(float(g), float(w), delta=1e-6 + 1e-6 * abs(float(w)))
    path.unlink()


def fails_below_zero(test):
    """As in ONNX Runtime, a sparse key below zero fails the run; the session goes on with what is right."""
    import numpy as np
    import vireo
    from onnx import helper
    model = model_of([node("CastMap", ["x"], ["y"], map_form="SPARSE", max_map=4, name="pack")], [map_info("x", INT64, FLOAT)], [helper.make_tensor_value_info("y", FLOAT, None)])
    path = save(model, test)
    with test.assertRaises(Exception):
        by_onnxruntime(model).run(None, {"x": {-1: 1.0, 2: 5.0}})
    for arguments in ([], ["--no-optimize"]):
        file = support.convert(path, None, "--elements", "x=3", *arguments)
        with vireo.Model(file) as loaded, loaded.session() as running:
            for wrong in (-1, -4, -5, -2**63):
                with test.assertRaises(vireo.VireoError) as caught:
                    running.run(feed=feed_of({"x": ({wrong: 1.0, 2: 5.0}, INT64, FLOAT)}))
                test.assertIn("pack", caught.exception.node + str(caught.exception))
            got = running.run(feed=feed_of({"x": ({4: 1.0, 2: 5.0, 2**63 - 1: 3.0}, INT64, FLOAT)}))[0]
            test.assertEqual(got.tolist(), [[0, 0, 5, 0]])
            with test.assertRaises(vireo.VireoError):  # more than --elements said
                running.run(feed=feed_of({"x": ({k: 1.0 for k in range(4)}, INT64, FLOAT)}))
            with test.assertRaises(vireo.VireoError):  # not as many values as keys
                running.run(feed={"x.keys": np.int64([1, 2]), "x.values": np.float32([1])})
        file.unlink()
    path.unlink()


def maps_agree(test, got, want, name, what):
    """Keys and values of the output `name` are the maps that ONNX Runtime gives."""
    import numpy as np
    keys, values = got[name + ".keys"], got[name + ".values"]
    test.assertEqual(values.shape, (len(want), keys.size), what)
    for row, wanted in zip(values, want):
        made = dict(zip(keys.tolist(), row.tolist()))
        test.assertEqual(sorted(made), sorted(wanted), what)
        for key, number in wanted.items():
            test.assertTrue(np.isclose(made[key], number, rtol=1e-5, atol=1e-6, equal_nan=True), f"{what}: {key}: {made[key]} is not {number}")


def draw_labels(draw, key, count):
    return [draw_key(draw, key) for _ in range(count)]


def zip_map(key, rank, opset):
    def run(test):
        import numpy as np
        from onnx import helper
        import onnx_versions
        draw, numbers = random.Random(f"zip {key} {rank} {opset}"), np.random.default_rng(3)
        name = "classlabels_strings" if key == STRING else "classlabels_int64s"
        for i in range(DRAWN):
            labels = draw_labels(draw, key, draw.randrange(1, 9))  # some come twice
            columns = None if i % 3 == 0 else len(labels)
            out = helper.make_value_info("y", helper.make_sequence_type_proto(onnx_versions.map_type(key, FLOAT)))
            model = model_of([node("ZipMap", ["x"], ["y"], **{name: labels})], [helper.make_tensor_value_info("x", FLOAT, [None, columns][2 - rank:])], [out], opset)
            path, running = save(model, test), by_onnxruntime(model)
            feeds = [{"x": numbers.standard_normal((n, len(labels))[2 - rank:]).astype("float32")} for n in (1, 5, 2)]
            for arguments in ([], ["--no-optimize"]):
                for feed, got in zip(feeds, run_all(path, feeds, *arguments)):
                    maps_agree(test, got, running.run(None, feed)[0], "y", f"{labels} {' '.join(arguments)}")
            path.unlink()
    return run


def too_many_columns(test):
    """Where only a run knows how many columns there are, the run fails; ONNX Runtime's does too."""
    import numpy as np
    import vireo
    from onnx import helper
    import onnx_versions
    out = helper.make_value_info("y", helper.make_sequence_type_proto(onnx_versions.map_type(INT64, FLOAT)))
    model = model_of([node("ZipMap", ["x"], ["y"], classlabels_int64s=[1, 2, 3], name="zip")], [helper.make_tensor_value_info("x", FLOAT, ["N", "C"])], [out])
    path = save(model, test)
    file = support.convert(path)
    with vireo.Model(file) as loaded, loaded.session({"N": (1, 4), "C": (2, 4)}) as running:
        for columns in (2, 4):
            x = np.ones((2, columns), "float32")
            with test.assertRaises(vireo.VireoError) as caught:
                running.run(x)
            test.assertIn("\"zip\"", str(caught.exception))
            with test.assertRaises(Exception):
                by_onnxruntime(model).run(None, {"x": x})
        test.assertEqual(running.run(np.ones((2, 3), "float32"))[1].tolist(), [[1, 1, 1], [1, 1, 1]])
    file.unlink()
    path.unlink()


# ---- whole classifiers, as converters of scikit-learn write them ----

def linear(draw, labels):
    return "LinearClassifier", {"coefficients": [draw.gauss(0, 1) for _ in range(4 * len(labels["list"]))], "intercepts": [0.1] * len(labels["list"]),
                                "multi_class": 1, "post_transform": "SOFTMAX", labels["ints"]: labels["list"]}


def trees(draw, labels):
    ids = range(len(labels["list"]))
    nodes, rows = [], []
    for tree in range(6):
        for i in range(3):
            nodes.append((tree, i, draw.randrange(4), draw.gauss(0, 1), "BRANCH_LEQ" if i == 0 else "LEAF", 1 if i == 0 else 0, 2 if i == 0 else 0))
        rows += [(tree, leaf, c, draw.random()) for leaf in (1, 2) for c in ids]
    names = ("nodes_treeids", "nodes_nodeids", "nodes_featureids", "nodes_values", "nodes_modes", "nodes_truenodeids", "nodes_falsenodeids")
    attributes = {name: [n[k] for n in nodes] for k, name in enumerate(names)}
    attributes.update({name: [r[k] for r in rows] for k, name in enumerate(("class_treeids", "class_nodeids", "class_ids", "class_weights"))})
    return "TreeEnsembleClassifier", {**attributes, labels["int64s"]: labels["list"]}


def support_vectors(draw, labels):
    each, count = 2, len(labels["list"])
    return "SVMClassifier", {"coefficients": [draw.gauss(0, 1) for _ in range((count - 1) * count * each)], "support_vectors": [draw.gauss(0, 1) for _ in range(4 * count * each)],
                             "vectors_per_class": [each] * count, "rho": [0.1] * (count * (count - 1) // 2), "kernel_type": "RBF", "kernel_params": [0.3, 0.0, 0.0],
                             "prob_a": [-1.0] * (count * (count - 1) // 2), "prob_b": [0.1] * (count * (count - 1) // 2), labels["ints"]: labels["list"]}


def classifier(kind, key, from_map):
    """Features, or a dictionary that becomes features, scaled, classified; the label, and a map from label to probability."""
    def run(test):
        import numpy as np
        from onnx import helper
        import onnx_versions
        draw, numbers = random.Random(f"{kind.__name__} {key}"), np.random.default_rng(4)
        for _ in range(6):
            strings = key == STRING
            labels = {"list": ["setosa", "versicolor", "virginica"] if strings else [7, -2, 30], **{n: "classlabels_strings" if strings else f"classlabels_{n}" for n in ("ints", "int64s")}}
            op, attributes = kind(draw, labels)
            vocabulary = ["height", "width", "petals", "Länge"]
            nodes = [node("DictVectorizer", ["x"], ["raw"], string_vocabulary=vocabulary)] if from_map else []
            nodes += [node("Scaler", ["raw" if from_map else "x"], ["scaled"], offset=[0.1] * 4, scale=[0.5, 1.0, 2.0, 1.5]), node(op, ["scaled"], ["label", "scores"], **attributes),
                      node("Normalizer", ["scores"], ["shares"], norm="L1"), node("ZipMap", ["shares"], ["probability"], **{labels["int64s"]: labels["list"]})]
            info = map_info("x", STRING, FLOAT) if from_map else helper.make_tensor_value_info("x", FLOAT, ["N", 4])
            outs = [helper.make_tensor_value_info("label", key, None), helper.make_value_info("probability", helper.make_sequence_type_proto(onnx_versions.map_type(key, FLOAT)))]
            model = model_of(nodes, [info], outs)
            path, running = save(model, test), by_onnxruntime(model)
            if from_map:
                given = [{k: float(np.float32(draw.gauss(0, 1))) for k in draw.sample([*vocabulary, "unknown"], draw.randrange(1, 6))} for _ in range(RUNS)]
                feeds = [feed_of({"x": (g, STRING, FLOAT)}) for g in given]
            else:
                given = [numbers.standard_normal((n, 4)).astype("float32") for n in (1, 3, 8)]
                feeds = [{"x": g} for g in given]
            for arguments in ([], ["--no-optimize"]):
                for g, got in zip(given, run_all(path, feeds, *arguments)):
                    label, maps = running.run(None, {"x": g})
                    same(test, got["label"], label, f"{op} {' '.join(arguments)}")
                    maps_agree(test, got, maps, "probability", op)
            path.unlink()
    return run


def exported(test):
    """--emit-onnx writes tensors in the place of maps; ONNX Runtime computes the same from them."""
    import numpy as np
    import onnx
    from onnx import helper
    import onnx_versions
    out = [helper.make_tensor_value_info("v", FLOAT, None), helper.make_value_info("y", helper.make_sequence_type_proto(onnx_versions.map_type(STRING, FLOAT)))]
    model = model_of([node("DictVectorizer", ["x"], ["v"], int64_vocabulary=[3, 1, 4]), node("ZipMap", ["v"], ["y"], classlabels_strings=["c", "a", "d"])], [map_info("x", INT64, FLOAT)], out)
    path = save(model, test)
    written = path.with_suffix(".written.onnx")
    support.vireo("convert", path, "--emit-onnx", written)
    again = onnx.load(str(written))
    test.assertEqual([i.name for i in again.graph.input], ["x.keys", "x.values"])
    test.assertEqual([o.name for o in again.graph.output], ["v", "y.keys", "y.values"])
    v, keys, values = by_onnxruntime(again).run(None, {"x.keys": np.int64([4, 9, 3]), "x.values": np.float32([1, 2, 5])})
    test.assertEqual((v.tolist(), list(keys), values.tolist()), ([[5, 0, 1]], ["c", "a", "d"], [[5, 0, 1]]))
    written.unlink()
    path.unlink()


def refused(test):
    """Refusals name the file's node and say what to do; the node alone, as --reproduce writes it, is refused in the same words."""
    from onnx import helper
    out = [helper.make_tensor_value_info("y", FLOAT, None)]
    rows = {
        "both of string_vocabulary and int64_vocabulary": [node("DictVectorizer", ["x"], ["y"], name="bad", string_vocabulary=["a"], int64_vocabulary=[1])],
        "neither of string_vocabulary and int64_vocabulary": [node("DictVectorizer", ["x"], ["y"], name="bad")],
        "string_vocabulary is given for a map with int64 keys": [node("DictVectorizer", ["x"], ["y"], name="bad", string_vocabulary=["a"])],
        "map_form 'HALF'": [node("CastMap", ["x"], ["y"], name="bad", map_form="HALF")],
        "max_map is -1": [node("CastMap", ["x"], ["y"], name="bad", map_form="SPARSE", max_map=-1)],
        'its input "x" is a map, wanted a tensor': [node("Neg", ["x"], ["y"], name="bad")],
    }
    folder = support.WORK / "maps_reproduced"
    for words, nodes in rows.items():
        path = save(model_of(nodes, [map_info("x", INT64, FLOAT)], out), test)
        done = support.vireo("check", path, "--elements", "x=4", "--reproduce", folder, check=False)
        test.assertEqual(done.returncode, 1, done.stderr)
        for word in (words, '"bad"'):
            test.assertIn(word, done.stderr)
        alone = sorted(folder.glob("*.onnx"))
        test.assertEqual(len(alone), 1, words)
        test.assertIn(words, support.vireo("check", alone[0], check=False).stderr)
        for file in folder.iterdir():
            file.unlink()
        path.unlink()
    folder.rmdir()


def table():
    rows = {f"dict_vectorizer_{key}_to_{value}": dict_vectorizer(key, value) for key, value in
            ((STRING, INT64), (INT64, STRING), (INT64, FLOAT), (INT64, DOUBLE), (STRING, FLOAT), (STRING, DOUBLE))}
    rows.update({f"cast_map_{value}_{to}_{form}".lower(): cast_map(value, to, form) for value in (FLOAT, STRING) for to in ("TO_FLOAT", "TO_INT64", "TO_STRING") for form in ("DENSE", "SPARSE")})
    rows.update({f"zip_map_{key}_rank_{rank}_opset_{opset}": zip_map(key, rank, opset) for key in (STRING, INT64) for rank in (1, 2) for opset in (11, 21)})
    rows.update({f"{kind.__name__}_{key}{'_from_map' if from_map else ''}": classifier(kind, key, from_map)
                 for kind in (linear, trees, support_vectors) for key in (STRING, INT64) for from_map in (False, True)})
    rows.update({f.__name__: f for f in (text_of_numbers, fails_below_zero, too_many_columns, exported, refused)})
    return rows


reason = support.missing("numpy", "onnx", "onnxruntime")
Maps = support.cases(reason, {} if reason else table())

if __name__ == "__main__":
    support.main()
