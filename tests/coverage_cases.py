#!/usr/bin/env python3
"""Writes operator cases for what ONNX's own cases leave out: each version that an operator ever had, and each element type that
its definition allows there.

    coverage_cases.py DIR CASES..   makes DIR/<case>/... as onnx_cases.py does; CASES are folders of such cases

A case is one of CASES, or of the old forms of onnx_versions.py, made over: its node said as that version says it (attributes for
inputs), its inputs in that type. What is wanted is what ONNX Runtime computes; where it cannot, or disagrees with onnx.reference,
what that computes; the answers of the case itself where only the version differs; where neither can, those of its float32 form,
rounded. Without any of these, and for what cannot be made over, coverage_written.py writes one; else there is no case.
"""
import collections
import json
import os
import sys
import tempfile
import warnings

import coverage_written
import onnx_cases

MAPS = {"CastMap", "DictVectorizer", "ZipMap"}  # written by write_maps
# Inputs of the newest form whose attribute, in old versions, is not called the same.
ATTRIBUTE_OF = {"constant_value": "value", "K": "k"}
REALS = ("float", "double", "float16", "bfloat16")
SOURCES = 6  # cases of an operator to make over, until one works


def names_of_types():
    from onnx import TensorProto
    names = {}
    for name, number in TensorProto.DataType.items():
        if name != "UNDEFINED":
            names[number] = name.lower()
    return names


def walk(graph):
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            for body in [attribute.g, *attribute.graphs]:
                yield from walk(body)


def schema_of(node, opsets):
    from onnx import defs
    domain = "" if node.domain == "ai.onnx" else node.domain
    try:
        return defs.get_schema(node.op_type, opsets[domain], domain)
    except (KeyError, defs.SchemaError):
        return None


def formal(parameters, i):
    return parameters[min(i, len(parameters) - 1)] if parameters else None


def opsets_of(model):
    return {("" if row.domain == "ai.onnx" else row.domain): row.version for row in model.opset_import}


def shown(model):
    """What a case that passes shows: (domain, operator, version) -> {(constraint, type)}."""
    import onnx
    names = names_of_types()
    found = collections.defaultdict(set)
    types = {}
    try:
        full = onnx.shape_inference.infer_shapes(model)
    except Exception:  # pylint: disable=broad-except  # not all cases can be inferred: then what the file says
        full = model

    def learn(graph):
        for info in [*graph.input, *graph.output, *graph.value_info]:
            kind, holder = info.type, ""
            while kind.WhichOneof("value") in ("sequence_type", "optional_type"):
                which = kind.WhichOneof("value")
                kind, holder = getattr(kind, which).elem_type, holder + which[:3] + " "
            if kind.HasField("tensor_type"):
                types[info.name] = names.get(kind.tensor_type.elem_type)
        for tensor in graph.initializer:
            types[tensor.name] = names.get(tensor.data_type)
        for node in graph.node:
            for attribute in node.attribute:
                if attribute.HasField("g"):
                    learn(attribute.g)
    learn(full.graph)
    opsets = opsets_of(model)
    for node in walk(model.graph):
        schema = schema_of(node, opsets)
        if schema is None:
            continue
        key = (schema.domain, schema.name, schema.since_version)
        constraints = {c.type_param_str for c in schema.type_constraints}
        found[key].add(("", ""))
        for values, parameters in ((node.input, schema.inputs), (node.output, schema.outputs)):
            for i, value in enumerate(values):
                parameter = formal(parameters, i)
                if value and parameter and parameter.type_str in constraints and types.get(value):
                    found[key].add((parameter.type_str, types[value]))
    return found


def allowed(schema):
    """(constraint, type) -> "" for tensors, "seq" for sequences of them; optionals are left to ONNX's own cases, maps to write_maps."""
    import re
    spell = {"float": "float", "double": "double"}
    out = {}
    for constraint in schema.type_constraints:
        for text in constraint.allowed_type_strs:
            match = re.fullmatch(r"(seq\()?tensor\((\w+)\)\)?", text)
            if match:
                name = spell.get(match[2], match[2])
                if (constraint.type_param_str, name) not in out:
                    out[constraint.type_param_str, name] = "seq" if match[1] else ""
    return out


