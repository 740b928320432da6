"""Draws one graph by its seed, and has ONNX Runtime answer it."""
import importlib
import random

import numpy as np
import onnx
import onnxruntime
from onnx import defs

from case import MAKERS, NATIVE, NEWEST, PATTERNS, Case, Pinned, Unfit, elem_of

for name in ("elementwise", "arrange", "reduction", "network", "quantized", "recurrent", "fourier", "sequences", "text", "machine",
             "patterns"):
    importlib.import_module(name)

NEWEST_ML = 5
VERSIONS = {}
for each in defs.get_all_schemas_with_history():
    if each.domain in ("", "ai.onnx.ml"):
        VERSIONS.setdefault((each.domain, each.name), []).append(each.since_version)
OPERATORS = sorted(key for key in MAKERS if min(VERSIONS[key]) <= (NEWEST_ML if key[0] else NEWEST))
SHAPED = sorted(PATTERNS)
CHAINED = [key for key in OPERATORS if MAKERS[key][1] and not key[0]]


class Refused(Exception):
    """ONNX Runtime does not run this graph."""


def settings():
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    options.add_session_config_entry("session.set_denormal_as_zero", "0")
    return options


SETTINGS = settings()


def answer(model, feed):
    """ONNX Runtime's answers: arrays, and lists of arrays."""
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), SETTINGS, providers=["CPUExecutionProvider"])
        return session.run(None, feed)
    except Exception as error:  # its binding has an exception class for each status, and raises others for what it cannot convert
        raise Refused(str(error)) from None


def version_at(domain, name, opset):
    """The schema in force; None before the operator's first version."""
    if min(VERSIONS[domain, name]) > opset:
        return None
    return defs.get_schema(name, opset, domain)


def one_node(c, key):
    schema = version_at(*key, c.domains[key[0]] if key[0] else c.opset)
    if schema is None or schema.deprecated:
        raise Unfit()
    return c.run_maker(*key, schema)


EVERY = 16  # one seed in so many is a pattern


def draw_pattern(seed, name):
    refusals = []
    for attempt in range(6):
        c = Case(seed * 16 + attempt)
        c.opset, c.shaped = c.draw.randint(13, NEWEST), True
        try:
            outs = PATTERNS[name](c)
            model = c.model(outs)
            return c, model, answer(model, c.feed), refusals
        except Unfit:
            continue
        except Refused as refused:
            refusals.append((name, str(refused)))
    return None, None, None, refusals


def draw_case(seed, only=None):
    """The case of this seed and its answers; (None, why) where ONNX Runtime refused every draw, with the reasons. `only` holds keys of
    OPERATORS and names of patterns."""
    which = random.Random(seed)
    shaped = [key for key in only if isinstance(key, str)] if only else SHAPED
    if shaped and (seed % EVERY == 0 or only and len(shaped) == len(only)):
        return draw_pattern(seed, which.choice(shaped))
    only = [key for key in only if not isinstance(key, str)] if only else None
    key = which.choice(only or OPERATORS)
    refusals = []
    for attempt in range(6):
        c = Case(seed * 16 + attempt)
        first = min(VERSIONS[key])
        if key[0]:
            c.opset, c.domains = c.draw.randint(13, NEWEST), {key[0]: c.draw.randint(first, NEWEST_ML)}
        else:
            oldest = first if c.chance(0.05) else min(max(first, 7), NEWEST)
            c.opset = c.draw.randint(oldest, NEWEST)
            if c.chance(0.35):
                c.opset = NEWEST - c.draw.randint(0, 5)
                c.opset = max(c.opset, first)
        try:
            outs = one_node(c, key)
            if any(a.size == 0 for a in c.feed.values() if isinstance(a, np.ndarray)) and c.chance(0.5):
                raise Unfit()
            model = c.model(outs)
            answers = answer(model, c.feed)
            if MAKERS[key][1] and c.chance(0.4):
                model, answers = lengthen(c, outs, model, answers)
        except Unfit:
            continue
        except Refused as refused:
            refusals.append((f"{key[1]}-{c.schema.since_version}", str(refused)))
            continue
        c.key = key
        return c, model, answers, refusals
    return None, None, None, refusals


def small(values):
    """Whether every number is below 1e4: beyond, what is rounded or wrapped first decides too much."""
    if not isinstance(values, np.ndarray) or values.dtype == object or values.size == 0:
        return True
    return bool(np.abs(values.astype(np.float64)).max() < 1e4)


def lengthen(c, outs, model, answers):
    """Up to four more nodes, each on the result of the one before. Behind a node that rounds, none that jumps."""
    for _ in range(c.draw.randint(1, 4)):
        if not small(answers[0]):
            break
        saved = (list(c.nodes), list(c.initializers), list(c.infos), dict(c.feed), list(c.operators), c.exact)
        key = c.draw.choice(CHAINED)
        if not isinstance(answers[0], np.ndarray) or elem_of(answers[0]) != outs[0][1] or answers[0].size > 4000:
            break
        if key[1] in JUMPS and not c.exact:
            continue
        c.pinned = Pinned(outs[0][0], answers[0])
        try:
            longer = one_node(c, key)
            if longer[0][1] not in NATIVE:
                raise Unfit()
            next_model = c.model(longer)
            next_answers = answer(next_model, c.feed)
        except (Unfit, Refused):
            c.nodes, c.initializers, c.infos, c.feed, c.operators, c.exact = saved
            c.pinned = None
            continue
        if key[1] in ("Sin", "Cos") and not saved[5]:
            c.phase = max(c.phase, float(np.abs(answers[0].astype(np.float64)).max(initial=0)))
        if key[1] == "MatMul" and not saved[5]:  # terms that are rounded may cancel: two last places of each, times factors up to 4
            terms = max(answers[0].shape, default=1) * np.abs(answers[0].astype(np.float64)).max(initial=0)
            c.atol = max(c.atol, 4 * 2.0**-22 * float(terms))
        outs, model, answers = longer, next_model, next_answers
    return model, answers


# Their answers jump where their inputs move a little.
JUMPS = {"Abs", "Ceil", "Floor", "Round", "Sign", "Cast", "IsInf", "IsNaN", "Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual",
         "ArgMax", "ArgMin", "TopK", "NonZero", "Not", "Sub", "ThresholdedRelu", "Shrink", "Unique", "Hardmax", "Exp", "Sinh", "Cosh", "Reciprocal"}
