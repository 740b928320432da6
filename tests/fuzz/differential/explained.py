"""Differences that are understood: where Vireo and ONNX Runtime answer differently, and which of them the standard's text bears
out. A difference that no row tells of fails the run."""
import re
from fractions import Fraction

import numpy as np

import exact_bytes

ROWS = []


def row(name, operators, result=None, reason=None, version=None):
    """`when(case, op, model, answers)` below it says on which graphs the row applies; its docstring says who is right and why."""
    def register(when):
        ROWS.append((name, {operators} if isinstance(operators, str) else set(operators), result, reason, version, when))
        return when
    return register


def find(drawn, model, answers, outcome):
    if drawn is None or drawn.shaped:  # a pattern is drawn so that both agree
        return None
    for name, operators, result, reason, version, when in ROWS:
        for op in drawn.operators:
            if op[1] not in operators or version and op[2] not in version:
                continue
            if result and outcome["result"] != result or reason and not re.search(reason, outcome["reason"]):
                continue
            if when(drawn, op, model, answers):
                return name
    return None


def arrays(op):
    return [a for a in op[4] if isinstance(a, np.ndarray)]


def attribute(op, name, default=None):
    return op[3].get(name) if op[3].get(name) is not None else default


def special(op):
    return any(a.dtype.kind in "fV" and a.size and not np.isfinite(a.astype(np.float64)).all() for a in arrays(op))


REDUCTIONS = {"ArgMax", "ArgMin", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceMean", "ReduceSumSquare", "ReduceL1", "ReduceL2",
              "ReduceLogSumExp", "ReduceLogSum"}
POOLS = {"MaxPool", "AveragePool", "LpPool"}
EMPTY = "reduction of an empty tensor keeps extents"


@row("NaN under a maximum or minimum", {"ReduceMax", "ReduceMin", "GlobalMaxPool"}, "fail", r"nan")
def reduce_nan(case, op, model, answers):
    """Vireo gives NaN, ONNX Runtime skips it or not by its place. The text says nothing of NaN; ReduceMax is to behave like numpy but
    for its default of keepdims ("The above behavior is similar to numpy"), and numpy's max of NaN is NaN: Vireo."""
    return any(np.isnan(a.astype(np.float64)).any() for a in arrays(op) if a.dtype.kind in "fV")


@row(EMPTY, REDUCTIONS, "fail", r"shape is")
def reduce_empty(case, op, model, answers):
    """ONNX Runtime leaves an extent as it was where a reduced tensor has no elements. "The resulting tensor has the same rank as the
    input if keepdims equals 1", a reduced extent being 1, and without it "the reduced dimension pruned": Vireo."""
    return any(a.size == 0 for a in arrays(op)[:1])


@row("mean of nothing", "ReduceMean", "fail", r"nan")
def mean_of_nothing(case, op, model, answers):
    """Vireo gives NaN (0 / 0, as numpy), ONNX Runtime 0. "Reduction over an empty set of values yields undefined": neither is wrong."""
    return any(a.size == 0 for a in arrays(op)[:1])


@row("mean of no losses", {"SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss"}, "fail", r"nan")
def mean_of_no_losses(case, op, model, answers):
    """Without any label Vireo gives NaN (0 / 0, as numpy and the onnx package's reference), ONNX Runtime 0. "If reduction = 'mean', the output
    is scalar: ReduceMean(L)", and of that "Reduction over an empty set of values yields undefined": neither is wrong."""
    return op[4][1].size == 0 and attribute(op, "reduction", "mean") == "mean"


@row("Sign of a 16-bit NaN", "Sign", "fail", r"nan")
def sign_nan(case, op, model, answers):
    """Vireo gives NaN in every type, as numpy; ONNX Runtime NaN of float and double, and 0 of float16 and bfloat16. The text says what is
    "input > 0", "input < 0" and "input == 0", of which NaN is none: neither is wrong."""
    x = op[4][0]
    return x.dtype.kind in "fV" and x.dtype.itemsize == 2 and np.isnan(x.astype(np.float32)).any()


@row("NonZero of a scalar", "NonZero", "fail", r"shape is 0x")
def non_zero_scalar(case, op, model, answers):
    """Vireo's result is [0, N], ONNX Runtime's [1, N]. "For scalar input, NonZero produces output shape (0, N) instead of (1, N)": Vireo."""
    return arrays(op)[0].ndim == 0


