#!/usr/bin/env python3
"""Operator cases that cannot be made from others: what steers a body, what holds tensors in sequences and optionals, what draws,
constants, casts by name, labels. One for each type that a version allows.

`written(schema, constraint, name)` gives a Written for an operator of WRITERS. Answers follow from numpy alone: most of these
operators move elements and change none. What an operator draws has a shape and a type, which is all that is compared.
"""
import collections

Written = collections.namedtuple("Written", "nodes inputs outputs constants", defaults=({},))

COUNT = 5  # elements of a row: no multiple of the elements in a byte of 4-bit and 2-bit types


def dtype_of(name):
    import numpy as np
    from onnx import TensorProto, helper
    return object if name == "string" else np.dtype(helper.tensor_dtype_to_np_dtype(TensorProto.DataType.Value(name.upper())))


def values(name, shape, start):
    """Elements that tell one place from another, as far as the type's values go."""
    import numpy as np
    count = int(np.prod(shape))
    numbers = (np.arange(count) * 3 + start) % 7
    if name == "string":
        return np.array([f"s{v}" for v in numbers], object).reshape(shape)
    if name == "bool":
        return (numbers % 2 == 0).reshape(shape)
    if name.endswith("int2"):
        numbers = numbers % 4 - (0 if name[0] == "u" else 2)
    elif name == "float8e8m0":
        numbers = 2.0**numbers
    elif name == "float4e2m1":
        numbers = np.array([0, 0.5, 1, 1.5, 2, -3, 4])[numbers]
    elif name.startswith("complex"):
        numbers = numbers - 1j * numbers[::-1]
    return numbers.astype(dtype_of(name)).reshape(shape)


def info(name, array, sequence=False):
    from onnx import helper
    kind = 8 if array.dtype == object else helper.np_dtype_to_tensor_dtype(array.dtype)
    make = helper.make_tensor_sequence_value_info if sequence else helper.make_tensor_value_info
    return make(name, kind, array.shape)


def scalar(value, kind):
    import numpy as np
    return np.array(value, kind)


def node(op, inputs, outputs, **attributes):
    from onnx import helper
    return helper.make_node(op, inputs, outputs, **attributes)


def graph(name, nodes, inputs, outputs):
    from onnx import helper
    return helper.make_graph(nodes, name, [info(k, v) for k, v in inputs.items()], [info(k, v) for k, v in outputs.items()])


def write_if(schema, constraint, name):
    kind = name if constraint == "V" else "float"
    x, y = values(kind, (COUNT,), 1), values(kind, (COUNT,), 3)
    branches = [graph(k, [node("Identity", [v], [k])], {}, {k: x}) for k, v in (("then", "x"), ("else", "y"))]
    return Written([node("If", ["c"], ["z"], then_branch=branches[0], else_branch=branches[1])], {"c": scalar(False, "bool"), "x": x, "y": y}, {"z": y})


def write_loop(schema, constraint, name):
    """Three trips that change two values about, and keep the first of them each time."""
    import numpy as np
    kind = name if constraint == "V" else "float"
    a, b = values(kind, (COUNT,), 1), values(kind, (COUNT,), 4)
    go = scalar(True, "bool")
    body = graph("body", [node("Identity", ["go"], ["on"]), node("Identity", ["b"], ["a2"]), node("Identity", ["a"], ["b2"]), node("Identity", ["a"], ["kept"])],
                 {"i": scalar(0, "int64"), "go": go, "a": a, "b": b}, {"on": go, "a2": a, "b2": b, "kept": a})
    return Written([node("Loop", ["n", "go0", "a0", "b0"], ["a3", "b3", "all"], body=body)], {"a0": a, "b0": b}, {"a3": b, "b3": a, "all": np.stack([a, b, a])},
                   {"n": scalar(3, "int64"), "go0": go})


def write_scan(schema, constraint, name):
    """A row takes the place of the state, which becomes a row of the output."""
    import numpy as np
    kind = name if constraint == "V" else "float"
    state, rows = values(kind, (COUNT,), 2), values(kind, (3, COUNT), 4)
    body = graph("body", [node("Identity", ["r"], ["s2"]), node("Identity", ["s"], ["kept"])], {"s": state, "r": state}, {"s2": state, "kept": state})
    inputs, late = ["s0", "rows"], np.concatenate([state[None], rows[:-1]])
    if schema.since_version > 8:
        return Written([node("Scan", inputs, ["last", "all"], body=body, num_scan_inputs=1)], {"s0": state, "rows": rows}, {"last": rows[-1], "all": late})
    lengths = {"lengths": np.array([3], "int64")} if constraint == "I" else {}
    return Written([node("Scan", ["lengths" if lengths else "", *inputs], ["last", "all"], body=body, num_scan_inputs=1)],
                   {"s0": state[None], "rows": rows[None]}, {"last": rows[None, -1], "all": late[None]}, lengths)


