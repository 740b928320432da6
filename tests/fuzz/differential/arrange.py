"""Makers of operators that move elements: reshaping, joining, picking, scattering, padding."""
import numpy as np
from onnx import TensorProto

from case import FLOATS, NATIVE, Constant, array_of, maker, numpy_type

INDEX = (TensorProto.INT64, TensorProto.INT32)


def index_array(c, shape, extent, elem=TensorProto.INT64, negative=True):
    if extent == 0 and np.prod(shape, initial=1) > 0:
        c.unfit()
    return c.rng.integers(-extent if negative else 0, max(extent, 1), shape).astype(numpy_type(elem))


@maker("Transpose", chain=True, exact=True)
def transpose(c):
    x = c.x(high_rank=6)
    rank = array_of(x).ndim
    return [x], {"perm": c.draw.sample(range(rank), rank) if rank and c.chance(0.85) else None}


@maker("Reshape", chain=True, exact=True)
def reshape(c):
    if c.version < 5:
        c.unfit()
    x = c.x(high_rank=5)
    shape = list(array_of(x).shape)
    count = int(np.prod(shape, initial=1))
    to = []
    if count and not (len(shape) > 5):
        rest = count
        for _ in range(c.draw.randint(0, 4)):
            d = c.one(*[k for k in range(1, rest + 1) if rest % k == 0][:8])
            to.append(d)
            rest //= d
        if rest != 1 or not to and count != 1:
            to.append(rest)
        for i, d in enumerate(to):
            if i < len(shape) and shape[i] == d and c.chance(0.3):
                to[i] = 0
        if to and c.chance(0.5):
            to[c.draw.randrange(len(to))] = -1
        return [x, Constant(np.array(to, "int64"))], {}
    allow = c.version >= 14
    return [x, Constant(np.array(shape[::-1] if allow else shape, "int64"))], {"allowzero": 1 if allow else None}


@maker("Flatten", chain=True, exact=True)
def flatten(c):
    x = c.x(low_rank=1, high_rank=5)
    rank = array_of(x).ndim
    return [x], {"axis": c.one(None, c.draw.randint(-rank if c.version >= 11 else 0, rank))}


def axes_form(c, axes, since):
    """Axes as attribute or, from version `since` on, as input."""
    if axes is None:
        return [], {}
    if c.version < since:
        return [], {"axes": axes}
    return [Constant(np.array(axes, "int64"))], {}


@maker("Squeeze", chain=True, exact=True)
def squeeze(c):
    x = c.x(high_rank=6)
    shape = array_of(x).shape
    ones = [i for i, s in enumerate(shape) if s == 1]
    axes = None
    if c.chance(0.7) and ones:
        axes = [a - (len(shape) if c.version >= 11 and c.chance(0.4) else 0) for a in c.draw.sample(ones, c.draw.randint(1, len(ones)))]
    more, attributes = axes_form(c, axes, 13)
    return [x, *more], attributes


@maker("Unsqueeze", chain=True, exact=True)
def unsqueeze(c):
    x = c.x(high_rank=3)
    rank = array_of(x).ndim + c.draw.randint(1, 2)
    axes = c.draw.sample(range(rank), rank - array_of(x).ndim)
    more, attributes = axes_form(c, [a - (rank if c.version >= 11 and c.chance(0.4) else 0) for a in axes], 13)
    return [x, *more], attributes


@maker("Concat", chain=True, exact=True)
def concat(c):
    x = c.x(low_rank=1, high_rank=5)
    shape = list(array_of(x).shape)
    axis = c.draw.randrange(len(shape))
    parts = [x]
    for _ in range(c.draw.randint(0, 4)):
        shape[axis] = c.size(0)
        parts.append(c.array(shape, c.t("T")))
    return parts, {"axis": axis - (len(shape) if c.version >= 11 and c.chance(0.4) else 0)}


