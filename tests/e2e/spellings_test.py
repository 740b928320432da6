"""Attention and rotary embeddings as exporters spell them out, with open extents: torch.onnx's scaled_dot_product_attention, masks
from triangles and from compared positions, KV caches, soft caps, GPT-J's neighbours, GPT-NeoX's first part. Each must answer as ONNX
Runtime does with its optimiser off, and must have become the operator, in its causal form where the mask is that."""
import json

import contrib_test
import support

S, T, P, H, D = 4, 7, 6, 3, 8  # queries, other keys, cached keys, heads, size of a head
LOW = -3.4e38


class Builder(contrib_test.Case):
    """An operator of ONNX is a method that returns its result."""

    def __getattr__(self, op):
        if not op[0].isupper():
            raise AttributeError(op)

        def add(*inputs, **attributes):
            out = f"{op}_{len(self.nodes)}"
            self.node(op, list(inputs), [out], domain="", **attributes)
            return out
        return add

    def ints(self, *values):
        return self.constant(self.np.array(values, "int64"))

    def number(self, value, dtype="float32"):
        return self.constant(self.np.array(value, dtype))

    def extent(self, x, axis, as_list=False):
        return self.Gather(self.Shape(x), self.ints(axis) if as_list else self.number(axis, "int64"), axis=0)

    def range(self, start, limit):
        return self.Range(start, limit, self.number(1, "int64"))

    def heads(self, name, extent, symbol):
        return self.input(name, self.real(2, H, extent, D), ["N", H, symbol, D])

    def attend(self, q, k, v, masked, cap=None):
        s = self.Mul(self.MatMul(q, self.Transpose(k, perm=[0, 1, 3, 2])), self.number(0.35))
        if cap is not None:
            s = self.Mul(self.Tanh(self.Div(s, self.number(cap))), self.number(cap))
        return self.MatMul(self.Softmax(masked(s), axis=-1), v)

    def finish(self, *values):
        for i, v in enumerate(values):
            self.node("Identity", [v], [f"y{i}"], domain="")
        return [f"y{i}" for i in range(len(values))]


def both(c, q, k):
    return c.Concat(c.extent(q, 2, True), c.extent(k, 2, True), axis=0)


def sdpa(c, q, k):  # torch.onnx's is_causal=True
    ones = c.Trilu(c.Expand(c.number(1), both(c, q, k)), upper=0)
    return c.Where(c.Equal(ones, c.number(0)), c.number(float("-inf")), c.number(0))


def full_above(c, q, k):  # torch.full(..., low).triu(1)
    from onnx import numpy_helper
    low = numpy_helper.from_array(c.np.array([LOW], "float32"))
    return c.Trilu(c.ConstantOfShape(both(c, q, k), value=low), c.number(1, "int64"), upper=1)


def compared(c, q, k):  # keys up to the end, queries at the end of them
    keys, queries = c.extent(k, 2), c.extent(q, 2)
    at = c.range(c.Sub(keys, queries), keys)
    may = c.LessOrEqual(c.Unsqueeze(c.range(c.number(0, "int64"), keys), c.ints(0)), c.Unsqueeze(at, c.ints(1)))
    return c.Where(c.Unsqueeze(may, c.ints(0, 1)), c.number(0), c.number(LOW))


def plain(mask, keys=S, cap=None):
    def build(c):
        q, k, v = c.heads("q", S, "S"), *(c.heads(n, keys, "S" if keys == S else "T") for n in "kv")
        return c.finish(c.attend(q, k, v, lambda s: c.Add(s, mask(c, q, k)), cap))
    return build


def cached(mask):
    def build(c):
        q, k, v = (c.heads(n, S, "S") for n in "qkv")
        past_k, past_v = c.heads("past_k", P, "P"), c.heads("past_v", P, "P")
        keys, values = c.Concat(past_k, k, axis=2), c.Concat(past_v, v, axis=2)
        return c.finish(c.attend(q, keys, values, lambda s: mask(c, s, q, keys, past_k)), keys, values)
    return build


def behind_the_past(c, s, q, keys, past):
    cached_keys, own = c.extent(past, 2), c.extent(q, 2)
    at = c.Add(c.range(c.number(0, "int64"), own), cached_keys)
    every = c.range(c.number(0, "int64"), c.Add(cached_keys, own))
    return c.Where(c.Greater(c.Reshape(every, c.ints(1, -1)), c.Reshape(at, c.ints(-1, 1))), c.number(LOW), s)


