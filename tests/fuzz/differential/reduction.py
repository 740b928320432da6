"""Makers of operators along axes: reductions, sums so far, sorting, normalising."""
import numpy as np
from onnx import TensorProto

from case import FLOATS, Constant, array_of, maker, numpy_type


@maker("ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceSumSquare", "ReduceL1", chain=True, exact=True)
def reduce_exact(c):
    return reduce_any(c, -2 if c.schema.name == "ReduceProd" else -4, 2 if c.schema.name == "ReduceProd" else 4)


@maker("ReduceMean", "ReduceL2", "ReduceLogSumExp", chain=True)
def reduce_rounding(c):
    return reduce_any(c, -4, 4)


@maker("ReduceLogSum")
def reduce_log_sum(c):
    return reduce_any(c, 1, 4)


def reduce_any(c, low, high):
    x = c.x(low=low, high=high, high_rank=5, special=c.schema.name in ("ReduceMax", "ReduceMin"))
    rank = array_of(x).ndim
    by_input = "axes" not in c.schema.attributes
    axes = c.axes(rank, 1) if rank and c.chance(0.75) else None
    if axes is not None and c.version < 11:
        axes = [a % rank for a in axes]
    values = array_of(x)
    if c.schema.name == "ReduceProd" and values.dtype.kind in "iuf":
        # The standard says of no integer what follows the last one; a float that is infinite on the way to a factor 0 depends on the order.
        sizes = np.maximum(np.abs(values.astype(np.float64)), 1)
        largest = np.finfo(values.dtype).max if values.dtype.kind == "f" else np.iinfo(values.dtype).max
        with np.errstate(over="ignore", invalid="ignore"):
            if not np.prod(sizes, axis=None if axes is None else tuple(axes)).max(initial=1) <= largest:
                c.unfit()
    attributes = {"keepdims": c.one(None, 0, 1)}
    if not by_input:
        return [x], {**attributes, "axes": axes}
    if axes is None and c.chance(0.5):
        attributes["noop_with_empty_axes"] = c.one(None, 0, 1)
        return [x, Constant(np.array([], "int64")) if c.chance(0.5) else None], attributes
    return [x, Constant(np.array(axes, "int64")) if axes is not None else None], attributes


@maker("ArgMax", "ArgMin", chain=True, exact=True)
def arg(c):
    x = c.x(low_rank=1, low=-3, high=3)
    rank = array_of(x).ndim
    axis = c.axis(rank)
    if c.version < 11:
        axis %= rank
    if array_of(x).shape[axis] == 0:
        c.unfit()
    c.result_types[0] = TensorProto.INT64
    return [x], {"axis": c.one(None, axis) if axis == 0 else axis, "keepdims": c.one(None, 0, 1), "select_last_index": c.one(None, 0, 1) if c.version >= 12 else None}


@maker("CumSum", "CumProd", exact=True)
def cumulative(c):
    product = c.schema.name == "CumProd"
    x = c.x(low_rank=1, low=-1 if product else -4, high=2 if product else 4)
    axis = c.axis(array_of(x).ndim)
    elem = c.t("T2")
    return [x, Constant(axis if c.chance(0.7) or product else [axis], numpy_type(elem))], {"exclusive": c.one(None, 0, 1), "reverse": c.one(None, 0, 1)}


@maker("TopK", exact=True)
def top_k(c):
    """All values along the axis differ where the order of equal ones is not defined (unsorted)."""
    x = c.x(low_rank=1, low=-20, high=20)
    rank = array_of(x).ndim
    axis = c.axis(rank) if c.version >= 11 else c.draw.randrange(rank)
    extent = array_of(x).shape[axis]
    k = c.draw.randint(0 if c.empty else min(1, extent), extent)
    c.results = 2
    c.result_types[1] = TensorProto.INT64
    attributes = {"axis": axis}
    if c.version < 10:
        if k == 0:
            c.unfit()
        return [x], {**attributes, "k": k}
    if c.version >= 11:
        attributes.update(largest=c.one(None, 0, 1), sorted=c.one(None, 1))
    return [x, Constant([k])], attributes