def write_constant(schema, constraint, name):
    from onnx import numpy_helper
    x = values(name, (2, COUNT), 1)
    return Written([node("Constant", [], ["y"], value=numpy_helper.from_array(x))], {}, {"y": x})


def write_sequence(schema, constraint, name):
    import numpy as np
    kind = name if constraint in ("S", "T", "V") else "float"
    place = name if constraint == "I" else "int64"
    tensors = {key: values(kind, (2, COUNT), start) for key, start in (("a", 1), ("b", 3), ("c", 4))}
    a, b, c = tensors.values()
    build, at = node("SequenceConstruct", ["a", "b", "c"], ["s"]), {"i": scalar(1, place)}
    joined = node("ConcatFromSequence", ["t"], ["y"], axis=1, new_axis=1)
    last = node("SequenceAt", ["s", "i"], ["y"])
    if schema.name in ("SequenceConstruct", "SequenceAt"):
        return Written([build, last], tensors, {"y": b}, at)
    if schema.name == "SequenceLength":
        return Written([build, node("SequenceLength", ["s"], ["y"])], tensors, {"y": scalar(3, "int64")})
    if schema.name == "SequenceInsert":
        return Written([node("SequenceConstruct", ["a", "b"], ["s"]), node("SequenceInsert", ["s", "c", "i"], ["t"]), joined], tensors, {"y": np.stack([a, c, b], 1)}, at)
    if schema.name == "SequenceErase":
        return Written([build, node("SequenceErase", ["s", "i"], ["t"]), joined], tensors, {"y": np.stack([a, c], 1)}, at)
    if schema.name == "SequenceEmpty":
        return Written([node("SequenceEmpty", [], ["s"], dtype=number_of(kind)), node("SequenceInsert", ["s", "b"], ["t"]), joined], {"b": b}, {"y": b[:, None]})
    if schema.name == "SequenceMap":
        body = graph("body", [node("Identity", ["r"], ["q"]), node("Identity", ["e"], ["p"])], {"r": a, "e": b}, {"q": a, "p": b})
        return Written([node("SequenceConstruct", ["a", "b"], ["s"]), node("SequenceMap", ["s", "c"], ["t", "u"], body=body), joined,
                        node("ConcatFromSequence", ["u"], ["z"], axis=0)], tensors, {"y": np.stack([a, b], 1), "z": np.concatenate([c, c])})
    return Written([build, node("ConcatFromSequence", ["s"], ["y"], axis=0)], tensors, {"y": np.concatenate([a, b, c])})


def number_of(name):
    from onnx import TensorProto
    return TensorProto.DataType.Value(name.upper())


def write_optional(schema, constraint, name):
    kind = name if constraint in ("V", "O") else "float"
    x = values(kind, (COUNT,), 1)
    has = [node("OptionalHasElement", ["x" if schema.name == "OptionalHasElement" and schema.since_version > 15 else "o"], ["has"])]
    wrap = [] if has[0].input[0] == "x" and schema.name == "OptionalHasElement" else [node("Optional", ["x"], ["o"])]
    get = [node("OptionalGetElement", ["o"], ["y"])] if wrap else []
    return Written(wrap + has + get, {"x": x}, {**({"y": x} if get else {}), "has": scalar(True, "bool")})


def write_cast(schema, constraint, name):
    """Version 1 names the type by text."""
    import numpy as np
    kind, to = (name, "float") if constraint == "T1" else ("float", name)
    x = values(kind, (COUNT,), 1)
    return Written([node("Cast", ["x"], ["y"], to=to.upper())], {"x": x}, {"y": np.asarray(x).astype(dtype_of(to))})


def write_dropout(schema, constraint, name):
    """At inference, where it hands its input on."""
    import numpy as np
    kind = name if constraint == "T" else "float"
    x = values(kind, (2, COUNT), 1)
    outputs = {"y": x, **({"mask": np.ones(x.shape, bool)} if schema.since_version > 7 else {})}
    if schema.since_version < 12:
        attributes = {"is_test": 1} if schema.since_version < 7 else {}
        return Written([node("Dropout", ["x"], list(outputs), ratio=0.25, **attributes)], {"x": x}, outputs)
    ratio = scalar(0.5, dtype_of(name if constraint == "T1" else "float"))
    return Written([node("Dropout", ["x", "ratio", "training"], list(outputs))], {"x": x}, outputs, {"ratio": ratio, "training": scalar(False, "bool")})