def rotary(neighbours, tokens_first, turned):
    def build(c):
        x = c.input("x", c.real(2, *((S, H) if tokens_first else (H, S)), D), ["N", *(("S", H) if tokens_first else (H, "S")), D])
        at = c.Cast(c.range(c.number(0, "int64"), c.extent(x, 1 if tokens_first else 2)), to=1)
        angles = c.Mul(c.Unsqueeze(at, c.ints(1)), c.constant(c.rng.random((1, turned // 2)).astype("float32")))
        if neighbours:
            angles = c.Unsqueeze(angles, c.ints(2))
            angles = c.Reshape(c.Concat(angles, angles, axis=2), c.ints(-1, turned))
        else:
            angles = c.Concat(angles, angles, axis=-1)
        if tokens_first:
            angles = c.Unsqueeze(angles, c.ints(1))
        end, last = c.ints(2**62), c.ints(3)
        first = x if turned == D else c.Slice(x, c.ints(0), c.ints(turned), last)
        if neighbours:
            a, b = (c.Slice(first, c.ints(i), end, last, c.ints(2)) for i in (0, 1))
            pairs = c.Concat(c.Unsqueeze(c.Neg(b), c.ints(-1)), c.Unsqueeze(a, c.ints(-1)), axis=-1)
            other = c.Reshape(pairs, c.Shape(first))
        else:
            a, b = c.Slice(first, c.ints(0), c.ints(turned // 2), last), c.Slice(first, c.ints(turned // 2), end, last)
            other = c.Concat(c.Neg(b), a, axis=-1)
        y = c.Add(c.Mul(first, c.Cos(angles)), c.Mul(other, c.Sin(angles)))
        if turned != D:
            y = c.Concat(y, c.Slice(x, c.ints(turned), end, last), axis=-1)
        return c.finish(y)
    return build


def check(build, op, **wanted):
    """One `op` with these attributes, and nothing of what spells it out."""
    def run(test):
        import onnx
        c = Builder()
        outputs = build(c)
        path = contrib_test.save(c.model(outputs), test.id().split(".")[-1])
        want = contrib_test.session(path).run(None, c.feed)
        for arguments in ([], ["--no-optimize"]):
            for name, g, w in zip(outputs, contrib_test.run_vireo(path, c.feed, *arguments), want):
                contrib_test.agree(test, g, w, f"{name} {' '.join(arguments)}")
        optimised = path.with_suffix(".optimised.onnx")
        report = json.loads(support.vireo("convert", path, "--emit-onnx", optimised, "--json").stdout)
        nodes = onnx.load(str(optimised)).graph.node
        found = [n for n in nodes if n.op_type == op]
        test.assertEqual(len(found), 1, [(p["name"], p["declined"]) for p in report["passes"] if p.get("declined")])
        attributes = {a.name: onnx.helper.get_attribute_value(a) for a in found[0].attribute}
        test.assertEqual({k: attributes.get(k, 0) for k in wanted}, wanted)
        left = {"Softmax", "Tanh", "MatMul", "Neg", "Where", "Trilu"} & {n.op_type for n in nodes}
        test.assertEqual(left, set())
        optimised.unlink()
        path.unlink()
    return run


def table():
    causal = {"is_causal": 1}
    rows = {
        "sdpa": check(plain(sdpa), "Attention", **causal),
        "sdpa_of_other_keys": check(plain(sdpa, keys=T), "Attention", **causal),
        "sdpa_capped": check(plain(sdpa, cap=5.0), "Attention", softcap=5.0, **causal),
        "full_above_the_diagonal": check(plain(full_above), "Attention", **causal),
        "positions": check(plain(compared), "Attention", **causal),
        "positions_capped": check(plain(compared, cap=30.0), "Attention", softcap=30.0, **causal),
        "cache": check(cached(behind_the_past), "Attention", **causal),
        "cache_measured_by_its_keys": check(cached(lambda c, s, q, keys, past: c.Add(s, compared(c, q, keys))), "Attention", **causal),
    }
    for neighbours in (False, True):
        for tokens_first in (False, True):
            for turned in (D, D - 2):
                name = f"rotary_{'neighbours' if neighbours else 'halves'}_{'bshd' if tokens_first else 'bhsd'}_{turned}"
                rows[name] = check(rotary(neighbours, tokens_first, turned), "RotaryEmbedding", interleaved=int(neighbours),
                                   rotary_embedding_dim=0 if turned == D else turned)
    return rows


reason = support.missing("numpy", "onnx", "onnxruntime")
Spellings = support.cases(reason, {} if reason else table())

if __name__ == "__main__":
    support.main()
