"""Makers of operators on sequences and optionals, and of control flow."""
import numpy as np
from onnx import TensorProto, helper

from case import NATIVE, Constant, array_of, element_type, maker


def elements(c, variable, count=None, same=False):
    """A sequence of tensors of one type; `same`: of one shape, for what joins them."""
    texts = next(x.allowed_type_strs for x in c.schema.type_constraints if x.type_param_str == variable)
    elem = c.one(*sorted({element_type(t) for t in texts if t.startswith("seq(tensor") and "complex" not in t} & NATIVE))
    shape = c.shape(1, 3)
    count = c.draw.randint(1, 4) if count is None else count
    return elem, [c.array(shape if same else c.shape(len(shape), len(shape)), elem) for _ in range(count)]


def place(c, count, end=False):
    return Constant(np.asarray(c.draw.randint(-count, count - (0 if end else 1))), c.one("int64", "int32"))


@maker("SequenceConstruct", exact=True)
def construct(c):
    elem = c.t("T", NATIVE)
    shape = c.shape(1, 3)
    c.result_types[0] = elem
    return [c.array(shape, elem) for _ in range(c.draw.randint(1, 4))], {}


@maker("SequenceAt", exact=True)
def sequence_at(c):
    elem, s = elements(c, "S")
    c.result_types[0] = elem
    return [s, place(c, len(s))], {}


@maker("SequenceErase", exact=True)
def erase(c):
    elem, s = elements(c, "S", c.draw.randint(2, 4))
    c.result_types[0] = elem
    return [s, place(c, len(s)) if c.chance(0.7) else None], {}


@maker("SequenceInsert", exact=True)
def insert(c):
    elem, s = elements(c, "S")
    c.result_types[0] = elem
    return [s, c.array(c.shape(s[0].ndim, s[0].ndim), elem), place(c, len(s), True) if c.chance(0.7) else None], {}


@maker("SequenceLength", exact=True)
def length(c):
    _, s = elements(c, "S")
    c.result_types[0] = TensorProto.INT64
    return [s], {}


@maker("ConcatFromSequence", exact=True)
def concat_from(c):
    elem, s = elements(c, "S", same=True)
    c.result_types[0] = elem
    new = c.one(None, 0, 1)
    rank = s[0].ndim + (1 if new else 0)
    return [s], {"axis": c.axis(rank), "new_axis": new}


@maker("SplitToSequence", exact=True)
def split_to(c):
    x = c.x("T", low_rank=1)
    c.result_types[0] = c.types["T"]
    axis = c.axis(array_of(x).ndim)
    extent = array_of(x).shape[axis]
    if extent == 0:
        c.unfit()
    how = c.one("each", "chunk", "list")
    if how == "each":
        return [x], {"axis": axis, "keepdims": c.one(None, 0, 1)}
    if how == "chunk":
        return [x, Constant(np.asarray(c.draw.randint(1, extent)))], {"axis": axis}
    cut = c.draw.randint(0, extent)
    return [x, Constant([cut, extent - cut])], {"axis": axis}


@maker("OptionalHasElement", "OptionalGetElement", exact=True)
def optional(c):
    if c.version < 18:
        c.unfit()
    elem = c.one(TensorProto.FLOAT, TensorProto.INT64)
    c.result_types[0] = TensorProto.BOOL if c.schema.name == "OptionalHasElement" else elem
    c.types["V"] = elem
    return [c.array(c.shape(), elem)], {}


def branch(c, name, outer, results, elem, shape):
    """A subgraph that computes from `outer` values, and from a constant of its own."""
    own = helper.make_tensor(name + "_k", elem, shape, c.array(shape, elem).reshape(-1))
    op = c.one("Add", "Sub", "Mul")
    nodes = [helper.make_node(op, [outer, name + "_k"], [name + "_0"])]
    nodes += [helper.make_node("Add", [name + "_0", outer], [f"{name}_{i}"]) for i in range(1, results)]
    infos = [helper.make_tensor_value_info(f"{name}_{i}", elem, shape) for i in range(results)]
    return helper.make_graph(nodes, name, [], infos, [own])


