#!/usr/bin/env python3
"""Every operator at every version it ever had: one-node models in the opset of each version, as files that `vireo conformance`
reads.

    onnx_versions.py DIR         makes DIR/<case>/{model.onnx, case.json, test_data_set_0/...}; prints, by version, what has no case
    for case in cases(): ...     case.name, .domain, .op, .version, .model, .inputs, .outputs, .rtol, .atol, .source
    kept_cases(FOLDER)           the same as a list, kept there from one run to the next

Two makers. Most versions: the newest cases of the onnx package set back: attributes that did not exist yet are left out where
they have their default, inputs that used to be attributes become those, the model gets the version's opset; what the version's
schema does not allow is left. Forms that no newest case has (broadcasting by attribute, types as text, flags of training) are
written out here.

Answers, by `source`: `onnxruntime` where it runs the version; otherwise `formula`, written out here, or `onnx`, the newest
case's own answer, for operators whose meaning has not changed between (MEANING lists those where it has).
"""
import collections
import json
import os
import pickle
import sys
import warnings
import zlib

import onnx_cases

Case = collections.namedtuple("Case", "name domain op version model inputs outputs rtol atol source")

# Operators whose answer to the same node changed with the version named: below it, the newest answer says nothing.
MEANING = {"Softmax": 13, "LogSoftmax": 13, "Hardmax": 13, "Resize": 11, "Upsample": 10, "BatchNormalization": 9, "Scan": 9, "Loop": 11,
           "GroupNormalization": 21, "AveragePool": 7, "Split": 2, "MeanVarianceNormalization": 9, "Dropout": 10, "Cast": 6, "TopK": 10,
           "Pad": 2, "GRU": 3, "GlobalLpPool": 2, "LpPool": 2, "PRelu": 7, "RoiAlign": 16}
# Cases kept for each version: enough to meet every form once, few enough to run in seconds.
CASES_PER_VERSION = 6


def ir_version(opset):
    """The format's version of the time; 3 is the first that has opsets."""
    return 3 if opset < 9 else 4 if opset < 10 else 6 if opset < 13 else 8 if opset < 19 else 10


def no_default(attribute):
    return attribute.default_value.type == 0


def set_back(case, schema, newest):
    """The newest case's node as `schema` spells it: (node, inputs, constants of the graph that became attributes); None when it
    cannot."""
    import onnx
    import numpy as np
    graph = case.model.graph
    node = onnx.NodeProto()
    node.CopyFrom(graph.node[0])
    data = dict(zip([i.name for i in graph.input], case.data_sets[0][0]))
    kept = []
    for a in node.attribute:
        if a.name in schema.attributes:
            if schema.attributes[a.name].type.value != a.type:
                return None
            kept.append(a)
        elif a.name not in newest.attributes or no_default(newest.attributes[a.name]) or a.SerializeToString() != renamed(newest.attributes[a.name], a.name):
            return None
    del node.attribute[:]
    node.attribute.extend(kept)
    if any(a.required and name not in {k.name for k in kept} and name not in {i.name for i in newest.inputs} for name, a in schema.attributes.items()):
        return None
    formal = [i.name for i in schema.inputs]
    variadic = bool(schema.inputs) and schema.inputs[-1].option == schema.inputs[-1].option.__class__.Variadic
    names = []
    for position, name in enumerate(node.input):
        if not name:
            names.append(name)
            continue
        mine = newest.inputs[min(position, len(newest.inputs) - 1)].name
        if mine in schema.attributes and (position >= len(formal) or formal[position] != mine):
            value = np.asarray(data[name])
            if value.dtype.kind not in "fiu":
                return None
            wanted = schema.attributes[mine].type.name
            if wanted.endswith("S"):
                value = [kind(v) for v in value.reshape(-1) for kind in [float if wanted == "FLOATS" else int]]
            elif value.size == 1:
                value = float(value.reshape(-1)[0]) if wanted == "FLOAT" else int(value.reshape(-1)[0])
            else:
                return None
            node.attribute.append(onnx.helper.make_attribute(mine, value, attr_type=getattr(onnx.AttributeProto, wanted)))
            data.pop(name)
        elif position >= len(formal) and not variadic:
            return None
        else:
            names.append(name)
    while names and not names[-1]:
        names.pop()
    del node.input[:]
    node.input.extend(names)
    if len(node.output) > max(len(schema.outputs), schema.max_output):
        return None
    return node, {n: data[n] for n in dict.fromkeys(names) if n}


def renamed(attribute, name):
    import onnx
    a = onnx.AttributeProto()
    a.CopyFrom(attribute.default_value)
    a.name = name
    return a.SerializeToString()


def type_text(info):
    """What a schema calls the type of a value."""
    import onnx
    kind = info.type.WhichOneof("value")
    name = lambda t: onnx.TensorProto.DataType.Name(t.elem_type).lower()
    if kind == "tensor_type":
        return f"tensor({name(info.type.tensor_type)})"
    if kind == "sequence_type" and info.type.sequence_type.elem_type.HasField("tensor_type"):
        return f"seq(tensor({name(info.type.sequence_type.elem_type.tensor_type)}))"
    return None


def types_allowed(node, infos, schema):
    """Inputs and outputs are of types that the schema lists."""
    for names, formals in ((node.input, schema.inputs), (node.output, schema.outputs)):
        for position, name in enumerate(names):
            if not name or not formals or name not in infos:
                continue
            allowed = formals[min(position, len(formals) - 1)].types
            text = type_text(infos[name])
            if text is not None and text.replace("float32", "float") not in allowed:
                return False
    return True


def one_node_model(nodes, inputs, outputs, domain, version, constants=()):
    """`nodes` in the opset `version` of `domain`."""
    import onnx
    from onnx import helper
    graph = helper.make_graph(nodes, "version", inputs, outputs, list(constants))
    ids = [helper.make_opsetid(domain, version)]
    if domain:
        ids.append(helper.make_opsetid("", 15))
    return helper.make_model(graph, opset_imports=ids, ir_version=ir_version(version if not domain else 15))


def by_onnxruntime(model, inputs):
    """ONNX Runtime's answers; None where it does not run the model."""
    try:
        import onnxruntime
    except ImportError:
        return None
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        return session.run(None, inputs)
    except Exception:  # whatever the reason, it has no answer
        return None


