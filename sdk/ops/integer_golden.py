#!/usr/bin/env python3
"""Writes integer_golden_testing.h and integer_golden_wide_testing.h: golden vectors of the integer operators (INTEGER.md), computed
from the formulas with numpy and without any of our code.

    integer_golden.py            writes the files beside this script
    integer_golden.py --check    exit status 1 when a file says something else
"""
import itertools
import os
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
F = np.float32
rng = np.random.RandomState(20)
CASES = []  # name, operator, attributes, inputs, expected
WIDE = set()  # names of those with codes of 16 bits, int4, or an operator of later: a model file of their own


def codes(shape, dtype):
    info = np.iinfo(dtype)
    x = rng.randint(info.min, info.max + 1, shape).astype(dtype)
    flat = x.reshape(-1)
    if flat.size > 2:
        flat[0], flat[-1] = info.min, info.max  # both ends, always
    return x


def round_and_clamp(v, zero, low, high, dtype):
    v = np.asarray(v, F)
    with np.errstate(invalid="ignore"):
        y = np.where(np.isnan(v), F(low - zero), np.clip(v, F(low - zero), F(high - zero)))
    return (np.rint(y).astype(np.int64) + zero).astype(dtype)


def requantize(acc, m, zero, low, high, dtype):
    assert np.abs(acc).max(initial=0) < 2 ** 53
    with np.errstate(over="ignore"):
        return round_and_clamp(acc.astype(F) * np.asarray(m, F), zero, low, high, dtype)


def output(dtype, zero, low=None, high=None):
    info = np.iinfo(dtype)
    return {"y_zero": zero, "low": info.min if low is None else low, "high": info.max if high is None else high,
            "output_dtype": {np.uint8: 2, np.int8: 3, np.uint16: 4, np.int16: 5}[dtype]}


def ends(o):
    return o["y_zero"], o["low"], o["high"], {2: np.uint8, 3: np.int8, 4: np.uint16, 5: np.int16}[o["output_dtype"]]


class Int4:
    """Codes of int4 as numbers, held two to a byte, the first in the low half."""

    def __init__(self, values):
        self.values, self.shape = values, values.shape

    def bytes(self):
        flat = self.values.reshape(-1).astype(np.int64) & 15
        flat = np.append(flat, np.zeros(flat.size % 2, np.int64))
        return flat[0::2] | flat[1::2] << 4


def codes4(shape):
    x = rng.randint(-8, 8, shape).astype(np.int8)
    x.reshape(-1)[0], x.reshape(-1)[-1] = -8, 7
    return x


def windows(shape, kernel, strides, dilations, pads, out):
    """For each output position: the tap's index in the window and its position, taps inside the padded input only."""
    for o in np.ndindex(*out):
        taps = []
        for k in np.ndindex(*kernel):
            i = [o[d] * strides[d] + k[d] * dilations[d] - pads[d] for d in range(len(out))]
            if all(i[d] < shape[d] + pads[d + len(out)] for d in range(len(out))):
                taps.append((k, tuple(i), all(0 <= i[d] < shape[d] for d in range(len(out)))))
        yield o, taps