def write_drawn(schema, constraint, name):
    """The numbers given here are not compared, their shape and type are."""
    import numpy as np
    given, drawn = {"Bernoulli": ("T1", "T2"), "Multinomial": ("T1", "T2")}.get(schema.name, ("T1", "T2" if schema.name.endswith("Like") else "T"))
    kind = name if constraint == given else "float"
    out = name if constraint == drawn else "int64" if schema.name == "Multinomial" else "float"
    x = values(kind, (2, COUNT), 1)
    if schema.name == "Bernoulli":
        x = (np.arange(2 * COUNT).reshape(2, COUNT) % 2).astype(dtype_of(kind))
        return Written([node("Bernoulli", ["x"], ["y"], dtype=number_of(out))], {"x": x}, {"y": x.astype(dtype_of(out))})
    if schema.name == "Multinomial":
        return Written([node("Multinomial", ["x"], ["y"], dtype=number_of(out), sample_size=4)], {"x": x}, {"y": np.zeros((2, 4), out)})
    inputs, attributes = ({"x": x}, {}) if schema.name.endswith("Like") else ({}, {"shape": [2, COUNT]})
    return Written([node(schema.name, list(inputs), ["y"], dtype=number_of(out), **attributes)], inputs, {"y": np.zeros((2, COUNT), dtype_of(out))})


def write_labels(schema, constraint, name):
    """LabelEncoder: keys of one type to values of another; what has no key gets the default."""
    import numpy as np
    from onnx import helper, numpy_helper
    version = schema.since_version
    lists = {"int64": "int64s", "float": "floats", "string": "strings"}
    other = {1: {"string": "int64", "int64": "string"}}.get(version, {}).get(name, "int64")
    source, target = (name, other) if constraint == "T1" else (other, name)
    if version == 1:
        classes = np.array(["a", "b", "c"], object)
        if source == "int64":
            return Written([ml("LabelEncoder", classes_strings=list(classes), default_string="none")], {"x": np.array([2, 0, 9], "int64")},
                           {"y": np.array(["c", "a", "none"], object)})
        return Written([ml("LabelEncoder", classes_strings=list(classes), default_int64=-1)], {"x": np.array(["c", "a", "z"], object)}, {"y": np.array([2, 0, -1], "int64")})
    keys, mapped = values(source, (4,), 1), values(target, (4,), 2)
    rest, x = values(target, (1,), 6), np.concatenate([keys[[3, 1, 0, 2, 2]], values(source, (6,), 1)[5:]])
    answer = np.concatenate([mapped[[3, 1, 0, 2, 2]], rest])
    attributes = {}
    for key, kind, array in (("keys", source, keys), ("values", target, mapped)):
        if version >= 4 and (source not in lists or target not in lists):
            attributes[f"{key}_tensor"] = numpy_helper.from_array(array)
        else:
            attributes[f"{key}_{lists[kind]}"] = array.tolist()
    if "values_tensor" in attributes:
        attributes["default_tensor"] = numpy_helper.from_array(rest)
    else:
        attributes[f"default_{lists[target][:-1]}"] = rest.tolist()[0]
    return Written([ml("LabelEncoder", **attributes)], {"x": x}, {"y": answer})


def ml(op, **attributes):
    return node(op, ["x"], ["y"], domain="ai.onnx.ml", **attributes)


def write_bits(schema, constraint, name):
    """BitCast between types of one width."""
    import numpy as np
    width = {"complex128": ("complex128",), "complex64": ("int64",), "float4e2m1": ("uint4",), "int4": ("uint4",), "uint4": ("int4",), "int2": ("uint2",),
             "uint2": ("int2",), "uint64": ("int64",)}.get(name)
    if width is None:
        return None
    source, target = (name, width[0]) if constraint == "T1" else (width[0], name)
    x = values(source, (3, COUNT), 1)
    bits = int(name[-1]) if name.endswith(("int2", "int4")) else 4 if name == "float4e2m1" else 8
    y = x.view(dtype_of(target)) if bits == 8 else (x.view("uint8") & (2**bits - 1)).view(dtype_of(target))
    return Written([node("BitCast", ["x"], ["y"], to=number_of(target))], {"x": x}, {"y": np.asarray(y)})