def set_back_cases(schemas):
    """From the newest cases of the onnx package."""
    import onnx.backend.test.case.node
    import numpy as np
    newest = {}
    for s in schemas:
        key = (s.domain, s.name)
        if key not in newest or s.since_version > newest[key].since_version:
            newest[key] = s
    by_op = collections.defaultdict(list)
    for case in onnx.backend.test.case.node.collect_testcases(None):
        nodes = case.model.graph.node
        if len(nodes) == 1 and not case.model.graph.initializer:
            by_op[nodes[0].domain, nodes[0].op_type].append(case)
    for schema in schemas:
        count = 0
        key = (schema.domain, schema.name)
        for case in by_op[key]:
            if count == CASES_PER_VERSION:
                break
            made = set_back(case, schema, newest[key])
            if made is None:
                continue
            node, data = made
            graph = case.model.graph
            infos = {i.name: i for i in [*graph.input, *graph.output]}
            if any(a.type in (a.GRAPH, a.GRAPHS) for a in node.attribute) and case.model.opset_import[0].version != schema.since_version:
                continue  # the nodes of its body are of another opset
            if not types_allowed(node, infos, schema) or not broadcasts_then(schema, node, data):
                continue
            model = one_node_model([node], [infos[n] for n in data], list(graph.output), schema.domain, schema.since_version)
            own = list(case.data_sets[0][1])
            answers, source = own, "onnx"
            random = schema.name.startswith("Random") or schema.name in ("Bernoulli", "Multinomial")
            if schema.since_version != newest[key].since_version and not random:
                changed = schema.since_version < MEANING.get(schema.name, 0)
                ran = by_onnxruntime(model, {n: v for n, v in data.items()}) if all(isinstance(v, np.ndarray) for v in data.values()) else None
                if changed:
                    if ran is None:
                        continue
                    answers, source = ran, "onnxruntime"
                elif ran is not None:
                    source = "onnx"
            count += 1
            name = case.name.replace("test_", "", 1)
            yield Case(f"{schema.name}_v{schema.since_version}_{name}", schema.domain, schema.name, schema.since_version, model, list(data.values()),
                       answers, case.rtol, onnx_cases.absolute_tolerance(case), source)


def broadcasts_then(schema, node, data):
    """Before opset 7 operands of one shape alone, unless an attribute says otherwise; before 8 the variadic ones too."""
    limit = {"Sum": 8, "Max": 8, "Min": 8, "Mean": 8}.get(schema.name, 7 if "broadcast" in schema.attributes else 0)
    shapes = {getattr(v, "shape", ()) for v in data.values()}
    return schema.since_version >= limit or len(shapes) == 1


# ---- forms that no newest case has ----