def number_of(name):
    from onnx import TensorProto
    return TensorProto.DataType.Value(name.upper())


def recast(array, name):
    """`array` as type `name`, its values moved to where that type has some."""
    import numpy as np
    from onnx import helper
    if name == "string":
        return array if array.dtype == object else array.astype(array.dtype if array.dtype.kind in "biufcU" else np.float64).astype(str).astype(object)
    target = np.dtype(helper.tensor_dtype_to_np_dtype(number_of(name)))
    if array.dtype == target:
        return array
    if array.dtype == object:
        return np.arange(array.size).reshape(array.shape).astype(target)
    if name == "bool":
        return array > 0 if array.dtype.kind != "b" else array
    whole = name.startswith(("int", "uint"))
    wide = array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)
    if whole:
        wide = wide.real
        if array.dtype.kind not in "iub" and wide.size and np.all(np.abs(wide[np.isfinite(wide)]) < 8):
            wide = wide * 4
        bits = int(name.lstrip("uint"))
        low, high = (0, 2**bits - 1) if name[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        wide = np.clip(np.rint(np.nan_to_num(wide, posinf=3, neginf=-3)), max(low, -2.0**31), min(high, 2.0**31))
        if low == 0:
            wide = np.abs(wide)
        return wide.astype(np.int64).astype(target)
    if name.startswith("complex"):
        return (wide + 0.5j * wide).astype(target)
    return wide.real.astype(target)


def value_type(value):
    return value[0] if isinstance(value, list) else value


class Source:
    """A case of one node, with its values by name."""

    def __init__(self, folder):
        import onnx
        self.name = os.path.basename(folder)
        self.model = onnx.load(os.path.join(folder, "model.onnx"))
        self.folder = folder
        self.node = self.model.graph.node[0] if len(self.model.graph.node) == 1 else None
        self.feed = None

    def read(self):
        import onnx
        from onnx import numpy_helper
        if self.feed is not None:
            return
        self.feed, self.answers = {}, []
        held = {tensor.name for tensor in self.model.graph.initializer}
        given = [info for info in self.model.graph.input if info.name not in held]
        data = os.path.join(self.folder, "test_data_set_0")
        for prefix, infos in (("input", given), ("output", self.model.graph.output)):
            for j, info in enumerate(infos):
                with open(os.path.join(data, f"{prefix}_{j}.pb"), "rb") as file:
                    raw = file.read()
                if info.type.HasField("sequence_type"):
                    value = numpy_helper.to_list(onnx.SequenceProto.FromString(raw))
                elif info.type.HasField("tensor_type"):
                    value = numpy_helper.to_array(onnx.TensorProto.FromString(raw))
                else:
                    raise ValueError("neither a tensor nor a sequence")
                if prefix == "input":
                    self.feed[info.name] = value
                else:
                    self.answers.append(value)
        for tensor in self.model.graph.initializer:
            self.feed[tensor.name] = numpy_helper.to_array(tensor)


def node_for(source, schema):
    """The node as `schema` has it, with its inputs' values in order (None: absent); raises ValueError where it cannot be said."""
    import numpy as np
    import onnx
    from onnx import helper
    old = schema_of(source.node, opsets_of(source.model))
    node = onnx.NodeProto()
    node.CopyFrom(source.node)
    del node.attribute[:]
    values, attributes = [], {a.name: a for a in source.node.attribute}
    changed = False
    extra = {}
    variadic = bool(schema.inputs) and schema.inputs[-1].option == onnx.defs.OpSchema.FormalParameterOption.Variadic
    for i, name in enumerate(source.node.input):
        value = source.feed[name] if name else None
        parameter = formal(old.inputs, i)
        theirs = [p.name for p in schema.inputs]
        attribute = ATTRIBUTE_OF.get(parameter.name, parameter.name)
        if value is not None and attribute in schema.attributes and parameter.name not in theirs:
            extra[attribute] = np.asarray(value)
        elif variadic or len(values) < len(schema.inputs):
            values.append(value)
        elif value is not None:
            raise ValueError("an input that this version does not have")
    kinds = onnx.defs.OpSchema.AttrType
    for name, a in attributes.items():
        if name in schema.attributes and int(schema.attributes[name].type.value) == a.type:
            node.attribute.append(a)
        elif name == "to" and schema.name == "Cast":
            node.attribute.append(helper.make_attribute("to", onnx.TensorProto.DataType.Name(a.i)))
        elif name in schema.attributes:
            raise ValueError(f"attribute {name} is of another kind in this version")
        elif name not in old.attributes or old.attributes[name].default_value.SerializeToString() != default_of(a, old):
            changed = True  # it means something that this version cannot say: only others' answers are answers
    for name, array in extra.items():
        kind = schema.attributes[name].type
        flat = array.reshape(-1)
        if kind == kinds.INTS:
            node.attribute.append(helper.make_attribute(name, [int(v) for v in flat], attr_type=onnx.AttributeProto.INTS))
        elif kind == kinds.INT:
            node.attribute.append(helper.make_attribute(name, int(flat[0])))
        elif kind == kinds.FLOATS:
            node.attribute.append(helper.make_attribute(name, [float(v) for v in flat]))
        elif kind == kinds.FLOAT:
            node.attribute.append(helper.make_attribute(name, float(flat[0])))
        else:
            raise ValueError("an attribute of another kind")
    while values and values[-1] is None:
        values.pop()
    return node, values, changed


def default_of(attribute, schema):
    """The attribute as a default value would be written, to compare with one."""
    import onnx
    copy = onnx.AttributeProto()
    copy.CopyFrom(attribute)
    copy.doc_string = schema.attributes[attribute.name].default_value.doc_string
    return copy.SerializeToString()


def set_output_type(node, schema, name):
    """Where an attribute alone says the output's type."""
    import numpy as np
    import onnx
    from onnx import helper, numpy_helper
    for attribute in ("to", "dtype", "output_dtype", "output_datatype"):
        if attribute in schema.attributes:
            kept = [a for a in node.attribute if a.name != attribute]
            del node.attribute[:]
            node.attribute.extend(kept)
            text = schema.attributes[attribute].type == onnx.defs.OpSchema.AttrType.STRING
            node.attribute.append(helper.make_attribute(attribute, name.upper() if text else number_of(name)))
            return True
    if schema.name == "ConstantOfShape":
        del node.attribute[:]
        node.attribute.append(helper.make_attribute("value", numpy_helper.from_array(recast(np.array([3.0]), name))))
        return True
    return False


def build(source, schema, constraint, name):
    """(model, feed) of the case made over."""
    import numpy as np
    import onnx
    from onnx import helper, numpy_helper
    node, values, changed = node_for(source, schema)
    may = allowed(schema)
    names = names_of_types()
    bound, feed, infos, inputs = {}, {}, [], []
    touched = False
    for i, value in enumerate(values):
        if value is None:
            inputs.append("")
            continue
        parameter = formal(schema.inputs, i)
        first = value[0] if isinstance(value, list) else value
        kind = names[helper.np_dtype_to_tensor_dtype(first.dtype)] if first.dtype != object else "string"
        wanted = bound.get(parameter.type_str, kind)
        if parameter.type_str == constraint:
            wanted, touched = name, True
        elif (parameter.type_str, wanted) not in may:
            choices = [t for c, t in may if c == parameter.type_str]
            plain = parameter.type_str[7:-1] if parameter.type_str.startswith("tensor(") else None
            if not choices and plain is None:
                raise ValueError(f"type {parameter.type_str}")
            wanted = plain or ("float" if "float" in choices else "int64" if "int64" in choices else choices[0])
        if wanted.startswith(("int", "uint")) and first.dtype.kind == "f" and np.isinf(first).any():
            raise ValueError("infinity, which integers do not have")
        bound[parameter.type_str] = wanted
        value = [recast(v, wanted) for v in value] if isinstance(value, list) else recast(value, wanted)
        label = f"in{i}"
        inputs.append(label)
        feed[label] = value
        if isinstance(value, list):
            infos.append(helper.make_tensor_sequence_value_info(label, number_of(wanted), None))
        else:
            infos.append(helper.make_tensor_value_info(label, number_of(wanted), value.shape))
    touched = touched or set_output_type(node, schema, name)
    del node.input[:]
    node.input.extend(inputs)
    if not schema.outputs or schema.outputs[-1].option != onnx.defs.OpSchema.FormalParameterOption.Variadic:
        del node.output[len(schema.outputs):]
    if schema.name == "TreeEnsemble":  # its thresholds and weights are of the input's type
        for attribute in node.attribute:
            if attribute.HasField("t") and names[attribute.t.data_type] in REALS:
                attribute.t.CopyFrom(numpy_helper.from_array(recast(numpy_helper.to_array(attribute.t), name), attribute.t.name))
    touched = touched or not constraint
    if not touched and not any(o and formal(schema.outputs, i).type_str == constraint for i, o in enumerate(node.output)):
        raise ValueError("nothing of this type")
    outputs = [o for o in node.output if o]
    imports = [helper.make_opsetid(schema.domain, schema.since_version)]
    if schema.domain:
        imports.append(helper.make_opsetid("", 21))
    graph = helper.make_graph([node], "case", infos, [helper.make_empty_tensor_value_info(o) for o in outputs])
    model = helper.make_model(graph, opset_imports=imports, ir_version=13)
    inferred = onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=True)
    for info, declared in zip(model.graph.output, inferred.graph.output):
        info.CopyFrom(declared)
    if not touched and (constraint, name) not in shown(model)[schema.domain, schema.name, schema.since_version]:
        raise ValueError("no output of this type")
    return model, feed, changed