def write_scaled(schema, constraint, name):
    """DequantizeLinear with scales that are powers of two alone."""
    if name != "float8e8m0":
        return None
    x, scale = values("int8", (2, COUNT), 1), values(name, (), 2)
    return Written([node("DequantizeLinear", ["x", "scale"], ["y"], output_dtype=1)], {"x": x, "scale": scale}, {"y": x.astype("float32") * scale.astype("float32")})


def write_enlarged(schema, constraint, name):
    """Resize and Upsample by whole numbers: each element a block."""
    import numpy as np
    if constraint == "T2":
        return None
    x = values(name, (1, 2, 2, 3), 1)
    y = x.repeat(2, 2).repeat(3, 3)
    if schema.since_version == 1:
        return Written([node("Upsample", ["x"], ["y"], mode="nearest", height_scale=2.0, width_scale=3.0)], {"x": x}, {"y": y})
    scales = [1.0, 1.0, 2.0, 3.0]
    if schema.since_version == 7:
        return Written([node("Upsample", ["x"], ["y"], mode="nearest", scales=scales)], {"x": x}, {"y": y})
    constants = {"scales": np.array(scales, "float32")}
    if schema.since_version <= 10:
        return Written([node(schema.name, ["x", "scales"], ["y"], mode="nearest")], {"x": x}, {"y": y}, constants)
    if schema.since_version == 11:  # its second input is not optional yet
        constants["roi"] = np.array([], "float32")
    return Written([node(schema.name, ["x", "roi" if "roi" in constants else "", "scales"], ["y"], mode="nearest", nearest_mode="floor",
                         coordinate_transformation_mode="asymmetric")], {"x": x}, {"y": y}, constants)


def write_tile(schema, constraint, name):
    import numpy as np
    if constraint != "T":
        return None
    x = values(name, (2, 3, 2), 1)
    return Written([node("Tile", ["x", "tiles", "axis"], ["y"])], {"x": x}, {"y": np.tile(x, (1, 3, 1))}, {"tiles": scalar(3, dtype_of(name)), "axis": scalar(1, dtype_of(name))})


def write_hot(schema, constraint, name):
    """OneHot of what is no number."""
    import numpy as np
    if constraint != "T3":
        return None
    indices, pair = np.array([1, 0, -1, 2], "int64"), values(name, (2,), 1)
    return Written([node("OneHot", ["i", "depth", "v"], ["y"])], {"i": indices, "v": pair}, {"y": pair[np.eye(3, dtype="int64")[indices]]}, {"depth": scalar(3, "int64")})


def write_scatter(schema, constraint, name):
    import numpy as np
    x, part, indices = values(name, (3, 4), 1), values(name, (2, 4), 3), np.array([[1, 0, 2, 0], [2, 1, 0, 1]], "int64")
    y = x.copy()
    np.put_along_axis(y, indices, part, 0)
    return Written([node("Scatter", ["x", "i", "u"], ["y"])], {"x": x, "i": indices, "u": part}, {"y": y})


def write_logarithm(schema, constraint, name):
    """Logarithms of sums, cut off to integers."""
    import numpy as np
    if not name.startswith(("int", "uint")):
        return None
    x = (np.arange(12).reshape(3, 4) * 5 % 11).astype(name)
    exact = x.astype("float64")
    y = np.log((np.exp(exact) if schema.name.endswith("Exp") else exact).sum(1, keepdims=True)).astype(name)
    if schema.since_version < 18:
        return Written([node(schema.name, ["x"], ["y"], axes=[1])], {"x": x}, {"y": y})
    return Written([node(schema.name, ["x", "axes"], ["y"])], {"x": x}, {"y": y}, {"axes": np.array([1], "int64")})


def write_quantized(schema, constraint, name):
    """QLinearMatMul, one of the three in that type: numbers that are exact in all of them, products too."""
    import numpy as np
    kinds = {key: name if key == constraint else "int8" for key in ("T1", "T2", "T3")}
    a, b = (np.array(rows, "float64").astype(dtype_of(kinds[key])) for key, rows in (("T1", [[1, -2, 3], [0, 2, 1]]), ("T2", [[2, 1], [-1, 0], [1, 4]])))
    y = (a.astype("float64") @ b.astype("float64") * 0.5 * 2 / 0.5).astype(dtype_of(kinds["T3"]))
    constants = {}
    for key, scale, kind in (("a", 0.5, kinds["T1"]), ("b", 2.0, kinds["T2"]), ("y", 0.5, kinds["T3"])):
        constants[f"{key}_scale"], constants[f"{key}_zero"] = scalar(scale, "float32"), scalar(0, "float32").astype(dtype_of(kind))
    return Written([node("QLinearMatMul", ["a", "a_scale", "a_zero", "b", "b_scale", "b_zero", "y_scale", "y_zero"], ["y"])], {"a": a, "b": b}, {"y": y}, constants)