class Maker:
    """Collects written cases: add(op, version, inputs, answers, **attributes)."""

    def __init__(self):
        import numpy as np
        self.np, self.rng, self.made = np, np.random.default_rng(5), []

    def real(self, *shape):
        return self.rng.standard_normal(shape).astype("float32")

    def add(self, what, op, version, inputs, answers=None, outputs=1, rtol=1e-3, atol=1e-5, types=None, domain="", constant=(), **attributes):
        """`answers`: None asks ONNX Runtime. `inputs`: None is an absent one. `types`: of the outputs, where not float32. `constant`:
        positions of inputs that the model holds."""
        from onnx import helper
        np = self.np
        names = [f"x{i}" if v is not None else "" for i, v in enumerate(inputs)]
        outs = [f"y{i}" for i in range(outputs)]
        node = helper.make_node(op, names, outs, domain=domain)
        node.attribute.extend(helper.make_attribute(k, v) for k, v in sorted(attributes.items()))
        there = [(i, n, np.asarray(v)) for i, (n, v) in enumerate(zip(names, inputs)) if v is not None]
        held = [tensor_named(n, v) for i, n, v in there if i in constant]
        infos = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for _, n, v in there]
        given = [v for i, _, v in there if i not in constant]
        # The first formats want every constant among the inputs.
        infos = [info for (i, _, _), info in zip(there, infos) if i not in constant] + [info for (i, _, _), info in zip(there, infos) if i in constant and ir_version(version) < 4]
        self.add_nodes(what, op, version, [node], infos, given, outs, answers, rtol, atol, types, domain, held)

    def add_nodes(self, what, op, version, nodes, infos, given, outs, answers=None, rtol=1e-3, atol=1e-5, types=None, domain="", constants=()):
        from onnx import helper
        np = self.np
        if answers is not None:
            answers = [np.asarray(a) for a in answers]
            out_infos = [helper.make_tensor_value_info(o, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for o, a in zip(outs, answers)]
        else:
            out_infos = [helper.make_tensor_value_info(o, t, None) for o, t in zip(outs, types or [1] * len(outs))]
        model = one_node_model(nodes, infos, out_infos, domain, version, constants)
        source = "formula"
        if answers is None:
            answers, source = by_onnxruntime(model, {i.name: v for i, v in zip(infos, given)}), "onnxruntime"
            if answers is None:
                print(f"{op} {version} {what}: ONNX Runtime has no answer, and there is no formula", file=sys.stderr)
                return
        self.made.append(Case(f"{op}_v{version}_{what}", domain, op, version, model, given, answers, rtol, atol, source))


def aligned(np, b, rank, axis):
    """`b` as the old broadcasting lays it beside a tensor of `rank`: its first dimension at `axis`."""
    return b if axis is None else b.reshape((1,) * axis + b.shape + (1,) * (rank - axis - b.ndim))


def old_broadcasting(m):
    np = m.np
    a = m.real(2, 3, 4, 5)
    arithmetic = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide}
    for op, f in arithmetic.items():
        for v in (1, 6):
            for what, b, axis in (("suffix", m.real(5), None), ("two", m.real(4, 5), None), ("middle", m.real(3, 4), 1), ("first", m.real(2), 0),
                                  ("last_axis", m.real(5), 3), ("one", m.real(1), None)):
                b = b + np.float32(3) * np.sign(b)
                extra = {} if axis is None else {"axis": axis}
                m.add(what, op, v, [a, b], [f(a, aligned(np, b, 4, axis))], broadcast=1, **extra)
            m.add("same", op, v, [a, a + 9], [f(a, a + 9)])
        for t in ("int32", "int64", "uint32", "uint64"):
            x, y = m.rng.integers(5, 90, (3, 4)).astype(t), m.rng.integers(1, 5, (4,)).astype(t)
            m.add(t, op, 6, [x, y], [(f(x, y) if op != "Div" else x // y).astype(t)], broadcast=1)
        b = m.real(3, 1) + np.float32(4)
        m.add("ones_in_the_middle", op, 6, [a, b], [f(a, aligned(np, b, 4, 1))], broadcast=1, axis=1)
    p = np.abs(m.real(2, 3, 4)) + 0.5
    e = m.real(3)
    m.add("broadcast", "Pow", 1, [p, e], [np.power(p, e.reshape(3, 1))], broadcast=1, axis=1)
    m.add("same", "Pow", 1, [p, p], [np.power(p, p)])
    for op, f in {"And": np.logical_and, "Or": np.logical_or, "Xor": np.logical_xor}.items():
        x, y = m.rng.random((2, 3, 4)) > 0.5, m.rng.random(3) > 0.5
        m.add("broadcast", op, 1, [x, y], [f(x, y.reshape(3, 1))], broadcast=1, axis=1)
        m.add("same", op, 1, [x, ~x], [f(x, ~x)])
    for op, f in {"Greater": np.greater, "Less": np.less}.items():
        x, y = m.real(2, 3, 4), m.real(3, 4)
        m.add("broadcast", op, 1, [x, y], [f(x, y)], broadcast=1)
    x, y = m.rng.integers(0, 2, (2, 3)).astype("int32"), m.rng.integers(0, 2, 3).astype("int32")
    m.add("broadcast", "Equal", 1, [x, y], [x == y], broadcast=1)
    for v in (1, 6):
        a2, b2, c = m.real(3, 4), m.real(4, 5), m.real(5)
        m.add("broadcast", "Gemm", v, [a2, b2, c], [a2 @ b2 * np.float32(0.5) + c * 2], broadcast=1, alpha=0.5, beta=2.0)
        m.add("turned", "Gemm", v, [a2.T.copy(), b2.T.copy(), m.real(3, 5) * 0 + c], [a2 @ b2 + c], transA=1, transB=1)
        x, slope = m.real(2, 3, 4), m.real(3)
        m.add("channels", "PRelu", v, [x, slope], [np.where(x < 0, x * slope.reshape(3, 1), x)])
        m.add("one", "PRelu", v, [x, slope[:1]], [np.where(x < 0, x * slope[0], x)])
        for op, f in {"Sum": np.add, "Max": np.maximum, "Min": np.minimum}.items():
            y = np.where(x > 0, x - 1, x + 1).astype("float32")
            m.add("two", op, v, [x, y], [f(x, y)])
        m.add("two", "Mean", v, [x, x * 3], [x * 2])


def old_attributes(m):
    np = m.np
    x = m.real(2, 3, 4)
    unary = {"Abs": np.abs, "Ceil": np.ceil, "Floor": np.floor, "Exp": np.exp, "Neg": np.negative, "Relu": lambda v: np.maximum(v, 0), "Tanh": np.tanh,
             "Sigmoid": lambda v: 1 / (1 + np.exp(-v)), "Reciprocal": lambda v: 1 / v, "Sqrt": np.sqrt, "Log": np.log}
    for op, f in unary.items():
        positive = np.abs(x) + np.float32(0.1)
        m.add("consumed", op, 1, [positive], [f(positive).astype("float32")], consumed_inputs=[0])
    m.add("consumed", "LeakyRelu", 1, [x], [np.where(x < 0, x * np.float32(0.2), x)], consumed_inputs=[0], alpha=0.2)
    m.add("default", "LeakyRelu", 1, [x], [np.where(x < 0, x * np.float32(0.01), x)])
    m.add("consumed", "Elu", 1, [x], [np.where(x < 0, np.exp(x) - 1, x).astype("float32")], consumed_inputs=[0])
    # Selu's defaults were of fewer digits.
    selu1 = lambda v, a, g: np.where(v <= 0, g * (a * np.exp(v) - a), g * v).astype("float32")
    m.add("default", "Selu", 1, [x], [selu1(x, 1.6732, 1.0507)])
    m.add("given", "Selu", 1, [x], [selu1(x, 2.0, 3.0)], alpha=2.0, gamma=3.0)
    m.add("default", "Selu", 6, [x], [selu1(x, 1.67326319217681884765625, 1.05070102214813232421875)])
    m.add("default", "HardSigmoid", 1, [x], [np.clip(0.2 * x + 0.5, 0, 1).astype("float32")])
    for v in (1, 6):
        m.add("both", "Clip", v, [x], [np.clip(x, -0.5, 0.25)], min=-0.5, max=0.25)
        m.add("low", "Clip", v, [x], [np.maximum(x, np.float32(-0.5))], min=-0.5)
        m.add("none", "Clip", v, [x], [x])
    for name, t in {"FLOAT": "float32", "INT32": "int32", "INT64": "int64", "UINT8": "uint8", "BOOL": "bool", "DOUBLE": "float64", "INT8": "int8", "FLOAT16": "float16"}.items():
        v = np.abs(x * 10)
        m.add(name.lower(), "Cast", 1, [v], [v.astype(t)], to=name)
    m.add("from_ints", "Cast", 1, [np.arange(6, dtype="int64")], [np.arange(6, dtype="float32")], to="FLOAT")
    m.add("bool", "Cast", 6, [x], [x.astype("bool")], to=9)
    m.add("default_axis", "Concat", 1, [x, x * 2], [np.concatenate([x, x * 2], 1)])
    m.add("axis", "Concat", 1, [x, x * 2], [np.concatenate([x, x * 2], 2)], axis=2)
    m.add("attribute", "Reshape", 1, [x], [x.reshape(2, 12)], shape=[0, -1])
    m.add("consumed", "Reshape", 1, [x], [x.reshape(4, 6)], shape=[4, 6], consumed_inputs=[0])
    m.add("axis", "Tile", 1, [x, np.float32([3]).reshape(()), np.float32([1]).reshape(())], [np.tile(x, (1, 3, 1))], constant=(1, 2))
    for v, name in ((1, "paddings"), (2, "pads")):
        m.add("constant", "Pad", v, [x], [np.pad(x, ((1, 0), (0, 2), (1, 1)), constant_values=1.5)], value=1.5, **{name: [1, 0, 1, 0, 2, 1]})
        m.add("reflect", "Pad", v, [x], [np.pad(x, ((0, 0), (1, 1), (2, 1)), mode="reflect")], mode="reflect", **{name: [0, 1, 2, 0, 1, 1]})
        m.add("edge", "Pad", v, [x], [np.pad(x, ((0, 0), (1, 1), (2, 1)), mode="edge")], mode="edge", **{name: [0, 1, 2, 0, 1, 1]})
    m.add("cut", "Pad", 2, [x], [x[:, 1:, :-1]], pads=[0, -1, 0, 0, 0, -1])
    m.add("axes", "Slice", 1, [x], [x[:, 1:3, -3:-1]], axes=[1, 2], starts=[1, -3], ends=[3, -1])
    m.add("first", "Slice", 1, [x], [x[0:1, 1:]], starts=[0, 1], ends=[1, 1000])
    for v in (1, 11):
        m.add("axes", "Squeeze", v, [x.reshape(1, 2, 1, 12)], [x.reshape(2, 1, 12)], axes=[0])
        m.add("all", "Squeeze", v, [x.reshape(1, 2, 1, 12)], [x.reshape(2, 12)])
        m.add("axes", "Unsqueeze", v, [x], [x.reshape(1, 2, 3, 1, 4)], axes=[0, 3])
    m.add("negative", "Squeeze", 11, [x.reshape(2, 12, 1)], [x.reshape(2, 12)], axes=[-1])
    m.add("negative", "Unsqueeze", 11, [x], [x.reshape(2, 3, 4, 1)], axes=[-1])
    m.add("sizes", "Split", 1, [x], [x[:, :, :1], x[:, :, 1:]], outputs=2, axis=2, split=[1, 3])
    m.add("by_input", "Split", 1, [x, np.float32([1, 3])], [x[:, :, :1], x[:, :, 1:]], outputs=2, axis=2, constant=(1,))
    m.add("default", "Split", 1, [x], [x[:1], x[1:]], outputs=2, axis=0)
    for v in (2, 11):
        m.add("sizes", "Split", v, [x], [x[:, :1], x[:, 1:]], outputs=2, axis=1, split=[1, 2])
        m.add("default", "Split", v, [x], [x[:1], x[1:]], outputs=2)
    for v in (1, 10):
        order = np.argsort(-x, axis=-1, kind="stable")[..., :2]
        inputs = [x] if v == 1 else [x, np.int64([2])]
        m.add("largest", "TopK", v, inputs, [np.take_along_axis(x, order, -1), order], outputs=2, axis=-1, **({"k": 2} if v == 1 else {}))
    order = np.argsort(-x, axis=1, kind="stable")[:, :2]
    m.add("axis", "TopK", 1, [x], [np.take_along_axis(x, order, 1), order], outputs=2, axis=1, k=2)
    reduce = {"ReduceSum": np.sum, "ReduceMean": np.mean, "ReduceMax": np.max, "ReduceMin": np.min, "ReduceProd": np.prod,
              "ReduceL1": lambda v, **k: np.sum(np.abs(v), **k), "ReduceL2": lambda v, **k: np.sqrt(np.sum(v * v, **k)), "ReduceSumSquare": lambda v, **k: np.sum(v * v, **k),
              "ReduceLogSum": lambda v, **k: np.log(np.sum(v, **k)), "ReduceLogSumExp": lambda v, **k: np.log(np.sum(np.exp(v), **k))}
    positive = np.abs(x) + np.float32(0.1)
    for op, f in reduce.items():
        versions = [v for v in (1, 11, 12, 13) if v in VERSIONS[op]]
        for v in versions:
            if op == "ReduceSum" and v == 13:
                continue
            m.add("axes", op, v, [positive], [f(positive, axis=(0, 2), keepdims=True)], axes=[0, 2])
            m.add("dropped", op, v, [positive], [f(positive, axis=1)], axes=[1], keepdims=0)
            m.add("all", op, v, [positive], [f(positive, axis=None, keepdims=True)])
            if v >= 11:
                m.add("negative", op, v, [positive], [f(positive, axis=-1, keepdims=True)], axes=[-1])
    t = x * 2
    def joined(f, v, axis):
        rows = v.reshape(int(np.prod(v.shape[:axis])), -1)
        return f(rows).reshape(v.shape)
    softmax = lambda r: np.exp(r - r.max(1, keepdims=True)) / np.exp(r - r.max(1, keepdims=True)).sum(1, keepdims=True)
    hard = lambda r: np.eye(r.shape[1], dtype="float32")[r.argmax(1)]
    for v in (1, 11):
        for op, f in {"Softmax": softmax, "LogSoftmax": lambda r: np.log(softmax(r)), "Hardmax": hard}.items():
            m.add("default", op, v, [t], [joined(f, t, 1)])
            m.add("axis_0", op, v, [t], [joined(f, t, 0)], axis=0)
            m.add("axis_2", op, v, [t], [joined(f, t, 2)], axis=2)
            if v == 11:
                m.add("negative", op, v, [t], [joined(f, t, 1)], axis=-2)
    m.add("axis", "Flatten", 1, [x], [x.reshape(6, 4)], axis=2)
    m.add("first", "Flatten", 9, [x], [x.reshape(1, 24)], axis=0)
    m.add("value", "Constant", 1, [], [x], value=tensor(x))
    m.add("half", "Constant", 9, [], [x.astype("float16")], value=tensor(x.astype("float16")))
    m.add("p1", "LpNormalization", 1, [x], [x / np.abs(x).sum(1, keepdims=True)], axis=1, p=1)
    m.add("axis", "Gather", 1, [x, np.int64([2, 0])], [x[:, [2, 0]]], axis=1)
    m.add("axis", "ArgMax", 1, [x], [x.argmax(1)], axis=1, keepdims=0)
    m.add("axis", "ArgMin", 1, [x], [x.argmin(2)[..., None]], axis=2)
    img = m.real(1, 4, 4, 6)
    b, c, h, w = img.shape
    for v in (1, 11):
        m.add("plain", "DepthToSpace", v, [img], [img.reshape(b, 2, 2, 1, h, w).transpose(0, 3, 4, 1, 5, 2).reshape(b, 1, 8, 12)], blocksize=2)
    m.add("plain", "SpaceToDepth", 1, [img], [img.reshape(b, c, 2, 2, 3, 2).transpose(0, 3, 5, 1, 2, 4).reshape(b, 16, 2, 3)], blocksize=2)


def tensor(array):
    from onnx import numpy_helper
    return numpy_helper.from_array(array, "value")


def old_networks(m):
    np = m.np
    x = m.real(2, 3, 6, 5)
    scale, bias, mean, var = m.real(3), m.real(3), m.real(3), np.abs(m.real(3)) + np.float32(0.2)
    column = lambda v: v.reshape(3, 1, 1)
    normal = (x - column(mean)) / np.sqrt(column(var) + np.float32(1e-5)) * column(scale) + column(bias)
    m.add("test", "BatchNormalization", 1, [x, scale, bias, mean, var], [normal], is_test=1, consumed_inputs=[0, 0, 0, 1, 1])
    m.add("spatial", "BatchNormalization", 1, [x, scale, bias, mean, var], [normal], is_test=1, spatial=1, consumed_inputs=[0, 0, 0, 1, 1])
    m.add("test", "BatchNormalization", 6, [x, scale, bias, mean, var], [normal], is_test=1)
    m.add("default", "BatchNormalization", 7, [x, scale, bias, mean, var], [normal])
    m.add("default", "BatchNormalization", 9, [x, scale, bias, mean, var], [normal])
    each = [m.real(3, 6, 5), m.real(3, 6, 5), m.real(3, 6, 5), np.abs(m.real(3, 6, 5)) + np.float32(0.2)]
    apart = (x - each[2]) / np.sqrt(each[3] + np.float32(1e-5)) * each[0] + each[1]
    for v, extra in ((1, {"is_test": 1, "consumed_inputs": [0, 0, 0, 1, 1]}), (6, {"is_test": 1}), (7, {})):
        m.add("each_place", "BatchNormalization", v, [x, *each], [apart], spatial=0, **extra)
    m.add("consumed", "InstanceNormalization", 1, [x, scale, bias], [((x - x.mean((2, 3), keepdims=True)) / np.sqrt(x.var((2, 3), keepdims=True) + np.float32(1e-5)) * column(scale) + column(bias))],
          consumed_inputs=[0])
    m.add("test", "Dropout", 1, [x], [x], is_test=1, consumed_inputs=[0])
    m.add("ratio", "Dropout", 1, [x], [x], is_test=1, ratio=0.3)
    m.add("test", "Dropout", 6, [x], [x], is_test=1)
    for v in (7, 10):
        m.add("ratio", "Dropout", v, [x], [x], ratio=0.3)
    m.add("mask", "Dropout", 10, [x], [x, np.ones(x.shape, bool)], outputs=2, ratio=0.3)
    pool = x[:, :, :4, :4].reshape(2, 3, 2, 2, 2, 2)
    m.add("plain", "AveragePool", 1, [x[:, :, :4, :4].copy()], [pool.mean((3, 5))], kernel_shape=[2, 2], strides=[2, 2])
    m.add("pads", "AveragePool", 1, [x[:, :, :4, :4].copy()], [padded_average(np, x[:, :, :4, :4])], kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    m.add("plain", "MaxPool", 1, [x[:, :, :4, :4].copy()], [pool.max((3, 5))], kernel_shape=[2, 2], strides=[2, 2])
    for v, kind in ((1, float), (2, int), (22, int)):
        m.add("default", "GlobalLpPool", v, [x], [np.sqrt((x * x).sum((2, 3), keepdims=True))])
        m.add("p3", "GlobalLpPool", v, [x], [((np.abs(x) ** 3).sum((2, 3), keepdims=True) ** (1 / 3)).astype("float32")], p=kind(3))
    rois = np.float32([[0, 0, 0, 4, 5], [1, 1, 1, 3, 4], [1, 0, 2, 2, 3]])
    for v in (1, 22):
        areas = np.stack([roi_maximum(np, x[int(r[0])], r[1:], (2, 2)) for r in rois])
        m.add("plain", "MaxRoiPool", v, [x, rois], [areas], pooled_shape=[2, 2])
        m.add("half", "MaxRoiPool", v, [x, rois * np.float32([1, 2, 2, 2, 2])], [areas], pooled_shape=[2, 2], spatial_scale=0.5)
    m.add("plain", "LpPool", 1, [x[:, :, :4, :4].copy()], [np.sqrt((pool * pool).sum((3, 5)))], kernel_shape=[2, 2], strides=[2, 2], p=2.0)
    for v in (2, 11):
        m.add("plain", "LpPool", v, [x[:, :, :4, :4].copy()], [np.sqrt((pool * pool).sum((3, 5)))], kernel_shape=[2, 2], strides=[2, 2], p=2)
    twice = lambda v: v.repeat(2, 2).repeat(3, 3)
    m.add("nearest", "Upsample", 1, [x], [twice(x)], height_scale=2.0, width_scale=3.0)
    m.add("nearest", "Upsample", 7, [x], [twice(x)], scales=[1.0, 1.0, 2.0, 3.0])
    m.add("nearest", "Upsample", 9, [x, np.float32([1, 1, 2, 3])], [twice(x)])
    m.add("linear", "Upsample", 7, [x], scales=[1.0, 1.0, 2.0, 3.0], mode="linear")
    m.add("linear", "Upsample", 9, [x, np.float32([1, 1, 2, 2])], mode="linear")
    m.add("nearest", "Upsample", 10, [x, np.float32([1, 1, 2, 3])], [twice(x)])
    m.add("nearest", "Resize", 10, [x, np.float32([1, 1, 2, 3])], [twice(x)])
    m.add("linear", "Resize", 10, [x, np.float32([1, 1, 2, 2])], mode="linear")
    m.add("smaller", "Resize", 10, [x, np.float32([1, 1, 0.5, 0.6])], mode="nearest")
    m.add("smaller_linear", "Resize", 10, [x, np.float32([1, 1, 0.5, 0.6])], mode="linear")
    for v in (9, 11):
        data, at, new = m.real(3, 4), np.int64([[0, 2, 1, 1]]), m.real(1, 4)
        want = data.copy()
        want[at[0], np.arange(4)] = new[0]
        m.add("axis", "Scatter", v, [data, at, new], [want], axis=0)
    groups = m.real(2, 4, 3)
    part = groups.reshape(2, 2, -1)
    whole = ((part - part.mean(2, keepdims=True)) / np.sqrt(part.var(2, keepdims=True) + np.float32(1e-5))).reshape(2, 2, 2, 3)
    s2, b2 = m.real(2), m.real(2)
    m.add("per_group", "GroupNormalization", 18, [groups, s2, b2], [(whole * s2.reshape(2, 1, 1) + b2.reshape(2, 1, 1)).reshape(2, 4, 3)], num_groups=2)
    c = m.real(2, 3, 4, 5)
    flat = c.transpose(1, 0, 2, 3).reshape(3, -1)
    mvn = (c - flat.mean(1).reshape(3, 1, 1)) / (flat.std(1).reshape(3, 1, 1) + np.float32(1e-9))
    m.add("default", "MeanVarianceNormalization", 9, [c], [mvn])
    m.add("plain", "GlobalAveragePool", 1, [x], [x.mean((2, 3), keepdims=True)])
    m.add("alpha", "ThresholdedRelu", 10, [c], [np.where(c > 0.5, c, 0)], alpha=0.5)


def roi_maximum(np, x, roi, cells):
    """The largest of each cell of one region of [C, H, W]; corners belong to the region."""
    x1, y1, x2, y2 = (int(np.floor(v + 0.5)) for v in roi)
    height, width = max(y2 - y1 + 1, 1) / cells[0], max(x2 - x1 + 1, 1) / cells[1]
    out = np.zeros((x.shape[0], *cells), "float32")
    for i in range(cells[0]):
        for j in range(cells[1]):
            rows = slice(y1 + int(np.floor(i * height)), min(y1 + int(np.ceil((i + 1) * height)), x.shape[1]))
            columns = slice(x1 + int(np.floor(j * width)), min(x1 + int(np.ceil((j + 1) * width)), x.shape[2]))
            out[:, i, j] = x[:, rows, columns].max((1, 2))
    return out


def padded_average(np, x):
    """3 x 3, one place of padding that is not counted."""
    out, count = np.zeros_like(x), np.zeros(x.shape[2:], "float32")
    p = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    ones = np.pad(np.ones(x.shape[2:], "float32"), 1)
    for i in range(3):
        for j in range(3):
            out += p[:, :, i:i + x.shape[2], j:j + x.shape[3]]
            count += ones[i:i + x.shape[2], j:j + x.shape[3]]
    return out / count


def old_recurrent(m):
    np = m.np
    T, B, I, H = 3, 2, 4, 5
    x, sigmoid = m.real(T, B, I), lambda v: 1 / (1 + np.exp(-v))
    for v in (1, 7):
        w, r, b = m.real(1, H, I) / 2, m.real(1, H, H) / 2, m.real(1, 2 * H) / 2
        h, ys = np.zeros((B, H), "float32"), []
        for t in range(T):
            h = np.tanh(x[t] @ w[0].T + h @ r[0].T + b[0, :H] + b[0, H:])
            ys.append(h)
        extra = {"output_sequence": 1} if v == 1 else {}
        m.add("plain", "RNN", v, [x, w, r, b], [np.stack(ys)[:, None], h[None]], outputs=2, hidden_size=H, **extra)
        w, r, b = m.real(1, 4 * H, I) / 2, m.real(1, 4 * H, H) / 2, m.real(1, 8 * H) / 2
        h, c, ys = np.zeros((B, H), "float32"), np.zeros((B, H), "float32"), []
        for t in range(T):
            i, o, f, g = np.split(x[t] @ w[0].T + h @ r[0].T + b[0, :4 * H] + b[0, 4 * H:], 4, 1)
            c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
            h = sigmoid(o) * np.tanh(c)
            ys.append(h)
        m.add("plain", "LSTM", v, [x, w, r, b], [np.stack(ys)[:, None], h[None], c[None]], outputs=3, hidden_size=H, **extra)
    for v in (1, 3, 7):
        w, r, b = m.real(1, 3 * H, I) / 2, m.real(1, 3 * H, H) / 2, m.real(1, 6 * H) / 2
        for late in (0, 1) if v != 1 else (0,):
            h, ys = np.zeros((B, H), "float32"), []
            for t in range(T):
                wz, wr, wh = np.split(x[t] @ w[0].T + b[0, :3 * H], 3, 1)
                rz, rr, rh = np.split(h @ r[0].T + b[0, 3 * H:], 3, 1)
                z, q = sigmoid(wz + rz), sigmoid(wr + rr)
                inner = q * rh if late else (q * h) @ r[0, 2 * H:].T + b[0, 5 * H:]
                h = (1 - z) * np.tanh(wh + inner) + z * h
                ys.append(h)
            extra = {"linear_before_reset": late} if v != 1 else {}
            if v < 7:
                extra["output_sequence"] = 1
            m.add(f"reset_{late}", "GRU", v, [x, w, r, b], [np.stack(ys)[:, None], h[None]], outputs=2, hidden_size=H, **extra)


def control(m):
    """If, Loop and Scan in every version; the bodies are of operators that all opsets spell alike."""
    from onnx import helper, TensorProto
    np = m.np
    F, B, I = TensorProto.FLOAT, TensorProto.BOOL, TensorProto.INT64
    info = helper.make_tensor_value_info
    x = m.real(3, 4)
    for v in VERSIONS["If"]:
        branches = [helper.make_graph([helper.make_node(op, ["x"], [op])], op, [], [info(op, F, [3, 4])]) for op in ("Neg", "Exp")]
        for flag in (True, False):
            node = helper.make_node("If", ["c"], ["y"], then_branch=branches[0], else_branch=branches[1])
            m.add_nodes(f"captured_{int(flag)}", "If", v, [node], [info("c", B, []), info("x", F, [3, 4])], [np.array(flag), x], ["y"], [-x if flag else np.exp(x)])
    for v in VERSIONS["Loop"]:
        body = helper.make_graph([helper.make_node("Sum", ["a", "x"], ["b"]), helper.make_node("Neg", ["b"], ["s"]), helper.make_node("Identity", ["go"], ["on"])], "body",
                                 [info("i", I, []), info("go", B, []), info("a", F, [3, 4])], [info("on", B, []), info("b", F, [3, 4]), info("s", F, [3, 4])])
        node = helper.make_node("Loop", ["n", "go0", "x"], ["y", "all"], body=body)
        steps = [x * (k + 2) for k in range(4)]
        m.add_nodes("scan_output", "Loop", v, [node], [info("x", F, [3, 4])], [x], ["y", "all"], [steps[-1], -np.stack(steps)],
                    constants=[tensor_named("n", np.array(4, "int64")), tensor_named("go0", np.array(True))])
    for v in VERSIONS["Scan"]:
        body = helper.make_graph([helper.make_node("Sum", ["a", "r"], ["b"]), helper.make_node("Neg", ["b"], ["s"])], "body",
                                 [info("a", F, [4]), info("r", F, [4])], [info("b", F, [4]), info("s", F, [4])])
        rows = m.real(3, 4)
        start = m.real(4)
        sums = start + np.cumsum(rows, 0)
        if v == 8:
            node = helper.make_node("Scan", ["", "start", "rows"], ["y", "all"], body=body, num_scan_inputs=1)
            two = np.stack([rows, rows * 2])
            firsts = np.stack([start, start])
            want = firsts[:, None] + np.cumsum(two, 1)
            m.add_nodes("batches", "Scan", 8, [node], [info("start", F, [2, 4]), info("rows", F, [2, 3, 4])], [firsts, two], ["y", "all"], [want[:, -1], -want])
        else:
            node = helper.make_node("Scan", ["start", "rows"], ["y", "all"], body=body, num_scan_inputs=1)
            m.add_nodes("rows", "Scan", v, [node], [info("start", F, [4]), info("rows", F, [3, 4])], [start, rows], ["y", "all"], [sums[-1], -sums])
            node = helper.make_node("Scan", ["start", "rows"], ["y", "all"], body=body, num_scan_inputs=1, scan_input_axes=[1], scan_input_directions=[1])
            back = start + np.cumsum(rows[::-1], 0)
            m.add_nodes("columns_backwards", "Scan", v, [node], [info("start", F, [4]), info("rows", F, [4, 3])], [start, rows.T.copy()], ["y", "all"], [back[-1], -back])


def sequences(m):
    """Sequences live and end inside the model."""
    from onnx import helper
    np = m.np
    a, b, c = m.real(2, 3), m.real(2, 3), m.real(2, 3)
    infos = [helper.make_tensor_value_info(n, 1, [2, 3]) for n in "abc"]
    at = [tensor_named("one", np.array(1, "int64")), tensor_named("last", np.array(-1, "int64"))]
    build = [helper.make_node("SequenceConstruct", ["a", "b", "c"], ["s"])]
    node = helper.make_node
    rows = {
        "SequenceConstruct": (build + [node("SequenceAt", ["s", "last"], ["y"])], c), "SequenceAt": (build + [node("SequenceAt", ["s", "one"], ["y"])], b),
        "SequenceLength": (build + [node("SequenceLength", ["s"], ["y"])], np.array(3, "int64")),
        "SequenceErase": (build + [node("SequenceErase", ["s", "one"], ["t"]), node("ConcatFromSequence", ["t"], ["y"], axis=0)], np.concatenate([a, c])),
        "SequenceEmpty": ([node("SequenceEmpty", [], ["s"]), node("SequenceInsert", ["s", "b"], ["t"]), node("ConcatFromSequence", ["t"], ["y"], axis=0)], b),
        "ConcatFromSequence": (build + [node("ConcatFromSequence", ["s"], ["y"], axis=1, new_axis=1)], np.stack([a, b, c], 1)),
    }
    for op, (nodes, answer) in rows.items():
        used = {i for n in nodes for i in n.input}
        m.add_nodes("in_a_model", op, 11, nodes, [i for i in infos if i.name in used], [v for n, v in zip("abc", (a, b, c)) if n in used], ["y"], [answer],
                    constants=[t for t in at if t.name in used])
    for v in VERSIONS["Optional"]:
        nodes = [node("Optional", ["a"], ["o"]), node("OptionalHasElement", ["o"], ["has"]), node("OptionalGetElement", ["o"], ["y"])]
        m.add_nodes("in_a_model", "Optional", v, nodes, infos[:1], [a], ["y", "has"], [a, np.array(True)])


def map_type(key, value):
    from onnx import helper
    return helper.make_map_type_proto(key, helper.make_tensor_type_proto(value, None))


def cast_map(np, given, cast_to="TO_FLOAT", map_form="DENSE", max_map=1):
    """CastMap's row. Numbers become text as Cast writes them."""
    kind = {"TO_FLOAT": "float32", "TO_INT64": "int64", "TO_STRING": object}[cast_to]
    convert = {"TO_FLOAT": float, "TO_INT64": lambda v: int(float(v)), "TO_STRING": str}[cast_to]
    if map_form == "DENSE":
        return np.array([[convert(given[k]) for k in sorted(given)]], kind)
    return np.array([[convert(given[k]) if k in given else "0.f" if cast_to == "TO_STRING" else 0 for k in range(max_map)]], kind)


def dict_vectorizer(np, given, vocabulary, kind):
    return np.array([[given.get(k, "" if kind == object else 0) for k in vocabulary]], kind)


def maps(m):
    """CastMap, DictVectorizer and ZipMap. ONNX Runtime's Python takes maps to float alone; the other ones are judged by formula."""
    from onnx import helper
    np, ml = m.np, "ai.onnx.ml"
    kinds = {1: "float32", 7: "int64", 8: object, 11: "float64"}

    def add(what, op, key, value, given, answer, kind, **attributes):
        info = helper.make_value_info("x", map_type(key, value))
        out = helper.make_tensor_value_info("y", kind, answer.shape)
        model = one_node_model([helper.make_node(op, ["x"], ["y"], domain=ml, **attributes)], [info], [out], ml, 1)
        told = by_onnxruntime(model, {"x": given}) if value == 1 and kind != 8 else None
        m.made.append(Case(f"{op}_v1_{what}", ml, op, 1, model, [given], told or [answer], 1e-6, 0, "onnxruntime" if told else "formula"))

    names = {8: ["b", "aa", "", "ccc"], 7: [5, -7, 0, 2**40]}
    for key, value in ((8, 7), (7, 8), (7, 1), (7, 11), (8, 1), (8, 11)):
        numbers = ["one", "", "three"] if value == 8 else [3, -2, 7] if value == 7 else [1.5, -0.25, float("nan")]
        given = dict(zip([names[key][0], names[key][2], "other" if key == 8 else 99], numbers))
        vocabulary = [*names[key], names[key][0]]
        add(f"{key}_to_{value}", "DictVectorizer", key, value, given, dict_vectorizer(np, given, vocabulary, kinds[value]), value,
            **{"string_vocabulary" if key == 8 else "int64_vocabulary": vocabulary})
    for value, given in ((1, {7: 1.5, 0: -2.75, 3: 8.0}), (8, {7: "15", 0: "-2", 3: "0"})):
        for to, kind in (("TO_FLOAT", 1), ("TO_INT64", 7), ("TO_STRING", 8)):
            for form in ("DENSE", "SPARSE"):
                attributes = {"cast_to": to, "map_form": form, "max_map": 5}
                answer = cast_map(np, given, **attributes)
                add(f"{to}_{form}_of_{value}".lower(), "CastMap", 7, value, given, answer, kind, **attributes)
    x = m.real(4, 3)
    for what, key, labels in (("text", 8, ["cat", "b", "dog"]), ("numbers", 7, [9, -4, 0])):
        node = helper.make_node("ZipMap", ["x"], ["y"], domain=ml, **{"classlabels_strings" if key == 8 else "classlabels_int64s": labels})
        out = helper.make_value_info("y", helper.make_sequence_type_proto(map_type(key, 1)))
        for form, rows in (("rows", x), ("one", x[0])):
            model = one_node_model([node], [helper.make_tensor_value_info("x", 1, rows.shape)], [out], ml, 1)
            answer = [dict(zip(labels, row)) for row in np.atleast_2d(rows)]
            told = by_onnxruntime(model, {"x": rows})
            m.made.append(Case(f"ZipMap_v1_{what}_{form}", ml, "ZipMap", 1, model, [rows], told or [answer], 1e-6, 0, "onnxruntime" if told else "formula"))


def learned(m):
    """ai.onnx.ml, whose authority is ONNX Runtime."""
    np, ml = m.np, "ai.onnx.ml"
    x = m.real(5, 3)
    m.add("to_text", "CategoryMapper", 1, [np.int64([3, 1, 7])], [np.array(["c", "a", "none"], object)], domain=ml, cats_strings=["a", "c"], cats_int64s=[1, 3], default_string="none")
    m.add("to_number", "CategoryMapper", 1, [np.array(["c", "a", "z"], object)], [np.int64([3, 1, -1])], domain=ml, cats_strings=["a", "c"], cats_int64s=[1, 3], default_int64=-1)
    m.add("two", "FeatureVectorizer", 1, [x, x[:, :2].copy()], [np.concatenate([x, x[:, :2]], 1)], domain=ml, inputdimensions=[3, 2])
    gaps = np.where(x > 0.5, np.float32("nan"), x)
    m.add("each", "Imputer", 1, [gaps], [np.where(np.isnan(gaps), np.float32([1, 2, 3]), gaps)], domain=ml, imputed_value_floats=[1.0, 2.0, 3.0], replaced_value_float=float("nan"))
    m.add("one", "Imputer", 1, [np.int64([[1, -1, 3]])], [np.int64([[1, 9, 3]])], domain=ml, imputed_value_int64s=[9], replaced_value_int64=-1)
    m.add("to_number", "LabelEncoder", 1, [np.array(["b", "a", "z"], object)], [np.int64([1, 0, -1])], domain=ml, classes_strings=["a", "b"])
    m.add("to_text", "LabelEncoder", 1, [np.int64([1, 0, 9])], [np.array(["b", "a", "_Unused"], object)], domain=ml, classes_strings=["a", "b"])
    w = [float(v) for v in m.real(6)]
    for post in ("NONE", "LOGISTIC", "SOFTMAX"):
        m.add(post.lower(), "LinearRegressor", 1, [x], domain=ml, coefficients=w, intercepts=[0.1, -0.2], targets=2, post_transform=post)
    for post in ("NONE", "LOGISTIC", "SOFTMAX"):
        m.add(post.lower(), "LinearClassifier", 1, [x], domain=ml, outputs=2, types=[7, 1], coefficients=[*w, *w[:3]], intercepts=[0.1, -0.2, 0.3], classlabels_ints=[4, 7, 9], post_transform=post, multi_class=1)
    for norm, f in {"MAX": lambda v: v.max(1, keepdims=True), "L1": lambda v: np.abs(v).sum(1, keepdims=True), "L2": lambda v: np.sqrt((v * v).sum(1, keepdims=True))}.items():
        positive = np.abs(x) + np.float32(0.1)
        m.add(norm.lower(), "Normalizer", 1, [positive], [positive / f(positive)], domain=ml, norm=norm)
    m.add("numbers", "OneHotEncoder", 1, [np.int64([3, 1, 8])], [np.float32([[0, 1], [1, 0], [0, 0]])], domain=ml, cats_int64s=[1, 3], zeros=1)
    m.add("text", "OneHotEncoder", 1, [np.array(["c", "a"], object)], [np.float32([[0, 1], [1, 0]])], domain=ml, cats_strings=["a", "c"], zeros=1)
    m.add("each", "Scaler", 1, [x], [(x - np.float32([1, 2, 3])) * np.float32([2, 3, 0.5])], domain=ml, offset=[1.0, 2.0, 3.0], scale=[2.0, 3.0, 0.5])
    support = [float(v) for v in m.real(12)]
    for kernel in ("LINEAR", "RBF", "POLY", "SIGMOID"):
        shape = {"kernel_type": kernel, "kernel_params": [0.3, 0.1, 2.0]}
        m.add(kernel.lower(), "SVMRegressor", 1, [x], domain=ml, coefficients=[0.5, -0.3, 0.8, 0.1], support_vectors=support, n_supports=4, rho=[0.2], **shape)
        m.add(kernel.lower(), "SVMClassifier", 1, [x], domain=ml, outputs=2, types=[7, 1], coefficients=[0.5, -0.3, 0.8, 0.1], support_vectors=support, vectors_per_class=[2, 2], rho=[0.2],
              classlabels_ints=[0, 1], **shape)
    tree = {"nodes_falsenodeids": [4, 3, 0, 0, 0], "nodes_truenodeids": [1, 2, 0, 0, 0], "nodes_nodeids": [0, 1, 2, 3, 4], "nodes_treeids": [0] * 5, "nodes_featureids": [0, 2, 0, 0, 0],
            "nodes_values": [0.1, -0.2, 0.0, 0.0, 0.0], "nodes_missing_value_tracks_true": [0] * 5}
    for mode in ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GT"):
        modes = {"nodes_modes": [mode, mode, "LEAF", "LEAF", "LEAF"]}
        answers = {}
        for v in VERSIONS_ML["TreeEnsembleRegressor"]:  # 5 only marks them as withdrawn
            m.add(mode.lower(), "TreeEnsembleRegressor", v, [x], answers.get("r"), domain=ml, n_targets=1, target_ids=[0] * 3, target_nodeids=[2, 3, 4], target_treeids=[0] * 3, target_weights=[1.5, -2.0, 0.25], **tree, **modes)
            answers["r"] = m.made[-1].outputs
            m.add(mode.lower(), "TreeEnsembleClassifier", v, [x], answers.get("c"), domain=ml, outputs=2, types=[7, 1], class_ids=[0, 1, 2], class_nodeids=[2, 3, 4], class_treeids=[0] * 3, class_weights=[0.5, 0.7, 0.9],
                  classlabels_int64s=[5, 6, 7], **tree, **modes)
            answers["c"] = m.made[-1].outputs


def tensor_named(name, array):
    from onnx import numpy_helper
    return numpy_helper.from_array(array, name)


VERSIONS, VERSIONS_ML = {}, {}  # of each operator of ai.onnx and of ai.onnx.ml


def cases():
    """All cases, each name once."""
    import onnx
    warnings.filterwarnings("ignore")
    schemas = sorted(onnx.defs.get_all_schemas_with_history(), key=lambda s: (s.domain, s.name, s.since_version))
    for s in schemas:
        if s.domain in ("", "ai.onnx.ml"):
            (VERSIONS_ML if s.domain else VERSIONS).setdefault(s.name, []).append(s.since_version)
    maker = Maker()
    for make in (old_broadcasting, old_attributes, old_networks, old_recurrent, control, sequences, maps, learned):
        make(maker)
    seen = set()
    for case in [*maker.made, *set_back_cases(schemas)]:
        if case.name not in seen:
            seen.add(case.name)
            yield case


def kept_cases(cache):
    """A list of all cases, which are made once: importing the newest ones of the onnx package takes longer than all that tests do with
    them. `cache`: the folder that keeps them, for these packages and these two files."""
    import onnx
    import onnxruntime
    made_by = 0
    for name in (__file__, onnx_cases.__file__):
        with open(name, "rb") as file:
            made_by = zlib.crc32(file.read(), made_by)
    path = os.path.join(cache, f"onnx-versions-{onnx.__version__}-{onnxruntime.__version__}-{made_by:08x}.pickle")
    if not os.path.exists(path):
        os.makedirs(cache, exist_ok=True)
        partial = f"{path}.{os.getpid()}"
        with open(partial, "wb") as file:
            pickle.dump([case._replace(model=case.model.SerializeToString()) for case in cases()], file)
        os.rename(partial, path)
    with open(path, "rb") as file:
        return [case._replace(model=onnx.ModelProto.FromString(case.model)) for case in pickle.load(file)]


def versions():
    """Every (domain, operator, version) of the installed onnx package; those that it marks as withdrawn are among them."""
    import onnx
    return sorted({(s.domain, s.name, s.since_version) for s in onnx.defs.get_all_schemas_with_history()})


def write_case(case, root):
    data = os.path.join(root, case.name, "test_data_set_0")
    os.makedirs(data, exist_ok=True)
    graph = case.model.graph
    for prefix, values, declared in (("input", case.inputs, graph.input), ("output", case.outputs, graph.output)):
        for j, value in enumerate(values):
            onnx_cases.write(os.path.join(data, f"{prefix}_{j}.pb"), onnx_cases.encode(value, declared[j]))
    onnx_cases.write(os.path.join(root, case.name, "model.onnx"), case.model.SerializeToString())
    onnx_cases.write(os.path.join(root, case.name, "case.json"), json.dumps({"rtol": case.rtol, "atol": case.atol}).encode())


def main(root):
    met, count = set(), 0
    for case in cases():
        write_case(case, root)
        met.add((case.domain, case.op, case.version))
        count += 1
    every = versions()
    for domain, op, version in every:
        if (domain, op, version) not in met:
            print(f"no case: {domain or 'ai.onnx'} {op} {version}")
    print(f"{count} cases of {len(met)} of {len(every)} versions")


if __name__ == "__main__":
    main(sys.argv[1])