def by_onnxruntime(model, feed):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, feed)


def by_reference(model, feed):
    from onnx.reference import ReferenceEvaluator
    return ReferenceEvaluator(model).run(None, feed)


def near(a, b):
    import numpy as np
    if isinstance(a, list) or isinstance(b, list):
        return isinstance(a, list) and isinstance(b, list) and len(a) == len(b) and all(near(x, y) for x, y in zip(a, b))
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape:
        return False
    if a.dtype.kind in "OUS" or b.dtype.kind in "OUS":
        return bool(np.all(a.astype(str) == b.astype(str)))
    kind = np.complex128 if a.dtype.kind == "c" else np.float64
    return bool(np.allclose(a.astype(kind), b.astype(kind), rtol=2e-2 if a.dtype.itemsize < 4 else 1e-3, atol=1e-3, equal_nan=True))


# Of the two that compute answers, where they differ and onnx.reference is wrong.
BY_ONNXRUNTIME = {
    ("BatchNormalization", 9): "with momentum given it normalises by the batch's own mean, which version 9 does with more outputs alone",
    ("RoiAlign", 10): "it shifts by half a pixel, which version 16 brought",
}


def unchanged(value, now):
    """An input is what it was: its type too, or the same real numbers in another type."""
    import numpy as np
    if now is None or isinstance(value, list) or value.dtype == now.dtype:
        return True
    names = names_of_types()
    from onnx import helper
    kinds = [names[helper.np_dtype_to_tensor_dtype(a.dtype)] if a.dtype != object else "string" for a in (value, now)]
    return all(kind in REALS for kind in kinds) and np.array_equal(value.astype(np.float64), now.astype(np.float64))