@row("Squeeze of an open extent that is 0", "Squeeze", "fail", r"takes .*=2\.\.")
def squeeze_empty(case, op, model, answers):
    """Without axes, Squeeze drops extents of 1, so one that is open is taken to stay: sessions want at least 2 of it, which leaves 0 out with
    1. ONNX Runtime decides in the run."""
    return attribute(op, "axes") is None and any(0 in a.shape for a in arrays(op)[:1])


@row("Softplus of large numbers", "Softplus", "fail", r"expected inf")
def softplus_large(case, op, model, answers):
    """ONNX Runtime takes the logarithm of exp(x) + 1, which is infinite from 88.8 on in float32, as which it computes 16-bit numbers, and from
    709.8 on in double. "y = ln(exp(x) + 1)" is x there to the last digit: Vireo."""
    x = op[4][0]
    large = 709 if x.dtype.itemsize == 8 else 88
    return x.dtype.itemsize != 4 and bool((np.isfinite(x.astype(np.float64)) & (x.astype(np.float64) > large)).any())


@row("Gelu and Swish of infinity", {"Gelu", "Swish"}, "fail", r"expected -?nan")
def gelu_infinite(case, op, model, answers):
    """Vireo gives the limit 0 (to 1e-36), ONNX Runtime -inf * 0 = NaN. The text gives the formula over the real numbers alone: neither is
    wrong."""
    return special(op)


@row("padding of pools with dilation", POOLS, "fail", r"shape is|at \[")
def same_with_dilation(case, op, model, answers):
    """ONNX Runtime computes SAME_* pads of pools as if dilations were 1, so that its result is too small. SAME_* means that
    "output_shape[i] = ceil(input_shape[i] / strides[i])": Vireo."""
    return str(attribute(op, "auto_pad", "")).startswith("SAME") and max(attribute(op, "dilations", [1])) > 1


@row("LpPool with ceil_mode and SAME padding", "LpPool", "fail", r"at \[")
def lp_pool_ceil(case, op, model, answers):
    """ONNX Runtime sums fewer taps than the window has there. "LpPool consumes an input tensor X and applies Lp pooling across the tensor
    according to kernel sizes": Vireo, whose answers are the roots of the zero-padded sums."""
    return str(attribute(op, "auto_pad", "")).startswith("SAME") and attribute(op, "ceil_mode") == 1