def rounded(name, *arrays):
    """In that type, as float64."""
    return [a.astype(dtype_of(name)).astype("float64") for a in arrays]


def drawn(*shape):
    import numpy as np
    return np.random.default_rng(len(shape) + sum(shape)).standard_normal(shape)


def write_normalized(schema, constraint, name):
    """What onnx.reference has no such types of: Batch-, MeanVariance-, RMS- and LayerNormalization, the input in one type, the scale in another."""
    import numpy as np
    if schema.name == "MeanVarianceNormalization":
        x, = rounded(name, drawn(2, 3, 2, 4))
        y = (x - x.mean((0, 2, 3), keepdims=True)) / (x.std((0, 2, 3), keepdims=True) + 1e-9)
        return Written([node(schema.name, ["x"], ["y"])], {"x": x.astype(dtype_of(name))}, {"y": y.astype(dtype_of(name))})
    if schema.name == "BatchNormalization":
        x, scale, bias, mean, var = rounded(name, drawn(2, 3, 4), drawn(3), drawn(1, 3)[0], drawn(2, 3)[0], abs(drawn(3, 3)[0]) + 0.25)
        column = lambda v: v[:, None]
        y = (x - column(mean)) / np.sqrt(column(var) + 1e-5) * column(scale) + column(bias)
        given = {"x": x, "scale": scale, "bias": bias, "mean": mean, "var": var}
        old = {"is_test": 1, "consumed_inputs": [0, 0, 0, 1, 1]} if schema.since_version == 1 else {}
        return Written([node(schema.name, list(given), ["y"], **old)], {k: v.astype(dtype_of(name)) for k, v in given.items()}, {"y": y.astype(dtype_of(name))})
    if schema.name == "LayerNormalization":
        x, scale, bias = rounded(name, drawn(3, 4, 6), drawn(6), drawn(1, 6)[0])
        y = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * scale + bias
        given = {"x": x, "scale": scale, "bias": bias}
        return Written([node(schema.name, list(given), ["y"])], {k: v.astype(dtype_of(name)) for k, v in given.items()}, {"y": y.astype(dtype_of(name))})
    kinds = (name, "float") if constraint == "T" else ("float", name)
    x, scale = rounded(kinds[0], drawn(3, 4, 6))[0], rounded(kinds[1], drawn(6))[0]
    unit, = rounded(kinds[1], x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5))
    return Written([node(schema.name, ["x", "scale"], ["y"])], {"x": x.astype(dtype_of(kinds[0])), "scale": scale.astype(dtype_of(kinds[1]))},
                   {"y": (unit * scale).astype(dtype_of(kinds[1]))})


def forms(m):
    """Cases to make over that ONNX has none of: with the inputs and outputs that are mostly left out."""
    np = m.np
    x, hidden = m.real(3, 2, 4), 5
    lengths = np.array([3, 3], "int32")  # whole ones: what onnx.reference leaves out makes no difference
    for op, gates in (("RNN", 1), ("GRU", 3)):
        w, r, b = m.real(1, gates * hidden, 4), m.real(1, gates * hidden, hidden), m.real(1, 2 * gates * hidden)
        m.add("lengths", op, 14, [x, w, r, b, lengths], outputs=2, hidden_size=hidden)
    signal = m.real(1, 4, 2)
    spectrum = np.fft.fft(signal[..., 0] + 1j * signal[..., 1], 6, axis=1)
    m.add("length", "DFT", 17, [signal, np.array(6, "int64")], [np.stack([spectrum.real, spectrum.imag], -1).astype("float32")], axis=1)
    m.add("length", "DFT", 20, [signal, np.array(6, "int64")], [np.stack([spectrum.real, spectrum.imag], -1).astype("float32")])
    m.add("words", "TfIdfVectorizer", 9, [np.array(["b", "a", "b", "c"], object)], mode="TF", min_gram_length=1, max_gram_length=2, max_skip_count=0,
          ngram_counts=[0, 2], ngram_indexes=[0, 2, 1], pool_strings=["a", "b", "b", "c"])
    m.add("places", "MaxPool", 8, [m.real(1, 2, 5, 6)], outputs=2, types=[1, 7], kernel_shape=[2, 2], strides=[2, 2])
    codes = m.rng.integers(0, 255, (1, 2, 5, 5)).astype("uint8")
    one = lambda v, kind: np.array(v, kind)
    m.add("bias", "QLinearConv", 10, [codes, one(0.02, "float32"), one(120, "uint8"), m.rng.integers(0, 255, (3, 2, 3, 3)).astype("uint8"), one(0.01, "float32"), one(130, "uint8"),
                                      one(0.05, "float32"), one(128, "uint8"), m.rng.integers(-5000, 5000, 3).astype("int32")], types=[2])