# Integers or complex numbers that neither of the two computes right: they are computed in float32, real and imaginary parts each
# by themselves, integers cut off to their range then.
BY_FLOAT32 = {
    ("GridSample", "T1", "whole"): "onnx.reference rounds the weights to integers",
    ("Attention", "U", "whole"): "ONNX Runtime 1.32 answers otherwise where the same mask is float",
    ("Resize", "T1", "complex"): "onnx.reference drops the imaginary part",
    ("Upsample", "T", "complex"): "as Resize",
}


def attempts(model, feed, runs):
    """What those of `runs` that can compute it say: name -> outputs."""
    told = {}
    for who, run in runs:
        try:
            told[who] = run(model, feed)
        except BaseException as error:  # pylint: disable=broad-except  # each has errors of its own
            if isinstance(error, (KeyboardInterrupt, SystemExit)):
                raise
    return told


RUNS = (("onnxruntime", by_onnxruntime), ("reference", by_reference))


def by_float32(model, feed, source, schema, constraint, runs=RUNS):
    """The same numbers in float32, the answers in the model's types; None where that cannot be computed either."""
    import numpy as np
    try:
        wide_model = build(source, schema, constraint, "float")[0]
    except Exception:  # pylint: disable=broad-except
        return None
    kinds = names_of_types()
    results = []
    for part in (np.real, np.imag) if any(np.iscomplexobj(v) for v in feed.values() if not isinstance(v, list)) else (np.asarray,):
        wide = {i.name: recast(part(feed[i.name]), kinds[i.type.tensor_type.elem_type]) for i in wide_model.graph.input}
        told = attempts(wide_model, wide, runs)
        if not told:
            return None
        results.append(next(iter(told.values())))
    outputs = []
    for values, declared in zip(zip(*results), model.graph.output):
        kind = kinds[declared.type.tensor_type.elem_type]
        value = values[0] if len(values) == 1 else values[0] + 1j * values[1]
        if kind_of(kind) == "whole" and value.dtype.kind == "f":
            value = np.trunc(clipped(value, kind))
        outputs.append(value.astype(dtype_named(kind)))
    return "float32", outputs