@row("SAME padding of pools that step over elements", POOLS, "fail", r"at \[")
def same_of_long_steps(case, op, model, answers):
    """Where the windows leave elements out, pad_shape's formula is negative, and ONNX Runtime begins behind the first elements. "SAME_UPPER
    or SAME_LOWER mean pad the input", and pads "can take any value greater than or equal to 0": nothing is taken off: Vireo. ONNX
    Runtime's Conv begins at the first element too."""
    kernel = attribute(op, "kernel_shape")
    if not str(attribute(op, "auto_pad", "")).startswith("SAME"):
        return False
    steps = zip(op[4][0].shape[2:], kernel, attribute(op, "strides") or [1] * len(kernel), attribute(op, "dilations") or [1] * len(kernel))
    return any((-(-n // s) - 1) * s + (k - 1) * d + 1 < n for n, k, s, d in steps)


@row("pools of padding alone", {"MaxPool", "AveragePool"}, "fail", r"-inf, expected -3\.40282e\+38|nan, expected 0")
def pool_of_padding(case, op, model, answers):
    """A window whose taps all lie in the padding: Vireo gives -inf, ONNX Runtime the lowest float; where padding does not count Vireo's average
    is 0 / 0, ONNX Runtime's 0. Of the largest and the mean of no elements the text says nothing: neither is wrong."""
    kernel = attribute(op, "kernel_shape")
    ones = [1] * len(kernel)
    axes = zip(op[4][0].shape[2:], answers[0].shape[2:], kernel, attribute(op, "strides") or ones, attribute(op, "dilations") or ones,
               attribute(op, "pads") or [0] * 2 * len(kernel))
    return any(not any(0 <= o * s - pad + k * d < n for k in range(taps)) for n, out, taps, s, d, pad in axes for o in range(out))


@row("SAME padding of ConvTranspose", "ConvTranspose", "fail", r"shape is")
def same_transposed(case, op, model, answers):
    """Where a stride passes the window's reach ONNX Runtime's result is smaller. SAME_* means that "output_shape[i] =
    input_shape[i] * strides[i]": Vireo."""
    reach = [d * (k - 1) + 1 for d, k in zip(attribute(op, "dilations"), attribute(op, "kernel_shape"))]
    return str(attribute(op, "auto_pad", "")).startswith("SAME") and any(s > r for s, r in zip(attribute(op, "strides") or [1] * len(reach), reach))


@row("LSTM with clip", "LSTM", "fail", r"at \[")
def lstm_clip(case, op, model, answers):
    """ONNX Runtime does not clip the cell state before the activation h. clip "is applied to the input of activations", of which h is
    one: Vireo."""
    return attribute(op, "clip") is not None


@row("post_transform of TreeEnsemble by number", "TreeEnsemble", "fail", r"at \[")
def tree_numbers(case, op, model, answers):
    """ONNX Runtime takes 1 for LOGISTIC and 2 for SOFTMAX. "One of 'NONE' (0), 'SOFTMAX' (1), 'LOGISTIC' (2), ...": Vireo."""
    return attribute(op, "post_transform", 0) in (1, 2)


@row("softmax over one target", {"TreeEnsemble", "TreeEnsembleRegressor"}, "fail", r"at \[")
def tree_one_target(case, op, model, answers):
    """ONNX Runtime leaves the score of a single target as it is. post_transform "indicates the transform to apply to the score", with no
    exception for one: the softmax of one number is 1: Vireo."""
    return attribute(op, "n_targets") == 1 and attribute(op, "post_transform", 0) in ("SOFTMAX", "SOFTMAX_ZERO", "LOGISTIC", 3)


@row("targets that no tree reaches", {"TreeEnsemble", "TreeEnsembleRegressor"}, "fail", r"at \[")
def tree_absent(case, op, model, answers):
    """A target that no leaf on a row's paths gives a score: ONNX Runtime leaves its base value out, and the target out of what follows.
    "Base values for regression, added to final prediction after applying aggregate_function", with no exception: Vireo. Of MIN
    and MAX over nothing the text says nothing: neither is wrong."""
    follows = attribute(op, "post_transform", 0) not in (0, "NONE") or attribute(op, "base_values") is not None
    return attribute(op, "n_targets") > 1 and (follows or attribute(op, "aggregate_function") in ("MIN", "MAX", 2, 3))


@row("SOFTMAX_ZERO of zeros", "LinearRegressor", "fail", r"nan")
def softmax_zero_of_zeros(case, op, model, answers):
    """A row whose scores are all 0: ONNX Runtime divides 0 by 0, Vireo gives 0.5 as the onnx package's reference does for the same transform of
    TreeEnsembleClassifier. The text has no more than the transform's name: neither is wrong."""
    if attribute(op, "post_transform") != "SOFTMAX_ZERO":
        return False
    scores = op[4][0].astype(np.float64) @ np.reshape(attribute(op, "coefficients"), (attribute(op, "targets", 1), -1)).T
    return (np.abs(scores + np.asarray(attribute(op, "intercepts", 0.0))).max(1, initial=0) <= 1e-7).any()


@row("binary tree classifiers", "TreeEnsembleClassifier", "fail", r"at \[")
def tree_binary(case, op, model, answers):
    """Of two classes ONNX Runtime gives the label 1 or the positive one by rules of its own, even a label that is not in the list.
    "Class labels if using integer labels", the result is "the top class": Vireo, and the onnx package's reference."""
    return len(op[3].get("classlabels_int64s") or op[3].get("classlabels_strings")) == 2


@row("Col2Im in one or three dimensions", "Col2Im", "fail", r"at \[")
def col2im(case, op, model, answers):
    """For other than two spatial dimensions ONNX Runtime ignores or misplaces pads, dilations and strides. The text defines the result
    for any number of dimensions by "image_shape", "block_shape" and these attributes; the onnx package's reference agrees: Vireo."""
    return op[4][1].size != 2


@row("Attention: causal after a past", "Attention", "fail", r"at \[")
def causal_past(case, op, model, answers):
    """With past_key ONNX Runtime aligns the causal mask otherwise. "Query i attends key j iff j <= i + past_sequence_length": Vireo, and the
    onnx package's reference."""
    return attribute(op, "is_causal") == 1 and len(op[4]) > 4


@row("GridSample: cubic at the border", "GridSample", "fail", r"at \[")
def cubic_border(case, op, model, answers):
    """Beyond the border ONNX Runtime clamps the coordinate before it takes the four taps. padding_mode 'border' "uses border values for
    out-of-bound grid locations", tap by tap; the onnx package's reference agrees: Vireo."""
    return attribute(op, "mode") in ("cubic", "bicubic") and attribute(op, "padding_mode") == "border"


@row("Resize: lengths that scales leave fractional", "Resize", "fail", r"at \[")
def resize_fraction(case, op, model, answers):
    """Where scale times length is not whole ONNX Runtime rounds length_resized in align_corners and tf_crop_and_resize, and
    Vireo does not. The text has "output_width the target length on the axis x which can be a fractional number
    when it is calculated out of a scale factor"; the onnx package's reference agrees with Vireo."""
    scales = op[4][2] if len(op[4]) > 2 else None
    if attribute(op, "coordinate_transformation_mode") not in ("align_corners", "tf_crop_and_resize", "half_pixel_symmetric"):
        return False
    return scales is not None and scales.size > 0 and any(float(s * n) % 1 for s, n in zip(scales, op[4][0].shape))


@row("Resize: crops of axes that keep their length", "Resize", "fail", r"at \[")
def resize_kept_axis(case, op, model, answers):
    """Along an axis with scale 1 ONNX Runtime copies, whatever roi says. tf_crop_and_resize has "start_x * (length_original - 1) + x_resized *
    (end_x - start_x) * (length_original - 1) / (length_resized - 1)" for every axis, which is x_resized where roi is [0, 1] alone, and
    extrapolation_value beyond the input; the onnx package's reference agrees: Vireo."""
    if attribute(op, "coordinate_transformation_mode") != "tf_crop_and_resize":
        return False
    roi = op[4][1].reshape(2, -1)
    return any(was == now and (start, end) != (0, 1) for was, now, start, end in zip(op[4][0].shape, answers[0].shape, *roi))


@row("Resize: symmetric places on a boundary", "Resize", "fail", r"at \[")
def resize_symmetric_boundary(case, op, model, answers):
    """With sizes half_pixel_symmetric is "adjustment = output_width_int / output_width" = 1 and "x_ori = (x + 0.5) / scale - 0.5". Where that
    is the very number at which nearest_mode changes elements, ONNX Runtime, which has both in float32, falls on the other side.
    Exact arithmetic agrees with double, and so does the onnx package's reference: Vireo."""
    if attribute(op, "coordinate_transformation_mode") != "half_pixel_symmetric" or attribute(op, "mode", "nearest") != "nearest" or op[4][3] is None:
        return False
    jump = 0 if attribute(op, "nearest_mode") in ("floor", "ceil") else Fraction(1, 2)
    half = Fraction(1, 2)
    return any(((i + half) * n / m - half - jump).denominator == 1
               for n, m in zip(op[4][0].shape, map(int, op[4][3])) if n != m for i in range(m))


@row("MeanVarianceNormalization without variance", "MeanVarianceNormalization", "fail", r"expected -?(nan|inf)|at \[")
def no_variance(case, op, model, answers):
    """Where all elements are equal Vireo gives 0, ONNX Runtime 0 / 0, or the root of a rounded negative number. The function's body adds
    1e-9 to the deviation: Vireo."""
    return any(not np.isfinite(np.asarray(a, np.float64)).all() for a in answers)


@row("Gather of text", "Gather", "fail", r'expected (""|true|false)')  # the text itself, or compared with another
def gather_text(case, op, model, answers):
    """Of each block that Gather takes ONNX Runtime 1.31 copies the first text alone and leaves the others empty. "Gather entries of the axis
    dimension of data": Vireo."""
    return arrays(op)[0].dtype == object


@row("fractions to integers of 4 and 2 bits", {"Cast", "CastLike"}, "fail", r"at \[")
def cast_narrow(case, op, model, answers):
    """ONNX Runtime rounds to nearest where Vireo cuts the fraction off. The text names no rounding from "floating point to fixed point";
    for all wider integers both, and the onnx package for these, cut it off: Vireo."""
    to = attribute(op, "to") or (8 if op[4][1].dtype == object else int(np.dtype(op[4][1].dtype).name in ("int4", "uint4", "int2", "uint2")) * 22)
    return to in (21, 22, 25, 26)


@row("NaN under Hardmax", "Hardmax", "fail", r"at \[")
def hardmax_nan(case, op, model, answers):
    """Vireo takes NaN for the largest or skips it by the place where it stands, as ONNX Runtime does by another. The text defines "the
    first maximum value" of numbers alone: neither is wrong."""
    return special(op)


@row("ReduceLogSumExp and ReduceLogSum of integers", {"ReduceLogSumExp", "ReduceLogSum"}, "fail", r"at \[")
def integer_logarithms(case, op, model, answers):
    """ONNX Runtime cuts every exponential off to an integer before it sums; of nothing the logarithm has no integer. "Computes the log sum
    exponent of the input tensor's elements": Vireo, which cuts off once, at the end."""
    return arrays(op)[0].dtype.kind in "iu"


@row("Gemm over nothing", "Gemm", "fail", r"at \[")
def gemm_empty(case, op, model, answers):
    """Where the inner extent is 0 ONNX Runtime leaves beta out. "Y = alpha * A' * B' + beta * C": Vireo."""
    return arrays(op)[0].size == 0 and attribute(op, "beta") is not None


@row("MatMul over nothing", "MatMul", "fail", r"at \[")
def matmul_empty(case, op, model, answers):
    """Where the inner extent is 0 and one side is a vector ONNX Runtime leaves its result as memory was: two runs of it differ. A sum
    of nothing, as numpy.matmul's, is 0: Vireo."""
    return arrays(op)[0].size == 0 or arrays(op)[1].size == 0


@row("Clip without a bound", "Clip", "fail", r"inf")
def clip_infinite(case, op, model, answers):
    """Of an infinite element without a bound on its side Vireo gives infinity, ONNX Runtime the type's largest number. The bounds "default to
    numeric_limits::lowest() and numeric_limits::max()": ONNX Runtime, by the letter; the onnx package's reference and numpy agree
    with Vireo, which would otherwise have to compute a Clip for each Relu of opset 6."""
    x, *bounds = op[4]
    low, high = (bounds + [None, None])[:2] if op[2] >= 11 else (attribute(op, "min"), attribute(op, "max"))
    if x.dtype.kind not in "fV":
        return False
    x = x.astype(np.float64)
    return high is None and np.isposinf(x).any() or low is None and np.isneginf(x).any()


@row("numbers to text", {"Cast", "CastLike"}, "fail", r'at \[.*\]: ".*", expected "')
def to_text(case, op, model, answers):
    """The standard leaves the spelling open. Vireo writes the fewest digits that read back as the same number (Python's repr), ONNX Runtime
    so many as %.8g and %.17g give. Both right."""
    return True


@row("parts of text", "StringSplit", "fail", r"at \[|shape")
def parts_of_text(case, op, model, answers):
    """The onnx package's reference is Python's str.split, and so Vireo: "" has one part where there is a delimiter, and what is left when no
    more splits are allowed keeps the white space at its end. ONNX Runtime has none for "", and cuts the end. "After the maxsplit'th
    split ... the trailing suffix of input string after the final split point is also added", and of "" the text says nothing:
    Vireo, and neither is wrong."""
    delimiter, most = attribute(op, "delimiter"), attribute(op, "maxsplit", -1)
    if delimiter:
        return any(text == "" for text in op[4][0].flat)
    return any(part != part.rstrip() for text in op[4][0].flat for part in text.split(None, most)[-1:])


@row("bytes on cores without VNNI", {"QLinearConv", "QLinearMatMul", "ConvInteger", "MatMulInteger"}, "fail", r"at \[")
def saturated_bytes(case, op, model, answers):
    """Of uint8 times int8 ONNX Runtime adds two products in 16 bits there, and stops at their ends. "The production MUST never overflow. The
    accumulation may overflow if and only if in 32 bits" (MatMulInteger): Vireo."""
    kinds = {a.dtype.name for a in arrays(op)}
    return not exact_bytes.exact() and {"uint8", "int8"} <= kinds
