"""Makers of the operators of networks: convolutions, pools, products, resizing, sampling, attention, losses."""
import numpy as np
from onnx import TensorProto

from case import FLOATS, Constant, array_of, maker, numpy_type
from reduction import image


def window(c, spatial, ceil=False):
    """kernel_shape, strides, dilations and pads under which every output extent is at least 1."""
    rank = len(spatial)
    kernel = [c.draw.randint(1, min(4, s + 1)) for s in spatial]
    strides = [c.one(1, 1, 2, 3) for _ in spatial]
    dilations = [c.one(1, 1, 1, 2) for _ in spatial]
    pads = [c.draw.randint(0, k - 1) if c.chance(0.5) else 0 for k in kernel + kernel]
    for i, s in enumerate(spatial):
        if s + pads[i] + pads[i + rank] < dilations[i] * (kernel[i] - 1) + 1:
            c.unfit()
    return kernel, strides, dilations, pads


def windowed(c, spatial, dilated=True):
    """Attributes of a window, with pads or auto_pad."""
    kernel, strides, dilations, pads = window(c, spatial)
    attributes = {"kernel_shape": kernel, "strides": c.one(strides, None)}
    if dilated and "dilations" in c.schema.attributes:
        attributes["dilations"] = dilations
    else:
        dilations = [1] * len(kernel)
    auto = c.one("NOTSET", "NOTSET", "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")
    if auto == "NOTSET":
        attributes["pads"] = pads
    else:
        attributes["auto_pad"] = auto
        if auto == "VALID" and any(s < d * (k - 1) + 1 for s, d, k in zip(spatial, dilations, kernel)):
            c.unfit()
    return attributes


def filters(c, spatial):
    group = c.one(1, 1, 2, 3)
    attributes = windowed(c, spatial)
    return group, group * c.size(1, 3), group * c.size(1, 3), attributes