def dtype_named(name):
    import numpy as np
    from onnx import helper
    return np.dtype(helper.tensor_dtype_to_np_dtype(number_of(name)))


def clipped(array, name):
    import numpy as np
    bounds = np.iinfo(dtype_named(name))
    return np.clip(array, float(bounds.min), float(bounds.max))


def answers(model, feed, changed, source, schema, constraint, name):
    """(who, outputs), or None."""
    if (schema.name, constraint, kind_of(name)) in BY_FLOAT32:
        told = by_float32(model, feed, source, schema, constraint)
        if told:
            return told
    if schema.domain == "ai.onnx.ml" and kind_of(name) == "whole":  # its authority is ONNX Runtime, if in float32
        told = attempts(model, feed, RUNS[:1])
        return next(iter(told.items())) if told else by_float32(model, feed, source, schema, constraint, RUNS[:1]) or one_of(model, feed)
    told = attempts(model, feed, RUNS)
    kept = not changed and all(unchanged(source.feed[n], feed.get(f"in{i}")) for i, n in enumerate(source.node.input) if n)
    if kept and told and schema_of(source.node, opsets_of(source.model)).since_version == schema.since_version:
        if all(unchanged_kind(a, o) for a, o in zip(source.answers, model.graph.output)):  # then the case itself knows
            who = next((w for w in told if all(near(a, b) for a, b in zip(told[w], source.answers))), None)
            return (who, told[who]) if who else ("source", source.answers[:len(model.graph.output)])
    if len(told) == 2 and not all(near(a, b) for a, b in zip(told["onnxruntime"], told["reference"])):
        who = "onnxruntime" if (schema.name, schema.since_version) in BY_ONNXRUNTIME or schema.domain == "ai.onnx.ml" else "reference"
        return who, told[who]
    if told:
        return next(iter(told.items()))
    if kept:
        return "source", source.answers[:len(model.graph.output)]
    return by_float32(model, feed, source, schema, constraint) if name in REALS[1:] else None


def one_of(model, feed):
    return next(iter(attempts(model, feed, RUNS).items()), None)


def unchanged_kind(answer, output):
    """An answer of the source is of the type that the output has, or both are real."""
    import numpy as np
    from onnx import helper
    if not output.type.HasField("tensor_type") or isinstance(answer, list):
        return False
    kind = names_of_types()[output.type.tensor_type.elem_type]
    array = np.asarray(answer)
    had = "string" if array.dtype == object else names_of_types()[helper.np_dtype_to_tensor_dtype(array.dtype)]
    return had == kind or (had in REALS and kind in REALS)