def labelled(cases):
    """Classifiers once more, their labels strings."""
    import onnx
    import onnx_versions
    for case in cases:
        labels = [a for a in case.model.graph.node[0].attribute if a.name in ("classlabels_ints", "classlabels_int64s")]
        if not labels:
            continue
        model = onnx.ModelProto()
        model.CopyFrom(case.model)
        for attribute in model.graph.node[0].attribute:
            if attribute.name == labels[0].name:
                attribute.CopyFrom(onnx.helper.make_attribute("classlabels_strings", [f"label {v}" for v in attribute.ints]))
        model.graph.output[0].type.tensor_type.elem_type = onnx.TensorProto.STRING
        told = onnx_versions.by_onnxruntime(model, {i.name: v for i, v in zip(model.graph.input, case.inputs)})
        if told is not None:
            yield case._replace(name=case.name + "_text", model=model, outputs=told)


WRITERS = {
    "If": write_if, "Loop": write_loop, "Scan": write_scan, "Constant": write_constant, "Cast": write_cast, "Dropout": write_dropout,
    "LabelEncoder": write_labels,
    **dict.fromkeys(["SequenceConstruct", "SequenceAt", "SequenceLength", "SequenceInsert", "SequenceErase", "SequenceEmpty", "SequenceMap", "ConcatFromSequence"], write_sequence),
    "BitCast": write_bits, "DequantizeLinear": write_scaled, "Resize": write_enlarged, "Upsample": write_enlarged, "Tile": write_tile,
    "OneHot": write_hot, "Scatter": write_scatter, "ReduceLogSum": write_logarithm, "ReduceLogSumExp": write_logarithm, "QLinearMatMul": write_quantized,
    **dict.fromkeys(["BatchNormalization", "MeanVarianceNormalization", "RMSNormalization", "LayerNormalization"], write_normalized),
    **dict.fromkeys(["Optional", "OptionalHasElement", "OptionalGetElement"], write_optional),
    **dict.fromkeys(["Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"], write_drawn),
}


# Made over from ONNX's cases where that can be; written here for what is left.
LAST = (write_bits, write_scaled, write_enlarged, write_tile, write_hot, write_scatter, write_logarithm, write_quantized, write_normalized)


def first(schema, name):
    """Written here alone: what steers a body, draws, or whose newest form says the type in another way; logarithms of integers, which
    ONNX Runtime cuts off inside the sum and onnx.reference at its end: the same for numbers that are not negative."""
    writer = WRITERS.get(schema.name)
    if writer is write_tile:
        return schema.since_version == 1  # constants, as the importer wants them
    if writer is write_quantized:
        return name.startswith("float8")  # onnx.reference multiplies the scales in float16
    if writer is write_logarithm:
        return name.startswith(("int", "uint"))
    return writer is not None and writer not in LAST and (writer is not write_cast or schema.since_version == 1)


def written(schema, constraint, name):
    """(model, feed, answers) of one case; None where nothing is written for it."""
    from onnx import helper, numpy_helper
    if schema.name not in WRITERS or (schema.name == "Cast" and schema.since_version > 1):
        return None
    case = WRITERS[schema.name](schema, constraint, name)
    if case is None:
        return None
    imports = [helper.make_opsetid(schema.domain, schema.since_version)] + ([helper.make_opsetid("", 21)] if schema.domain else [])
    constants = [numpy_helper.from_array(array, key) for key, array in case.constants.items()]
    body = helper.make_graph(case.nodes, "case", [info(k, v) for k, v in case.inputs.items()], [info(k, v) for k, v in case.outputs.items()], constants)
    return helper.make_model(body, opset_imports=imports, ir_version=13), case.inputs, list(case.outputs.values())