@maker("Split", exact=True)
def split(c):
    x = c.x(low_rank=1)
    shape = array_of(x).shape
    axis = c.draw.randrange(len(shape))
    extent = shape[axis]
    c.results = c.draw.randint(1, 4)
    attributes = {"axis": axis - (len(shape) if c.version >= 11 and c.chance(0.4) else 0)}
    if axis == 0 and c.chance(0.5):
        attributes = {}
    if c.version >= 18 and c.chance(0.4):
        part = -(-extent // c.results)
        if extent == 0 or part * (c.results - 1) >= extent:
            c.unfit()
        return [x], {**attributes, "num_outputs": c.results}
    if extent % c.results == 0 and c.chance(0.4) and c.version < 18:
        return [x], attributes
    cuts = sorted(c.draw.randint(0, extent) for _ in range(c.results - 1))
    parts = [b - a for a, b in zip([0] + cuts, cuts + [extent])]
    if c.version < 13:
        return [x], {**attributes, "split": parts}
    return [x, Constant(parts)], attributes


@maker("Slice", chain=True, exact=True)
def slice_(c):
    x = c.x(low_rank=1, high_rank=5)
    shape = array_of(x).shape
    axes = c.draw.sample(range(len(shape)), c.draw.randint(1, len(shape)))
    if c.chance(0.3):
        axes = list(range(len(axes)))
    starts, ends, steps = [], [], []
    for a in axes:
        n = shape[a]
        step = c.one(1, 1, 1, 2, 3, -1, -1, -2, 7, -9) if c.version >= 10 else 1
        starts.append(c.one(0, c.draw.randint(-n - 2, n + 2), c.draw.randint(-n, n)))
        ends.append(c.one(n, c.draw.randint(-n - 2, n + 2), 2**31 - 1 if step > 0 else -2**31, 2**63 - 1 if step > 0 else -2**63 + 1))
        steps.append(step)
    ordered = axes == list(range(len(axes)))
    named = [a - (len(shape) if c.version >= 10 and c.chance(0.3) else 0) for a in axes]
    if c.version < 10:
        return [x], {"starts": starts, "ends": ends, "axes": None if ordered and c.chance(0.5) else named}
    elem = c.t("Tind")
    if elem == TensorProto.INT32:
        ends = [max(-2**31, min(2**31 - 1, e)) for e in ends]
    inputs = [Constant(v, numpy_type(elem)) for v in (starts, ends, named, steps)]
    if all(s == 1 for s in steps) and c.chance(0.5):
        inputs.pop()
        if ordered and c.chance(0.5):
            inputs.pop()
    elif ordered and c.chance(0.3):
        inputs[2] = None
    return [x, *inputs], {}


@maker("Gather", chain=True, exact=True)
def gather(c):
    x = c.x(low_rank=1)
    axis = c.axis(array_of(x).ndim)
    extent = array_of(x).shape[axis]
    return [x, index_array(c, c.shape(0, 2), extent, c.t("Tind"), c.version >= 11)], {"axis": c.one(None, axis) if axis == 0 else axis}


@maker("GatherElements", chain=True, exact=True)
def gather_elements(c):
    x = c.x(low_rank=1)
    axis = c.axis(array_of(x).ndim)
    shape = [s if c.chance(0.5) else c.draw.randint(min(s, 1), s) for s in array_of(x).shape]
    shape[axis] = c.size(0)
    return [x, index_array(c, shape, array_of(x).shape[axis], c.t("Tind"))], {"axis": axis}


def tuples(c, shape, depth, lead):
    """Index tuples into the first `depth` axes after `lead`."""
    columns = [index_array(c, lead, e) for e in depth]
    return np.stack(columns, -1) if columns else np.zeros((*lead, 0), "int64")


@maker("GatherND", exact=True)
def gather_nd(c):
    x = c.x(low_rank=1)
    shape = array_of(x).shape
    batch = c.draw.randint(0, min(2, len(shape) - 1)) if c.version >= 12 else 0
    depth = c.draw.randint(1, len(shape) - batch)
    lead = (*shape[:batch], *c.shape(0, 2))
    return [x, tuples(c, shape, shape[batch:batch + depth], lead)], {"batch_dims": batch if c.version >= 12 else None}


def reduction_of(c, since_all=18):
    if c.version < 16:
        return None
    return c.one(None, "none", "add", "mul", *(("min", "max") if c.version >= since_all else ()))


@maker("Scatter", "ScatterElements", exact=True)
def scatter_elements(c):
    x = c.x(low_rank=1)
    shape = array_of(x).shape
    axis = c.axis(len(shape))
    reduction = reduction_of(c) if c.schema.name == "ScatterElements" else None
    if (array_of(x).dtype == object or array_of(x).dtype == bool) and reduction not in (None, "none"):
        c.unfit()
    to = [c.draw.randint(min(s, 1), s) for s in shape]
    if shape[axis] == 0:
        c.unfit()
    # Where nothing is reduced, no element may be written twice.
    lines = np.argsort(c.rng.random([*to[:axis % len(shape)], shape[axis], *to[axis % len(shape) + 1:]]), axis)
    indices = np.take(lines, range(to[axis]), axis)
    indices = np.where(c.rng.random(indices.shape) < 0.3, indices - shape[axis], indices)
    if reduction not in (None, "none"):
        indices = index_array(c, to, shape[axis])
    elem = c.t("Tind")
    return [x, indices.astype(numpy_type(elem)), c.array(to, c.t("T"))], {"axis": axis, "reduction": reduction}


@maker("ScatterND", exact=True)
def scatter_nd(c):
    x = c.x(low_rank=1)
    shape = array_of(x).shape
    reduction = reduction_of(c)
    if (array_of(x).dtype == object or array_of(x).dtype == bool) and reduction not in (None, "none"):
        c.unfit()
    depth = c.draw.randint(1, len(shape))
    places = int(np.prod(shape[:depth], initial=1))
    lead = c.shape(1, 2)
    count = int(np.prod(lead, initial=1))
    if reduction in (None, "none"):
        if count > places:
            c.unfit()
        flat = c.rng.permutation(places)[:count].reshape(lead)
        indices = np.stack(np.unravel_index(flat, shape[:depth]), -1).astype("int64")
        indices = np.where(c.rng.random(indices.shape) < 0.3, indices - np.array(shape[:depth]), indices)
    else:
        indices = tuples(c, shape, shape[:depth], lead)
    return [x, indices, c.array((*lead, *shape[depth:]), c.t("T"))], {"reduction": reduction}


@maker("Expand", chain=True, exact=True)
def expand(c):
    x = c.x()
    shape = array_of(x).shape
    to = [c.size(0) if s == 1 and c.chance(0.6) else (s if c.chance(0.6) else 1) for s in shape]
    to = [c.size() for _ in range(c.draw.randint(0, 2))] + to
    if np.prod(to, initial=1) * np.prod(shape, initial=1) > 10000:
        c.unfit()
    return [x, Constant(np.array(to, "int64"))], {}


@maker("Tile", chain=True, exact=True)
def tile(c):
    if c.version < 6:
        c.unfit()
    x = c.x(high_rank=5)
    return [x, Constant(np.array([c.one(0, 1, 1, 1, 2, 3) if c.empty else c.one(1, 1, 2, 3) for _ in array_of(x).shape], "int64"))], {}


@maker("Pad", chain=True, exact=True)
def pad(c):
    if c.version < 2:
        c.unfit()
    x = c.x()
    shape = array_of(x).shape
    modes = ["constant", "constant", "reflect", "edge"] + (["wrap"] if c.version >= 19 else [])
    mode = c.one(None, *modes)
    axes = list(range(len(shape)))
    if c.version >= 18 and c.chance(0.4):
        axes = c.draw.sample(axes, c.draw.randint(0, len(axes)))
    pads = []
    for _ in range(2):
        for a in axes:
            most = shape[a] - 1 if mode == "reflect" else shape[a] if mode in ("edge", "wrap") else 3
            pads.append(c.draw.randint(0, max(0, min(3, most))) if c.chance(0.9) or mode not in (None, "constant") else -c.draw.randint(0, shape[a] // 2))
    value = c.one(0, 1, 3)
    if c.version < 11:
        return [x], {"mode": mode, "pads": pads, "value": c.one(None, float(value))}
    elem = c.t("T")
    fill = None
    if c.chance(0.6):
        fill = np.array("pad", object) if elem == TensorProto.STRING else np.asarray(value, numpy_type(elem))
    inputs = [x, Constant(np.array(pads, "int64")), fill]
    if c.version >= 18 and (axes != list(range(len(shape))) or c.chance(0.2)):
        tind = c.t("Tind")
        inputs.append(Constant(np.array([a - (len(shape) if c.chance(0.4) else 0) for a in axes]), numpy_type(tind)))
    return inputs, {"mode": mode}


@maker("DepthToSpace", "SpaceToDepth", chain=True, exact=True)
def blocks(c):
    deep = c.schema.name == "DepthToSpace"
    b = c.one(1, 2, 2, 3)
    n, ch, h, w = c.size(0), c.size(), c.draw.randint(1, 4), c.draw.randint(1, 4)
    shape = (n, ch * b * b, h, w) if deep else (n, ch, h * b, w * b)
    if c.pinned is not None:
        shape = c.pinned.array.shape
        if len(shape) != 4 or (shape[1] % (b * b) if deep else shape[2] % b or shape[3] % b):
            c.unfit()
    return [c.x(low_rank=4, shape=shape)], {"blocksize": b, "mode": c.one(None, "DCR", "CRD") if deep and c.version >= 11 else None}


@maker("Trilu", exact=True)
def trilu(c):
    k = np.array(c.draw.randint(-8, 8), "int64") if c.chance(0.7) else None
    return [c.x(low_rank=2), Constant(k) if k is not None else None], {"upper": c.one(None, 0, 1)}


@maker("Compress", exact=True)
def compress(c):
    x = c.x(low_rank=1)
    axis = c.axis(array_of(x).ndim) if c.chance(0.7) else None
    if axis is not None and axis < 0 and c.version < 11:
        c.unfit()
    extent = array_of(x).size if axis is None else array_of(x).shape[axis]
    return [x, c.array((c.draw.randint(min(1, extent), extent) if c.chance(0.5) else extent,), TensorProto.BOOL)], {"axis": axis}


@maker("NonZero", exact=True)
def non_zero(c):
    return [c.x(low=-1, high=1, low_rank=0 if c.version >= 13 else 1)], {}


@maker("Unique", exact=True)
def unique(c):
    x = c.x(low_rank=1, high_rank=3, low=-2, high=1)
    c.results = c.draw.randint(1, 4)
    c.result_types = {1: TensorProto.INT64, 2: TensorProto.INT64, 3: TensorProto.INT64}
    return [x], {"axis": c.one(None, c.axis(array_of(x).ndim)), "sorted": c.one(None, 0, 1)}


@maker("OneHot", exact=True)
def one_hot(c):
    indices = c.shape(1, 3)
    depth = c.draw.randint(1, 7)
    kinds = {TensorProto.INT64, TensorProto.INT32, TensorProto.FLOAT, TensorProto.DOUBLE}
    t1, t2, t3 = c.t("T1", kinds), c.t("T2", kinds), c.t("T3")
    i = c.rng.integers(-depth - 1, depth + 2, indices).astype(numpy_type(t1))
    return [i, Constant(np.asarray(depth if c.chance(0.6) else [depth]), numpy_type(t2)), c.array((2,), t3)], {"axis": c.one(None, c.axis(len(indices) + 1))}


@maker("Shape", exact=True)
def shape_(c):
    x = c.x(high_rank=6)
    c.result_types[0] = TensorProto.INT64
    if c.version < 15:
        return [x], {}
    return [x], {"start": c.one(None, c.draw.randint(-7, 7)), "end": c.one(None, c.draw.randint(-7, 7))}


@maker("Size", exact=True)
def size(c):
    c.result_types[0] = TensorProto.INT64
    return [c.x(high_rank=6)], {}


@maker("ConstantOfShape", exact=True)
def constant_of_shape(c):
    from onnx import numpy_helper
    elem = c.t("T2", NATIVE)
    c.result_types[0] = elem
    if elem == TensorProto.STRING:
        c.unfit()
    value = numpy_helper.from_array(c.array((1,), elem), "value")
    if c.chance(0.2):
        c.result_types[0], value = TensorProto.FLOAT, None
    return [Constant(np.array(c.shape(), "int64"))], {"value": value}


@maker("EyeLike", exact=True)
def eye_like(c):
    x = c.x("T1", low_rank=2, high_rank=2)
    to = c.t("T2", NATIVE) if c.chance(0.5) else None
    c.result_types[0] = to or c.t("T1")
    return [x], {"k": c.one(None, c.draw.randint(-9, 9)), "dtype": to}


@maker("Range", exact=True)
def range_(c):
    elem = c.t("T")
    step = c.one(1, 2, 3, -1, -2, 0.5) if elem in FLOATS else c.one(1, 2, 3, -1, -2)
    start, stop = c.draw.randint(-5, 5), c.draw.randint(-9, 12)
    return [Constant(np.asarray(v), numpy_type(elem)) for v in (start, stop, step)], {}


@maker("ReverseSequence", exact=True)
def reverse_sequence(c):
    x = c.x(low_rank=2)
    batch = c.one(0, 1)
    shape = array_of(x).shape
    lengths = c.rng.integers(min(1, shape[1 - batch]), shape[1 - batch] + 1, (shape[batch],)).astype("int64")
    return [x, lengths], {"batch_axis": batch, "time_axis": 1 - batch}


@maker("CenterCropPad", exact=True)
def center_crop_pad(c):
    x = c.x(low_rank=1)
    rank = array_of(x).ndim
    axes = c.axes(rank, 1) if c.chance(0.6) else None
    to = [c.size() for _ in (axes if axes is not None else range(rank))]
    return [x, Constant(to, numpy_type(c.t("Tind")))], {"axes": axes}


@maker("Col2Im")
def col2im(c):
    rank = c.one(1, 2, 2, 3)
    image = [c.draw.randint(2, 6) for _ in range(rank)]
    block = [c.draw.randint(1, 3) for _ in range(rank)]
    dilations = [c.one(1, 1, 2) for _ in range(rank)]
    strides = [c.one(1, 2) for _ in range(rank)]
    pads = [c.one(0, 0, 1) for _ in range(2 * rank)]
    counts = [(i + pads[k] + pads[k + rank] - d * (b - 1) - 1) // s + 1 for k, (i, b, d, s) in enumerate(zip(image, block, dilations, strides))]
    if min(counts) < 1 or any(i + pads[k] + pads[k + rank] - d * (b - 1) - 1 < 0 for k, (i, b, d) in enumerate(zip(image, block, dilations))):
        c.unfit()
    x = c.array((c.size(), c.size(1, 3) * int(np.prod(block)), int(np.prod(counts))), c.t("T"))
    return [x, Constant(image), Constant(block)], {"dilations": c.one(dilations, None) if max(dilations) == 1 else dilations,
                                                  "strides": strides, "pads": pads}


@maker("TensorScatter", exact=True)
def tensor_scatter(c):
    b, n, length, d = c.size(), c.size(), c.draw.randint(2, 8), c.size()
    circular = c.chance(0.4)
    update = c.draw.randint(1, length)
    past = c.array((b, n, length, d), c.t("T"))
    at = c.rng.integers(0, length if circular else length - update + 1, (b,)).astype("int64")
    return [past, c.array((b, n, update, d), c.t("T")), at if c.chance(0.7) else None], {"mode": "circular" if circular else c.one(None, "linear"), "axis": c.one(None, -2, 2)}


@maker("Constant", exact=True)
def constant(c):
    from onnx import numpy_helper
    if c.version >= 12 and c.chance(0.5):
        name, value, elem = c.one(("value_float", 1.5, 1), ("value_floats", [1.5, -2.0], 1), ("value_int", -3, 7), ("value_ints", [4, 5], 7),
                                  ("value_string", "ab", 8), ("value_strings", ["a", ""], 8))
        c.result_types[0] = elem
        return [], {name: value}
    elem = c.t("T")
    return [], {"value": numpy_helper.from_array(c.array(c.shape(), elem), "value")}