def smallest_type(model):
    names = names_of_types()
    met = {names[i.type.tensor_type.elem_type] for i in [*model.graph.input, *model.graph.output] if i.type.HasField("tensor_type")}
    return next((name for name in ("bfloat16", "float16") if name in met), None)


def write(folder, model, feed, outputs, who):
    import numpy as np
    data = os.path.join(folder, "test_data_set_0")
    encoded = []
    for j, (info, value) in enumerate(zip(model.graph.output, outputs)):
        if info.type.HasField("tensor_type"):
            value = np.asarray(value)
            want = names_of_types()[info.type.tensor_type.elem_type]
            from onnx import helper
            if want != "string" and value.dtype != helper.tensor_dtype_to_np_dtype(number_of(want)):
                value = value.view(helper.tensor_dtype_to_np_dtype(number_of(want))) if value.dtype.kind in "uV" and value.dtype.itemsize == 2 else recast(value, want)
            if want == "string":
                texts = any(isinstance(v, str) for v in value.reshape(-1))  # what is 0 among them is ""
                value = np.array([v if isinstance(v, str) else "" if texts else str(v) for v in value.reshape(-1)], object).reshape(value.shape)
        encoded.append((f"output_{j}.pb", onnx_cases.encode(value, info)))
    for j, info in enumerate(model.graph.input):
        encoded.append((f"input_{j}.pb", onnx_cases.encode(feed[info.name], info)))
    # Arithmetic in 16 bits, or of what is left of large terms: one unit in the last place of the largest answer.
    atol = 1e-5
    for value in outputs:
        for array in value if isinstance(value, list) else [value]:
            array = np.asarray(array)
            half = {"float16": 2.0**-10, "bfloat16": 2.0**-7}.get(smallest_type(model))
            if half and array.size and array.dtype.kind not in "OUSb":
                largest = np.abs(array.astype(np.complex128 if array.dtype.kind == "c" else np.float64))
                atol = max(atol, half * float(np.max(largest[np.isfinite(largest)], initial=0)))
    os.makedirs(data, exist_ok=True)
    for file, content in encoded:
        onnx_cases.write(os.path.join(data, file), content)
    onnx_cases.write(os.path.join(folder, "model.onnx"), model.SerializeToString())
    onnx_cases.write(os.path.join(folder, "case.json"), json.dumps({"rtol": 1e-3, "atol": atol, "from": who}).encode())


def kind_of(name):
    return "real" if name in REALS else name if name in ("string", "bool") else name[:7] if name.startswith("complex") else "whole"


def likeness(source, schema, name):
    """Smallest first: sources of this version or the next ones, small ones; those without elements, whose answers are often
    undefined in other types, last. Attributes of ai.onnx.ml are of the inputs' kind: such sources first."""
    version = schema_of(source.node, opsets_of(source.model)).since_version
    empty = any(d.HasField("dim_value") and d.dim_value == 0 for i in source.model.graph.input for d in i.type.tensor_type.shape.dim)
    inputs = source.model.graph.input
    other = (schema.domain == "ai.onnx.ml" or schema.name == "TfIdfVectorizer") and bool(inputs) and kind_of(names_of_types().get(inputs[0].type.tensor_type.elem_type, "")) != kind_of(name)
    return empty, other, version < schema.since_version, abs(version - schema.since_version), source.model.ByteSize()


def all_cases(folders):
    for root in folders:
        for folder, _, files in sorted(os.walk(root)):
            if "model.onnx" in files and os.path.isdir(os.path.join(folder, "test_data_set_0")):
                yield folder


def write_maps(out):
    """What takes or gives maps: tests/onnx_versions.py's cases, one for each type of what is given, because ONNX has none."""
    import onnx_versions
    maker = onnx_versions.Maker()
    onnx_versions.maps(maker)
    names = set()
    for case in maker.made:
        kind = case.model.graph.output[0].type
        constraint, name = ("T2", names_of_types()[kind.tensor_type.elem_type]) if kind.HasField("tensor_type") else ("T", "map")
        label = f"{case.domain}.{case.op}-{case.version}-{constraint}-{name}"
        if label not in names:
            onnx_versions.write_case(case._replace(name=label), out)
        names.add(label)
    return len(names)