@maker("If", exact=True)
def if_(c):
    elem, shape = c.one(TensorProto.FLOAT, TensorProto.INT64, TensorProto.DOUBLE), c.shape()
    outer = c.give(c.array(shape, elem))
    c.results = c.one(1, 2)
    c.result_types = {i: elem for i in range(c.results)}
    tag = c.fresh("b")
    condition = np.asarray(c.chance(0.5)) if c.chance(0.7) else np.asarray([c.chance(0.5)])
    return [condition], {"then_branch": branch(c, tag + "t", outer, c.results, elem, shape), "else_branch": branch(c, tag + "e", outer, c.results, elem, shape)}


@maker("Loop", exact=True)
def loop(c):
    elem, shape = c.one(TensorProto.FLOAT, TensorProto.INT64, TensorProto.DOUBLE), c.shape(0, 3)
    trips, stop = c.draw.randint(0, 5), c.draw.randint(0, 6)
    outer, scanned, early = c.give(c.array(shape, elem, -1, 1)), c.chance(0.6), c.chance(0.4)
    info = helper.make_tensor_value_info
    nodes = [helper.make_node(c.one("Add", "Sub"), ["l_v", outer], ["l_next"]), helper.make_node("Identity", ["l_c"], ["l_on"])]
    if early:
        limit = helper.make_tensor("l_limit", TensorProto.INT64, [], [stop])
        nodes[1:] = [helper.make_node("Constant", [], ["l_m"], value=limit), helper.make_node("Less", ["l_i", "l_m"], ["l_on"])]
    outs = [info("l_on", TensorProto.BOOL, []), info("l_next", elem, shape)]
    if scanned:
        nodes.append(helper.make_node("Neg", ["l_next"], ["l_scan"]))
        outs.append(info("l_scan", elem, shape))
    if c.opset < 9:
        c.unfit()
    body = helper.make_graph(nodes, "body", [info("l_i", TensorProto.INT64, []), info("l_c", TensorProto.BOOL, []), info("l_v", elem, shape)], outs)
    c.results = 1 + scanned
    c.result_types = {0: elem, 1: elem}
    bound = Constant(np.asarray(trips)) if c.chance(0.8) else np.asarray(trips)
    return [bound, np.asarray(c.chance(0.9)) if c.chance(0.6) else None, c.array(shape, elem)], {"body": body}


@maker("Scan", exact=True)
def scan(c):
    if c.version < 9:
        c.unfit()
    elem, steps, shape = c.one(TensorProto.FLOAT, TensorProto.INT64), c.draw.randint(1, 5), c.shape(1, 2)
    axis = c.draw.randint(0, len(shape)) if c.chance(0.4) else 0
    whole = (*shape[:axis], steps, *shape[axis:])
    info = helper.make_tensor_value_info
    nodes = [helper.make_node("Add", ["s_v", "s_x"], ["s_next"]), helper.make_node(c.one("Neg", "Abs", "Identity"), ["s_next"], ["s_out"])]
    body = helper.make_graph(nodes, "body", [info("s_v", elem, shape), info("s_x", elem, shape)], [info("s_next", elem, shape), info("s_out", elem, shape)])
    c.results, c.result_types = 2, {0: elem, 1: elem}
    attributes = {"num_scan_inputs": 1, "body": body, "scan_input_axes": [axis] if axis or c.chance(0.3) else None,
                  "scan_input_directions": c.one(None, [0], [1]), "scan_output_directions": c.one(None, [0], [1]),
                  "scan_output_axes": c.one(None, [c.draw.randint(-len(shape) - 1 if c.version >= 11 else 0, len(shape))])}
    return [c.array(shape, elem), c.array(whole, elem)], attributes