@maker("Conv")
def conv(c):
    shape = image(c)
    group, ins, outs, attributes = filters(c, shape[2:])
    elem = c.t("T")
    c.atol = 1e-5
    bias = c.array((outs,), elem) if c.chance(0.5) else None
    weights = c.array((outs, ins // group, *attributes["kernel_shape"]), elem)
    if c.chance(0.4):
        attributes["kernel_shape"] = None
    return [c.array((shape[0], ins, *shape[2:]), elem), weights, bias], {**attributes, "group": c.one(group, None) if group == 1 else group}


@maker("ConvTranspose")
def conv_transpose(c):
    shape = image(c, sizes=6)
    group, ins, outs, attributes = filters(c, shape[2:])
    elem = c.t("T")
    c.atol = 1e-5
    strides = attributes["strides"] or [1] * (len(shape) - 2)
    if "pads" in attributes and c.chance(0.4):
        attributes["output_padding"] = [c.draw.randint(0, max(0, s - 1)) for s in strides]
    for i, s in enumerate(shape[2:]):
        if "pads" in attributes:
            full = (s - 1) * strides[i] + attributes["dilations"][i] * (attributes["kernel_shape"][i] - 1) + 1
            if full - attributes["pads"][i] - attributes["pads"][i + len(shape) - 2] < 1:
                c.unfit()
    bias = c.array((outs,), elem) if c.chance(0.5) else None
    return [c.array((shape[0], ins, *shape[2:]), elem), c.array((ins, outs // group, *attributes["kernel_shape"]), elem), bias], {**attributes, "group": group}


@maker("MaxPool", "AveragePool", "LpPool")
def pool(c):
    shape = image(c)
    if c.schema.name == "LpPool" and c.version < 2:
        c.unfit()
    attributes = windowed(c, shape[2:])
    c.atol = 1e-5
    elem = c.t("T")
    if "ceil_mode" in c.schema.attributes:
        attributes["ceil_mode"] = c.one(None, 0, 1)
    if "count_include_pad" in c.schema.attributes:
        attributes["count_include_pad"] = c.one(None, 0, 1)
    if c.schema.name == "LpPool":
        attributes["p"] = c.one(None, 1, 2, 3)
    if c.schema.name == "MaxPool" and c.version >= 8 and c.chance(0.3):
        c.results, c.result_types[1] = 2, TensorProto.INT64
        attributes["storage_order"] = c.one(None, 0, 1)
    return [c.array(shape, elem, 0 if c.schema.name == "LpPool" else -4, 4)], attributes


@maker("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool", chain=True)
def global_pool(c):
    c.atol = 1e-5
    return [c.x(shape=image(c)) if c.pinned is None else c.x(low_rank=3)], {"p": c.one(None, 1, 2)} if c.schema.name == "GlobalLpPool" else {}


@maker("MaxUnpool")
def max_unpool(c):
    n, ch, h, w = c.size(), c.size(), c.draw.randint(1, 4), c.draw.randint(1, 4)
    flat = np.stack([c.rng.permutation(4 * h * w)[:h * w].reshape(h, w) for _ in range(n * ch)]).reshape(n, ch, h, w)
    base = np.arange(n * ch).reshape(n, ch, 1, 1) * 4 * h * w
    inputs = [c.array((n, ch, h, w), c.t("T1")), (flat + base).astype("int64")]
    if c.chance(0.3):
        inputs.append(Constant([n, ch, 2 * h, 2 * w]))
    return inputs, {"kernel_shape": [2, 2], "strides": [2, 2]}


@maker("MatMul", chain=True, exact=True)
def matmul(c):
    x = c.x(low_rank=1)
    shape = array_of(x).shape
    n = c.size()
    if len(shape) == 1:
        other = c.one((shape[0],), (shape[0], n), (c.size(), shape[0], n))
    else:
        lead = tuple(1 if c.chance(0.3) else s for s in shape[c.draw.randint(0, len(shape) - 2):-2])
        other = c.one((shape[-1],), (shape[-1], n), (*lead, shape[-1], n))
    return [x, c.array(other, c.t("T"))], {}


@maker("Gemm")
def gemm(c):
    if c.version < 7:
        c.unfit()
    m, k, n = c.size(0), c.size(0 if c.empty else 1, 9), c.size(0)
    ta, tb = c.one(None, 0, 1), c.one(None, 0, 1)
    elem = c.t("T")
    bias = c.array(c.one((), (n,), (1, n), (m, 1), (m, n), (1,), (1, 1)), elem) if c.version < 11 or c.chance(0.6) else None
    return [c.array((k, m) if ta else (m, k), elem), c.array((n, k) if tb else (k, n), elem), bias], {
        "transA": ta, "transB": tb, "alpha": c.one(None, 0.5, 2.0) if elem in FLOATS else None, "beta": c.one(None, 0.5, 0.0) if elem in FLOATS else None}


@maker("Einsum")
def einsum(c):
    extents = {letter: c.size() for letter in "abcde"}
    terms = ["".join(c.draw.sample("abcde", c.draw.randint(1, 3))) for _ in range(c.one(1, 2, 2, 3))]
    if c.chance(0.15):
        terms[0] = "aa" + terms[0].replace("a", "")
    elem = c.t("T")
    letters = sorted(set("".join(terms)))
    equation = ",".join(terms)
    if c.chance(0.75):
        equation += "->" + "".join(c.draw.sample(letters, c.draw.randint(0, min(4, len(letters)))))
    if c.chance(0.2):
        equation = equation.replace(",", " , ")
    c.atol = 1e-5
    return [c.array([extents[x] for x in t], elem, -2, 2) for t in terms], {"equation": equation}


@maker("Det")
def det(c):
    n = c.draw.randint(1, 5)
    c.atol, c.rtol = 1e-3, 1e-4
    return [c.array((*c.shape(0, 2), n, n), c.t("T"))], {}


@maker("Upsample")
def upsample(c):
    shape = image(c, 4, 4, 5)
    if c.version < 7:
        c.unfit()
    scales = [1.0, 1.0, float(c.one(1, 2, 3)), float(c.one(1, 2, 3))]
    mode = c.one(None, "nearest", "linear")
    c.atol = 1e-5
    elem = c.t("T")
    x = c.array(shape, elem) if elem in FLOATS else c.array(shape, elem, 0, 100)
    if mode == "linear" and elem not in FLOATS:
        c.unfit()
    if c.version < 9:
        return [x], {"scales": scales, "mode": mode}
    return [x, Constant(scales, "float32")], {"mode": mode}


@maker("Resize")
def resize(c):
    mode = c.one("nearest", "nearest", "linear", "cubic")
    shape = image(c, 4 if mode == "cubic" else 3, 4 if mode == "cubic" else 5, 6)
    if min(shape) == 0:
        c.unfit()
    rank = len(shape)
    elem = c.t("T" if c.version < 11 else "T1", {TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.UINT8, TensorProto.INT8, TensorProto.INT32})
    if mode != "nearest" and elem != TensorProto.FLOAT:
        c.unfit()
    x = c.array(shape, elem)
    c.atol = 1e-4
    if c.version < 11:
        if mode == "cubic":
            c.unfit()
        return [x, Constant([1, 1] + [c.one(0.5, 1, 2, 3, 1.5) for _ in shape[2:]], "float32")], {"mode": mode}
    where = ["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"] + (["tf_crop_and_resize"] if rank == 4 else []) + (["half_pixel_symmetric"] if c.version >= 19 else [])
    attributes = {"mode": mode, "coordinate_transformation_mode": c.one(None, *where)}
    if mode == "nearest":
        attributes["nearest_mode"] = c.one(None, "round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
    if mode == "cubic":
        attributes.update(cubic_coeff_a=c.one(None, -0.5), exclude_outside=c.one(None, 0, 1))
    if c.version >= 18 and mode != "nearest" and c.chance(0.3) and attributes["coordinate_transformation_mode"] != "tf_crop_and_resize":
        attributes["antialias"] = 1
    roi = None
    if attributes["coordinate_transformation_mode"] == "tf_crop_and_resize":
        low = [0, 0] + [c.one(0, 0.25) for _ in shape[2:]]
        roi = Constant(low + [1, 1] + [c.one(1, 0.75, 1.25) for _ in shape[2:]], "float32")
        attributes["extrapolation_value"] = c.one(None, 2.0)
    scales = sizes = None
    if c.chance(0.5):
        scales = Constant([1, 1] + [c.one(0.5, 1, 2, 3, 1.5, 0.75) for _ in shape[2:]], "float32")
        if min(s * k for s, k in zip(shape, scales.array)) < 1:
            c.unfit()
    else:
        sizes = Constant([*shape[:2], *[c.draw.randint(1, 12) for _ in shape[2:]]])
    if roi is None and c.version < 13:
        roi = Constant([], "float32")
    if scales is None and c.version < 13:
        scales = Constant([], "float32")
    return [x, roi, scales, sizes], attributes


@maker("GridSample")
def grid_sample(c):
    shape = image(c, 4, 5 if c.version >= 20 else 4, 6)
    if min(shape) == 0:
        c.unfit()
    linear, cubic = ("bilinear", "bicubic") if c.version < 20 else ("linear", "cubic")
    mode = c.one(None, linear, "nearest", *((cubic,) if len(shape) == 4 else ()))
    grid = c.rng.uniform(-1.3, 1.3, (shape[0], *[c.draw.randint(1, 5) for _ in shape[2:]], len(shape) - 2))
    c.atol = 2e-4
    return [c.array(shape, c.t("T1")), grid.astype(numpy_type(c.t("T2")))], {
        "mode": mode, "padding_mode": c.one(None, "zeros", "border", "reflection"), "align_corners": c.one(None, 0, 1)}


@maker("AffineGrid")
def affine_grid(c):
    rank = c.one(2, 3)
    n = c.size()
    c.atol = 1e-5
    return [c.array((n, rank, rank + 1), c.t("T1")), Constant([n, c.size(), *[c.draw.randint(2, 6) for _ in range(rank)]])], {"align_corners": c.one(None, 0, 1)}


@maker("RoiAlign")
def roi_align(c):
    n, h, w, rois = c.size(), c.draw.randint(2, 9), c.draw.randint(2, 9), c.size()
    elem = c.t("T1")
    corner = c.rng.uniform(0, 4, (rois, 2))
    boxes = np.concatenate([corner, corner + c.rng.uniform(1, 5, (rois, 2))], 1).astype(numpy_type(elem))
    c.atol = 1e-4
    return [c.array((n, c.size(), h, w), elem), boxes, c.rng.integers(0, n, (rois,)).astype("int64")], {
        "output_height": c.one(None, 2, 3), "output_width": c.one(None, 2), "sampling_ratio": c.one(None, 1, 2, 3), "spatial_scale": c.one(None, 0.5, 1.0),
        "mode": c.one(None, "avg", "max"), "coordinate_transformation_mode": c.one(None, "half_pixel", "output_half_pixel") if c.version >= 16 else None}


@maker("MaxRoiPool")
def max_roi_pool(c):
    n, h, w, rois = c.size(), c.draw.randint(4, 9), c.draw.randint(4, 9), c.size()
    corner = c.rng.integers(0, 3, (rois, 2))
    boxes = np.concatenate([c.rng.integers(0, n, (rois, 1)), corner, corner + c.rng.integers(0, 4, (rois, 2))], 1)
    elem = c.t("T")
    return [c.array((n, c.size(), h, w), elem), boxes.astype(numpy_type(elem))], {"pooled_shape": [c.one(1, 2, 3), c.one(1, 2)], "spatial_scale": c.one(None, 1.0, 0.5)}


@maker("NonMaxSuppression", exact=True)
def nms(c):
    batch, classes, boxes = c.size(), c.size(1, 3), c.size()
    corner = c.rng.integers(0, 16, (batch, boxes, 2)) / 4
    extent = c.rng.integers(1, 12, (batch, boxes, 2)) / 4
    scores = np.stack([c.rng.permutation(boxes) for _ in range(batch * classes)]).reshape(batch, classes, boxes) / 16
    center = c.chance(0.3)
    low = corner if not center else corner
    high = extent if center else corner + extent
    more = [Constant(np.asarray(c.one(0, 1, 3, 100)) if c.chance(0.5) else [2])]
    if c.chance(0.8):
        more.append(Constant(np.asarray(c.one(0.0, 0.3, 0.5, 1.0)), "float32"))
        if c.chance(0.6):
            more.append(Constant(np.asarray(c.one(0.0, 0.15, -1.0)), "float32"))
    return [np.concatenate([low, high], 2).astype("float32"), scores.astype("float32"), *more], {"center_point_box": 1 if center else c.one(None, 0)}


@maker("DeformConv")
def deform_conv(c):
    n, group, h, w = c.size(), c.one(1, 2), c.draw.randint(2, 6), c.draw.randint(2, 6)
    ins, outs, og = group * c.one(1, 2), group * c.one(1, 2), 1
    kernel, strides, dilations, pads = window(c, (h, w))
    if ins % 2 == 0 and c.chance(0.3):
        og = 2
    size = [(s + pads[i] + pads[i + 2] - dilations[i] * (kernel[i] - 1) - 1) // strides[i] + 1 for i, s in enumerate((h, w))]
    elem = c.t("T")
    c.atol = 2e-4
    taps = kernel[0] * kernel[1]
    return [c.array((n, ins, h, w), elem), c.array((outs, ins // group, *kernel), elem), c.array((n, og * taps * 2, *size), elem, -2, 2, real=True),
            c.array((outs,), elem) if c.chance(0.5) else None, c.array((n, og * taps, *size), elem) if c.chance(0.5) else None], {
                "kernel_shape": kernel, "strides": strides, "dilations": dilations, "pads": pads, "group": group, "offset_group": og}


@maker("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
def loss(c):
    n, classes = c.size(), c.draw.randint(2, 6)
    more = c.shape(0, 2)
    elem = c.t("T")
    index = c.t("Tind")
    target = c.rng.integers(0, classes, (n, *more)).astype(numpy_type(index))
    attributes = {"reduction": c.one(None, "none", "sum", "mean"), "ignore_index": c.one(None, None, 0, 1)}
    if attributes["ignore_index"] is None and c.chance(0.3):
        attributes["ignore_index"] = -1
        target[c.rng.random(target.shape) < 0.3] = -1
    c.atol = 1e-5
    if c.schema.name == "SoftmaxCrossEntropyLoss":
        c.results = c.one(1, 2)
    return [c.array((n, classes, *more), elem), target, c.array((classes,), elem, 0.25, 4) if c.chance(0.5) else None], attributes


@maker("Attention")
def attention(c):
    b, h, d, dv, lq, lk = c.size(1, 3), c.one(1, 2, 4), c.one(2, 4, 8), c.one(2, 4), c.draw.randint(1, 5), c.draw.randint(1, 6)
    kv = h if c.chance(0.6) else c.one(*[k for k in (1, 2, 4) if h % k == 0])
    elem = c.t("T1")
    if c.t("T2", {elem}) != elem:
        c.unfit()
    c.atol = 1e-4
    shapes = (b, h, lq, d), (b, kv, lk, d), (b, kv, lk, dv)
    attributes = {"is_causal": c.one(None, 0, 1), "scale": c.one(None, 0.5), "softcap": c.one(None, None, 2.0)}
    flat = c.chance(0.4)
    if flat:
        shapes = (b, lq, h * d), (b, lk, kv * d), (b, lk, kv * dv)
        attributes.update(q_num_heads=h, kv_num_heads=kv)
    inputs = [c.array(s, elem) for s in shapes]
    past = c.draw.randint(1, 3) if c.chance(0.25) else 0
    total = lk + past
    mask = None
    if c.chance(0.5):
        u = c.t("U", {TensorProto.BOOL, elem})
        shape = c.one((lq, total), (1, total), (b, 1, lq, total), (1, h, lq, total)) if not past else (lq, total)
        mask = c.array(shape, u)
        if u == TensorProto.BOOL:
            mask[..., 0] = True
    inputs.append(mask)
    if past:
        inputs += [c.array((b, kv, past, d), elem), c.array((b, kv, past, dv), elem)]
        c.results = 3
    return inputs, attributes


@maker("RotaryEmbedding")
def rotary(c):
    b, s, h, d = c.size(1, 3), c.size(), c.one(1, 2), c.one(2, 4, 8)
    elem = c.t("T")
    flat = c.chance(0.4)
    part = c.one(0, d // 2 * 2, 2)
    half = (part or d) // 2
    most = c.draw.randint(s, s + 4)
    position = c.chance(0.6)
    cache = (most, half) if position else (b, s, half)
    inputs = [c.array((b, s, h * d) if flat else (b, h, s, d), elem), c.array(cache, elem), c.array(cache, elem),
              c.rng.integers(0, most, (b, s)).astype("int64") if position else None]
    c.atol = 1e-5
    return inputs, {"interleaved": c.one(None, 0, 1), "num_heads": h if flat else None, "rotary_embedding_dim": part or None}