@maker("Softmax", "LogSoftmax", "Hardmax", chain=True)
def softmax(c):
    x = c.x(low_rank=1)
    rank = array_of(x).ndim
    axis = c.axis(rank)
    if c.version < 11:
        axis %= rank
    if array_of(x).size == 0:
        c.unfit()
    return [x], {"axis": c.one(None, axis) if rank > 1 else axis}


@maker("LpNormalization")
def lp_normalization(c):
    x = c.x(low_rank=1, low=0.5)
    return [x], {"axis": c.one(None, c.axis(array_of(x).ndim)), "p": c.one(None, 1, 2)}


@maker("MeanVarianceNormalization")
def mvn(c):
    x = c.x(low_rank=4, high_rank=4)
    c.atol = 2e-4
    return [x], {"axes": c.one(None, [0, 2, 3], [2, 3], [0, 1, 2, 3])}


@maker("LayerNormalization", "RMSNormalization")
def layer_norm(c):
    x = c.x("T", low_rank=1)
    rank = array_of(x).ndim
    axis = c.axis(rank)
    rest = array_of(x).shape[axis:]
    if array_of(x).size == 0:
        c.unfit()
    c.atol = 1e-4
    attributes = {"axis": c.one(None, axis) if axis == -1 else axis, "epsilon": c.one(None, 1e-3, 0.5), "stash_type": c.one(None, 1)}
    elem = c.t("T")
    if c.schema.name == "RMSNormalization":
        if c.t("V", {elem}) != elem:
            c.unfit()
        return [x, c.array(rest, elem)], attributes
    c.results = c.one(1, 1, 3)
    c.result_types = {1: TensorProto.FLOAT, 2: TensorProto.FLOAT}
    return [x, c.array(rest, elem), c.array(rest, elem) if c.chance(0.6) else None], attributes


def image(c, low=3, high=5, sizes=9):
    """N, C and at least one spatial extent."""
    rank = c.one(*[r for r in (3, 4, 4, 4, 5) if low <= r <= high])
    return (c.size(0), c.size(), *[c.draw.randint(1, sizes if rank < 5 else 5) for _ in range(rank - 2)])


@maker("BatchNormalization")
def batch_norm(c):
    if c.version < 7:
        c.unfit()
    shape = image(c, 3, 5) if c.chance(0.8) else (c.size(), c.size())
    x = c.array(shape, c.t("T"))
    mean = c.t("T2") if c.version >= 15 else c.t("U") if c.version >= 14 else c.t("T")
    scale = c.t("T1") if c.version >= 15 else c.t("T")
    ch = (shape[1],)
    return [x, c.array(ch, scale), c.array(ch, scale), c.array(ch, mean), c.array(ch, mean, 0.25, 4)], {"epsilon": c.one(None, 1e-3, 0.5), "momentum": c.one(None, 0.5)}


@maker("InstanceNormalization")
def instance_norm(c):
    if c.version < 6:
        c.unfit()
    shape = image(c)
    c.atol = 1e-4
    elem = c.t("T")
    return [c.array(shape, elem), c.array((shape[1],), elem), c.array((shape[1],), elem)], {"epsilon": c.one(None, 1e-3, 0.5)}


@maker("GroupNormalization")
def group_norm(c):
    groups = c.one(1, 2, 3)
    shape = list(image(c))
    shape[1] = groups * c.one(1, 2, 3)
    c.atol = 1e-4
    elem = c.t("T")
    channels = (shape[1] if c.version >= 21 else groups,)
    return [c.array(shape, elem), c.array(channels, elem), c.array(channels, elem)], {"num_groups": groups, "epsilon": c.one(None, 1e-3, 0.5)}


@maker("LRN")
def lrn(c):
    return [c.array(image(c, 4, 4), c.t("T"))], {"size": c.one(1, 3, 5), "alpha": c.one(None, 0.5), "beta": c.one(None, 0.5), "bias": c.one(None, 2.0)}