def made_over(folder, sources, schema, constraint, name):
    """Whether one of the sources gave a case."""
    if coverage_written.first(schema, name):
        return False
    tried = 0
    for source in sorted(sources, key=lambda source: likeness(source, schema, name)):
        if tried == SOURCES:
            break
        try:
            source.read()
            model, feed, changed = build(source, schema, constraint, name)
            tried += 1
            told = answers(model, feed, changed, source, schema, constraint, name)
            if told is not None:
                write(folder, model, feed, told[1], told[0])
                return True
        except Exception as error:  # pylint: disable=broad-except  # this source does not do for it
            if os.environ.get("VIREO_COVERAGE_DEBUG"):
                print(schema.name, schema.since_version, constraint, name, source.name, type(error).__name__, str(error)[:150].replace("\n", " "))
    return False


def write_old_forms(out):
    """The forms of old versions that no newest case has, and ai.onnx.ml, as cases to make over."""
    import onnx
    import onnx_versions
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain in ("", "ai.onnx.ml"):
            (onnx_versions.VERSIONS_ML if schema.domain else onnx_versions.VERSIONS).setdefault(schema.name, []).append(schema.since_version)
    maker = onnx_versions.Maker()
    drawn = maker.real
    maker.real = lambda *shape: recast(recast(drawn(*shape), "bfloat16"), "float")  # the same numbers in every real type
    for make in (onnx_versions.old_broadcasting, onnx_versions.old_attributes, onnx_versions.old_networks, onnx_versions.old_recurrent, onnx_versions.learned,
                 coverage_written.forms):
        make(maker)
    for case in [*maker.made, *coverage_written.labelled(maker.made)]:
        onnx_versions.write_case(case, out)


def main(out, folders):
    with tempfile.TemporaryDirectory() as forms:
        write_old_forms(forms)
        return make_over(out, folders, forms)


def make_over(out, folders, forms):
    """`folders` hold cases that run by themselves, `forms` those that are made over alone."""
    warnings.filterwarnings("ignore")
    from onnx import defs
    sources, covered = collections.defaultdict(list), collections.defaultdict(set)
    for folder in all_cases([*folders, forms]):
        source = Source(folder)
        for key, types in shown(source.model).items() if not folder.startswith(forms) else ():
            covered[key] |= types
        if source.node is not None and schema_of(source.node, opsets_of(source.model)) is not None:
            domain = "" if source.node.domain == "ai.onnx" else source.node.domain
            sources[domain, source.node.op_type].append(source)
    os.makedirs(out, exist_ok=True)
    made, without = write_maps(out), collections.Counter()
    for schema in sorted(defs.get_all_schemas_with_history(), key=lambda s: (s.domain, s.name, s.since_version)):
        key = (schema.domain, schema.name, schema.since_version)
        if schema.deprecated or schema.name in MAPS:
            continue
        for constraint, name in sorted(allowed(schema)) or [("", "")]:  # all types fixed: one case
            if (constraint, name) in covered[key]:
                continue
            folder = os.path.join(out, f"{schema.domain or 'onnx'}.{schema.name}-{schema.since_version}-{constraint or 'all'}-{name or 'fixed'}")
            if made_over(folder, sources[schema.domain, schema.name], schema, constraint, name):
                made += 1
                continue
            case = coverage_written.written(schema, constraint, name)
            if case is None:
                without[schema.name] += 1
                if os.environ.get("VIREO_COVERAGE_DEBUG"):
                    print("without:", schema.name, schema.since_version, constraint, name)
                continue
            write(folder, *case, "formula")
            made += 1
    return made, sum(without.values())


if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    print("%d cases; %d versions and types without one" % main(sys.argv[1], sys.argv[2:]))