def extents(shape, kernel, strides, dilations, pads):
    n = len(kernel)
    return [(shape[d] + pads[d] + pads[d + n] - dilations[d] * (kernel[d] - 1) - 1) // strides[d] + 1 for d in range(n)]


def fits(acc, x):
    """Sums of 8-bit codes are int32, of 16-bit codes int64."""
    assert x.dtype.itemsize == 2 or np.abs(acc).max(initial=0) < 2 ** 31


def conv(name, x, x_zero, w, m, out, bias=None, w_zero=None, strides=None, dilations=None, pads=None, group=1, layout=0,
         int4=False):
    nchw = x if layout == 0 else np.moveaxis(x, -1, 1)
    spatial = w.ndim - 2
    strides, dilations, pads = strides or [1] * spatial, dilations or [1] * spatial, pads or [0] * 2 * spatial
    kernel = w.shape[2:]
    e = extents(nchw.shape[2:], kernel, strides, dilations, pads)
    channels = w.shape[0]
    zeros = np.broadcast_to(np.asarray(0 if w_zero is None else w_zero, np.int64), channels)
    multipliers = np.broadcast_to(np.asarray(m, F), channels)
    acc = np.zeros([x.shape[0], channels] + e, np.int64)
    per_in, per_out = w.shape[1], channels // group
    for o, taps in windows(nchw.shape[2:], kernel, strides, dilations, pads, e):
        for k, i, inside in taps:
            if not inside:
                continue
            for c in range(channels):
                first = c // per_out * per_in
                xs = nchw[(slice(None), slice(first, first + per_in)) + i].astype(np.int64) - x_zero
                ws = w[(c, slice(None)) + k].astype(np.int64) - zeros[c]
                acc[(slice(None), c) + o] += xs @ ws
    if bias is not None:
        acc += np.asarray(bias, np.int64).reshape([1, -1] + [1] * spatial)
    fits(acc, x)
    zero, low, high, dtype = ends(out)
    y = requantize(acc, multipliers.reshape([1, -1] + [1] * spatial), zero, low, high, dtype)
    if layout:
        y = np.moveaxis(y, 1, -1)
    a = dict(out, x_zero=x_zero, strides=strides, dilations=dilations, pads=pads, group=group, layout=layout)
    inputs = [x, Int4(w) if int4 else w, np.atleast_1d(np.asarray(m, F)), None if bias is None else np.asarray(bias, np.int32),
              None if w_zero is None else np.atleast_1d(np.asarray(w_zero, np.int8))]
    CASES.append((name, "IntConv", a, inputs, np.ascontiguousarray(y)))


def gemm(name, a, a_zero, b, m, out, bias=None, b_zero=None, int4=False):
    zeros = np.asarray(0 if b_zero is None else b_zero, np.int64)
    acc = np.matmul(a.astype(np.int64) - a_zero, b.astype(np.int64) - zeros)
    if bias is not None:
        acc = acc + np.asarray(bias, np.int64)
    fits(acc, a)
    y = requantize(acc, np.asarray(m, F), *ends(out))
    inputs = [a, Int4(b) if int4 else b, np.atleast_1d(np.asarray(m, F)), None if bias is None else np.asarray(bias, np.int32),
              None if b_zero is None else np.atleast_1d(np.asarray(b_zero, b.dtype))]
    CASES.append((name, "IntGemm", dict(out, a_zero=a_zero), inputs, y))


def affine(name, x, x_zero, factor, out, below=None, offset=None):
    d = x.astype(np.int64) - x_zero
    factor = np.asarray(factor, F)
    below = None if below is None else np.asarray(below, F)
    offset = None if offset is None else np.asarray(offset, F)
    v = d.astype(F) * np.where(d < 0, factor if below is None else below, factor)
    if offset is not None:
        v = v + offset
    CASES.append((name, "IntAffine", dict(out, x_zero=x_zero), [x, factor, below, offset],
                  round_and_clamp(v, *ends(out))))


def add(name, a, a_zero, ma, b, b_zero, mb, out):
    v = (a.astype(np.int64) - a_zero).astype(F) * F(ma) + (b.astype(np.int64) - b_zero).astype(F) * F(mb)
    attributes = dict(out, a_zero=a_zero, b_zero=b_zero, a_multiplier=F(ma), b_multiplier=F(mb))
    CASES.append((name, "IntAdd", attributes, [a, b], round_and_clamp(v, *ends(out))))


def mul(name, a, a_zero, b, b_zero, m, out):
    acc = (a.astype(np.int64) - a_zero) * (b.astype(np.int64) - b_zero)
    attributes = dict(out, a_zero=a_zero, b_zero=b_zero, multiplier=F(m))
    CASES.append((name, "IntMul", attributes, [a, b], requantize(acc, F(m), *ends(out))))


def pool(name, x, x_zero, kernel, scale, out, strides=None, pads=None, include=False, table=True):
    n = len(kernel)
    strides, pads = strides or [1] * n, pads or [0] * 2 * n
    taps_all = int(np.prod(kernel))
    if table:
        m = np.array([scale / max(1, i) for i in range(taps_all + 1)], np.float64).astype(F)
    else:
        m = np.array([scale / taps_all], np.float64).astype(F)
    e = extents(x.shape[2:], kernel, strides, [1] * n, pads)
    zero, low, high, dtype = ends(out)
    y = np.zeros(list(x.shape[:2]) + e, dtype)
    for o, taps in windows(x.shape[2:], kernel, strides, [1] * n, pads, e):
        acc, count = np.zeros(x.shape[:2], np.int64), 0
        for _, i, inside in taps:
            count += 1 if inside or include else 0
            if inside:
                acc += x[(slice(None), slice(None)) + i].astype(np.int64) - x_zero
        y[(slice(None), slice(None)) + o] = requantize(acc, m[count if table else 0], zero, low, high, dtype)
    a = dict(out, x_zero=x_zero, kernel_shape=list(kernel), strides=strides, pads=pads, count_include_pad=include)
    CASES.append((name, "IntAveragePool", a, [x, m], y))


def table(name, x, t):
    CASES.append((name, "IntTable", {}, [x, t], t[x.view(np.uint8)]))


def softmax(name, x, scale, axis, y_scale, out, kept=None):
    t = np.rint(np.exp(-np.arange(256) * scale) * 2.0 ** 23).astype(np.int32)
    codes_of = x.astype(np.int64)
    keeps = np.broadcast_to(True if kept is None else kept, x.shape)
    top = np.where(keeps, codes_of, -129).max(axis=axis, keepdims=True)
    e = np.where(keeps, t[np.clip(top - codes_of, 0, 255)], 0)
    e = np.where(top == -129, t[0], e).astype(np.int32)
    total = e.astype(np.int64).sum(axis=axis, keepdims=True)
    q = F(1 / y_scale) / total.astype(F)
    y = round_and_clamp(e.astype(F) * q, *ends(out))
    CASES.append((name, "IntSoftmax", dict(out, axis=axis, multiplier=F(1 / y_scale)),
                  [x, t] + ([] if kept is None else [kept]), y))


def resize(name, x, x_zero, axes, m, out):
    """axes: {axis: (places, weights)}, each [extent of y, taps]."""
    acc = x.astype(np.int64) - x_zero
    inputs = [x]
    for axis, (places, weights) in sorted(axes.items()):
        places, weights = np.asarray(places, np.int32), np.asarray(weights, np.int32)
        taken = np.take(acc, places, axis=axis)  # [..., positions, taps, ...]
        shape = [1] * taken.ndim
        shape[axis:axis + 2] = weights.shape
        acc = (taken * weights.reshape(shape)).sum(axis=axis + 1)
        inputs += [places, weights]
    CASES.append((name, "IntResize", dict(out, axes=sorted(axes), x_zero=x_zero, multiplier=F(m)), inputs,
                  requantize(acc, F(m), *ends(out))))


def build():
    i8, u8 = np.int8, np.uint8
    # 1 x 1, one tap: ties at every half, both ways around zero.
    conv("ties", np.arange(-8, 8, dtype=i8).reshape(1, 1, 16), 0, np.ones((1, 1, 1), i8), 0.5, output(i8, 0))
    conv("ties_about_a_zero_point", np.arange(-8, 8, dtype=i8).reshape(1, 1, 16), 0, np.ones((1, 1, 1), i8), 0.5,
         output(u8, 3))
    conv("saturates", codes((1, 2, 4, 4), u8), 128, codes((3, 2, 3, 3), i8), 0.01, output(i8, -1), bias=[5, -7, 100000])
    conv("channels", codes((2, 3, 5, 4), u8), 131, codes((4, 3, 3, 3), i8), [3e-4, 7.1e-4, 1e-3, 2.3e-4], output(u8, 121),
         bias=[-3000, 0, 77, 12345], w_zero=[0, -128, 127, 5], pads=[1, 1, 1, 1])
    conv("zero_points_at_the_ends", codes((1, 2, 6), i8), -128, codes((2, 2, 3), i8), [1.7e-4, 2e-4], output(u8, 255),
         w_zero=[127, -128], pads=[2, 1])
    conv("relu", codes((1, 2, 6), u8), 0, codes((2, 2, 3), i8), [2e-3, 1e-3], output(u8, 40, 40, 200), bias=[11, -11])
    conv("depthwise", codes((1, 4, 5, 5), i8), 7, codes((4, 1, 3, 3), i8), [1e-3, 2e-3, 3e-3, 4e-3], output(i8, -5),
         strides=[2, 2], pads=[1, 1, 0, 0], group=4)
    conv("groups_dilated", codes((1, 4, 7, 6), i8), -3, codes((6, 2, 2, 2), i8), 1.1e-3, output(i8, 9), strides=[1, 2],
         dilations=[2, 1], pads=[0, 1, 1, 0], group=2)
    conv("nhwc", codes((1, 4, 5, 3), u8), 100, codes((2, 3, 3, 3), i8), [1e-3, 9e-4], output(u8, 7), pads=[1, 1, 1, 1],
         layout=1)
    conv("volume", codes((1, 2, 3, 3, 3), i8), 1, codes((2, 2, 2, 2, 2), i8), 6e-4, output(i8, 0))
    # Sums above 2^24: float() of them rounds.
    conv("sums_that_round", np.full((1, 1, 4), 127, i8), -128, np.full((2, 1, 1), 127, i8), [2.0 ** -24, 2.0 ** -25],
         output(i8, 0), bias=[2 ** 31 - 40000, -(2 ** 30) - 1])
    gemm("plain", codes((5, 7), i8), 3, codes((7, 4), i8), 2e-3, output(i8, -9))
    gemm("columns", codes((3, 33), u8), 255, codes((33, 6), i8), [1e-4, 2e-4, 3e-4, 5e-4, 1e-3, 4e-3], output(u8, 0),
         bias=[1, -1, 1000, -1000, 100000, -100000], b_zero=[1, -1, 127, -128, 0, 64])
    gemm("batch", codes((2, 3, 4, 5), u8), 128, codes((3, 5, 6), u8), 1e-3, output(u8, 128), b_zero=117)
    gemm("vectors", codes((9,), i8), -128, codes((9,), i8), 3e-4, output(i8, 127))
    gemm("ties", np.arange(-10, 10, dtype=i8).reshape(20, 1), 0, np.ones((1, 3), i8), [0.5, 0.25, 1.5], output(i8, 0))
    gemm("relu_and_bound", codes((4, 8), i8), 0, codes((8, 3), i8), 1e-3, output(i8, -20, -20, 30))
    both = np.array(list(itertools.product([-128, -127, -1, 0, 1, 2, 126, 127], repeat=2)), i8)
    add("ends", both[:, 0], -128, 0.5, both[:, 1], 127, 0.5, output(i8, 0))
    add("ties", both[:, 0], 0, 0.5, both[:, 1], 0, 0.25, output(i8, 1))
    add("two_scales", codes((2, 3, 4), u8), 120, 0.731, codes((2, 3, 4), i8), -7, 0.0193, output(u8, 99))
    add("difference", codes((3, 5), u8), 0, 1.37, codes((3, 5), u8), 255, -0.6, output(i8, -128))
    add("broadcast", codes((2, 1, 3), i8), 5, 0.9, codes((4, 1), u8), 200, 1.1, output(i8, 4, 4, 90))
    add("saturates", codes((40,), u8), 0, 30.0, codes((40,), u8), 0, -29.5, output(u8, 128))
    mul("ends", both[:, 0], -128, both[:, 1], 127, 0.0021, output(i8, 3))
    mul("ties", both[:, 0], 0, both[:, 1], 0, 0.5, output(i8, 0))
    mul("broadcast", codes((2, 3, 1), u8), 17, codes((3, 4), i8), -2, 0.011, output(u8, 66, 0, 180))
    pool("padded", codes((1, 2, 5, 5), u8), 131, (3, 3), 0.83, output(u8, 12), strides=[2, 2], pads=[1, 1, 1, 1])
    pool("padding_counts", codes((1, 2, 4, 5), i8), -128, (2, 3), 1.21, output(i8, 0), pads=[1, 1, 0, 1], include=True)
    pool("global", codes((2, 3, 7, 7), i8), 4, (7, 7), 0.97, output(i8, -4), table=False)
    pool("ties", np.array([[[0, 1, 2, 3, 4, 5, 6]]], u8), 0, (2,), 1.0, output(u8, 0), table=False)
    table("sigmoid", np.arange(-128, 128, dtype=i8),
          np.clip(np.rint(256 / (1 + np.exp(-np.arange(256).astype(np.uint8).astype(i8) * 0.05))), 0, 255).astype(u8))
    table("any", codes((3, 5), u8), codes((256,), i8))
    softmax("rows", codes((4, 10), i8), 0.11, -1, 1 / 256, output(u8, 0))
    softmax("middle_axis", codes((2, 5, 3), u8), 0.03, 1, 1 / 256, output(i8, -128))
    softmax("long", codes((1, 400), u8), 0.02, 1, 1 / 4096, output(u8, 0))
    softmax("equal", np.full((1, 3), 9, i8), 0.5, -1, 1 / 255, output(u8, 0))
    twice = ([[0, 0], [0, 1], [0, 1], [1, 2], [1, 2], [2, 2]], [[512, 1536], [1536, 512]] * 3)
    resize("twice", codes((1, 2, 3, 3), u8), 128, {2: twice, 3: twice}, 2.0 ** -22, output(u8, 128))
    resize("channels_last", codes((1, 3, 3, 2), i8), -7, {1: twice, 2: twice}, 0.77 * 2.0 ** -22, output(i8, 3))
    resize("ties", np.arange(-8, 8, dtype=i8).reshape(1, 16), 0, {1: ([[i, i + 1] for i in range(15)], [[1, 1]] * 15)}, 0.5,
           output(i8, 0))
    resize("overshoots", codes((2, 5), i8), -128, {1: ([[0, 1, 2, 3], [1, 2, 3, 4]], [[-614, 3686, 1331, -307]] * 2)},
           1.3 * 2.0 ** -12, output(u8, 17, 20, 240))
    resize("volume", codes((3, 2, 4), u8), 0, {0: ([[0, 1], [1, 2]], [[64, 64], [1, 127]]), 1: ([[1]], [[128]]),
           2: ([[3, 0]] * 3, [[100, 28], [128, 0], [0, 128]])}, 0.9 * 2.0 ** -21, output(i8, -128))
    wide()
    softmax("single", np.array([[7]], u8), 0.5, 0, 1 / 256, output(i8, -128))


def wide():
    """Codes of 16 bits, on either side of an operator, weights of int4, and IntAffine."""
    before = len(CASES)
    i8, u8, i16, u16 = np.int8, np.uint8, np.int16, np.uint16
    conv("half_words", codes((1, 3, 5, 4), i16), 0, codes((4, 3, 3, 3), i8), [3e-2, 1.1e-3, 1e-3, 2.3e-4], output(i16, 0),
         bias=[-3000000, 0, 77, 2 ** 31 - 1], pads=[1, 1, 1, 1])
    conv("half_words_ties", np.arange(-8, 8, dtype=i16).reshape(1, 1, 16), 0, np.ones((1, 1, 1), i8), 0.5, output(i16, 0))
    conv("half_words_zero_points", codes((2, 2, 6), u16), 40000, codes((3, 2, 3), i8), [1.7e-3, 2e-3, 9e-3],
         output(u16, 65535, 300, 65535), w_zero=[127, -128, 3], pads=[2, 1])
    conv("half_words_depthwise", codes((1, 4, 5, 5), i16), 0, codes((4, 1, 3, 3), i8), [1e-1, 2e-2, 3e-1, 4e-3],
         output(i16, 0, 0, 32767), strides=[2, 2], pads=[1, 1, 0, 0], group=4)
    conv("half_words_nhwc_groups", codes((1, 4, 5, 4), i16), 0, codes((6, 2, 3, 3), i8), [1e-2] * 6, output(i16, 0),
         pads=[1, 1, 1, 1], layout=1, group=2)
    conv("half_words_to_bytes", codes((1, 3, 4, 4), i16), 0, codes((2, 3, 3, 3), i8), [3e-5, 2e-5], output(u8, 131),
         bias=[9000, -70000])
    conv("bytes_to_half_words", codes((1, 3, 4, 4), u8), 131, codes((2, 3, 3, 3), i8), [0.3, 0.41], output(i16, 0),
         bias=[9000, -70000])
    # 600 taps of the largest products pass 2^31; float() of the int64 sum rounds once.
    large = np.full((1, 600), -32768, i16)
    large[0, :7] = [32767, 1, 2, 3, 5, 8, 13]
    gemm("half_words_past_int32", large, 0, np.full((600, 2), -128, i8), [2.0 ** -17, 2.0 ** -18 * 1.1],
         output(i16, 0), bias=[2 ** 31 - 1, -2 ** 31 + 1])
    gemm("half_words_columns", codes((3, 33), u16), 65535, codes((33, 6), u8), [1e-4, 2e-4, 3e-4, 5e-4, 1e-3, 4e-3],
         output(i16, -5), bias=[1, -1, 1000, -1000, 100000, -100000], b_zero=[1, 0, 127, 255, 0, 64])
    gemm("half_words_to_bytes", codes((4, 9), i16), 0, codes((9, 5), i8), 3e-5, output(i8, 3))
    gemm("half_words_vectors", codes((9,), i16), 0, codes((9,), i8), 3e-2, output(u16, 32768))
    conv("int4", codes((1, 3, 5, 4), u8), 131, codes4((4, 3, 3, 3)), [3e-3, 7.1e-3, 1e-2, 2.3e-3], output(u8, 121),
         bias=[-300, 0, 77, 1234], pads=[1, 1, 1, 1], int4=True)
    conv("int4_odd_depthwise", codes((1, 5, 5, 3), i8), 7, codes4((3, 1, 3, 3)), [1e-2, 2e-2, 3e-2], output(i8, -5),
         w_zero=[0, -8, 7], layout=1, group=3, int4=True)
    gemm("int4", codes((3, 7), i8), 3, codes4((7, 5)), [2e-2, 1e-2, 3e-2, 1e-3, 5e-2], output(i16, -9), int4=True)
    both = np.array(list(itertools.product([-32768, -32767, -1, 0, 1, 2, 32766, 32767], repeat=2)), i16)
    add("half_words", both[:, 0], 0, 0.5, both[:, 1], 0, 0.25, output(i16, 0))
    add("half_words_and_bytes", codes((2, 3, 4), u16), 40000, 0.731, codes((2, 3, 4), i8), -7, 40.193, output(u16, 99))
    add("half_words_to_bytes", codes((3, 5), i16), 0, 0.0037, codes((3, 5), i16), 0, -0.006, output(i8, 4, 4, 90))
    mul("half_words", both[:, 0], 0, both[:, 1], 0, 2.0 ** -16, output(i16, 0))
    mul("half_words_past_int32", codes((30,), u16), 0, codes((30,), u16), 65535, 2.0 ** -16, output(u16, 65535))
    affine("bytes", codes((2, 3, 4), u8), 117, [[[0.7], [1.1], [0.2]]], output(i8, 3), offset=[[[5.5], [-90], [2]]])
    affine("half_words", codes((2, 3, 4), i16), 0, [0.7], output(i16, 0), below=[0.1])
    affine("half_words_to_bytes", codes((3, 5), u16), 30000, [0.0037], output(u8, 128))
    pool("half_words", codes((1, 2, 5, 5), i16), 0, (3, 3), 0.83, output(i16, 0), strides=[2, 2], pads=[1, 1, 1, 1])
    pool("half_words_global", codes((2, 3, 7, 7), u16), 65535, (7, 7), 0.97, output(u8, 255), table=False)
    # Behind all others, whose numbers the generator of random ones gives as before.
    softmax("causal", codes((2, 5, 5), u8), 0.05, -1, 1 / 256, output(u8, 0), kept=np.tril(np.ones((5, 5), bool)))
    keeps = rng.randint(0, 2, (3, 1, 70)).astype(bool)
    keeps[1] = False  # a line of nothing
    softmax("kept", codes((3, 2, 70), i8), 0.04, -1, 1 / 255, output(i8, -128), kept=keeps)
    softmax("kept_middle_axis", codes((2, 4, 3), u8), 0.1, 1, 1 / 256, output(u8, 3), kept=np.array([[True], [False], [True], [True]]))
    WIDE.update((op, name) for name, op, _, _, _ in CASES[before:])


def number(v):
    if isinstance(v, (bool, np.bool_)):
        return "true" if v else "false"
    if isinstance(v, (float, np.floating)):
        return float(v).hex() + "f"
    return str(int(v)) if int(v) != -2 ** 31 else "INT32_MIN"


def braces(values):
    return "{" + ", ".join(number(v) for v in values) + "}"


TYPES = {"int8": "int8_t", "uint8": "uint8_t", "int16": "int16_t", "uint16": "uint16_t", "int32": "int32_t",
         "float32": "float"}


def elements(x):
    flat = x.reshape(-1)
    if flat.size > 64 and (flat == flat[0]).all():
        return "std::vector<%s>(%d, %s)" % (TYPES[x.dtype.name], flat.size, number(flat[0]))
    return braces(flat)


FOLDERS = {"IntConv": "int_conv", "IntGemm": "int_gemm", "IntAdd": "int_binary", "IntMul": "int_binary",
           "IntAveragePool": "int_pool", "IntAffine": "int_affine", "IntTable": "int_table", "IntSoftmax": "int_softmax",
           "IntResize": "int_resize"}


def case_text(name, op, attributes, inputs, expected):
    out = ["  {"]
    fields = ["a.%s = %s;" % (k, braces(v) if isinstance(v, list) else number(v)) for k, v in attributes.items()]
    out.append("    " + " ".join(["attrs::%sT a;" % op] + fields))
    out.append("    OpTest t(Op::k%s, pack<attrs::%s>(a));" % (op, op))
    while inputs[-1] is None:
        inputs.pop()
    for x in inputs:
        if x is None:
            out.append("    t.absent();")
        elif isinstance(x, Int4):
            out.append("    t.input(TestTensor{{DType::kI4, make_shape(std::vector<int64_t>%s)}, %s, {}});" %
                       (braces(x.shape), braces(x.bytes())))
        elif x.dtype == bool:
            out.append("    t.input_bool(%s, %s);" % (braces(x.shape), braces(x.reshape(-1).astype(np.uint8))))
        else:
            out.append("    t.input<%s>(%s, %s);" % (TYPES[x.dtype.name], braces(x.shape), elements(x)))
    kind = {"int8": "DType::kI8", "uint8": "DType::kU8", "int16": "DType::kI16", "uint16": "DType::kU16"}[expected.dtype.name]
    out.append('    out.push_back({"%s.%s", std::move(t), %s, %s, %s, %s});' %
               (op, name, kind, braces(expected.shape), braces(expected.reshape(-1)), number((op, name) in WIDE)))
    return out + ["  }"]


def header(wide, cases, end):
    """The text of one header: `end` stands behind the function of its cases."""
    guard = "VIREO_SDK_OPS_INTEGER_GOLDEN_%sTESTING_H_" % ("WIDE_" if wide else "")
    out = ["// Written by integer_golden.py from the formulas of INTEGER.md; never edited.", "#ifndef " + guard,
           "#define " + guard, "", "#include <vector>", ""]
    names = {"int_%s/int_%s_generated.h" % (f[4:], f[4:]) for f in (FOLDERS[op] for _, op, _, _, _ in cases)}
    names |= {"integer_golden_case_testing.h", "view.h"} | (set() if wide else {"integer_golden_wide_testing.h"})
    out += ['#include "sdk/ops/%s"' % n for n in sorted(names)]
    out += ["", "namespace vireo {", "", "// clang-format off",
            "inline std::vector<GoldenCase> %s() {" % ("wide_golden_cases" if wide else "golden_cases"),
            "  std::vector<GoldenCase> out;"]
    for case in cases:
        out += case_text(*case)
    if not wide:
        out += ["  for (GoldenCase& c : wide_golden_cases()) out.push_back(std::move(c));"]
    out += ["  return out;", "}", "// clang-format on", ""] + end + ["}  // namespace vireo", "", "#endif  // " + guard, ""]
    lines = []
    for line in "\n".join(out).split("\n"):  # readable widths: break after a comma or a statement
        while len(line) > 118:
            cut = max(line.rindex(c, 0, 116) for c in (", ", "; ") if c in line[8:116]) + 1
            lines.append(line[:cut])
            line = "       " + line[cut:]
        lines.append(line)
    return "\n".join(lines)


def texts():
    """{file: its text}, and the hash."""
    wide = [c for c in CASES if (c[1], c[0]) in WIDE]
    others = [c for c in CASES if (c[1], c[0]) not in WIDE]
    h = 0xCBF29CE484222325
    for _, _, _, _, expected in others + wide:
        for byte in np.ascontiguousarray(expected).tobytes():
            h = ((h ^ byte) * 0x100000001B3) & (2 ** 64 - 1)
    end = ["// FNV-1a, 64 bits, over the bytes of all outputs in this order.", "constexpr uint64_t kGoldenHash = 0x%016xULL;" % h, ""]
    return {"integer_golden_testing.h": header(False, others, end), "integer_golden_wide_testing.h": header(True, wide, [])}, h


def main(arguments):
    build()
    wanted, h = texts()
    for name, text in wanted.items():
        path = os.path.join(HERE, name)
        if "--check" in arguments:
            with open(path, encoding="utf-8") as file:
                if file.read() != text:
                    print("%s differs from what integer_golden.py computes" % name, file=sys.stderr)
                    return 1
            continue
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    if "--check" not in arguments:
        print("%d cases, hash %016x" % (len(CASES), h))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
