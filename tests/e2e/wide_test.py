"""Models that make tensors of more than eight dimensions on the way: chains of Reshape, Transpose, elementwise operators, reductions and
others, drawn at random and written by hand, against ONNX Runtime bit for bit where nothing is summed. What cannot be merged is refused
with the node and the dimensions."""
import random

import support

SEEDS = 60


def model_of(nodes, constants, inputs, outputs, opset=17):
    import onnx
    from onnx import helper, numpy_helper
    graph = helper.make_graph(
        nodes, "wide", [helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, dims) for n, dims in inputs.items()],
        [helper.make_tensor_value_info(n, t, dims) for n, (t, dims) in outputs.items()],
        [numpy_helper.from_array(v, n) for n, v in constants.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


class Chain:
    """A chain of nodes over one tensor whose dimensions are known."""

    def __init__(self, dims, opset=17):
        self.dims, self.opset, self.nodes, self.constants, self.at = list(dims), opset, [], {}, "x"

    def name(self, stem):
        return f"{stem}{len(self.nodes)}"

    def constant(self, value, dtype="int64"):
        import numpy as np
        name = f"c{len(self.constants)}"
        self.constants[name] = np.array(value, dtype)
        return name

    def add(self, op, others=(), dims=None, **attributes):
        from onnx import helper
        out = self.name("t")
        self.nodes.append(helper.make_node(op, [self.at, *others], [out], name=out + "_" + op, **attributes))
        self.at = out
        self.dims = list(self.dims if dims is None else dims)
        return self

    def reshape(self, dims):
        return self.add("Reshape", [self.constant(dims)], dims)

    def transpose(self, perm):
        return self.add("Transpose", dims=[self.dims[i] for i in perm], perm=perm)

    def model(self, x_dims):
        import onnx
        return model_of(self.nodes, self.constants, {"x": x_dims}, {self.at: (onnx.TensorProto.FLOAT, None)}, self.opset)


def same(model, dims, name, tolerance=0.0, options=()):
    """The model's answer is ONNX Runtime's."""
    import numpy as np
    import onnxruntime
    import vireo
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    x = np.random.default_rng(7).normal(size=dims).astype(np.float32)
    wanted = session.run(None, {"x": x})
    path = support.WORK / f"{name}.onnx"
    path.write_bytes(model.SerializeToString())
    made = vireo.Model(support.convert(path, None, *options))
    with made.session() as run:
        for got, want in zip(run.run(x), wanted):
            np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance, strict=True)


def drawn(seed):
    """A random chain of rank 9 to 12 and back."""
    def check(_):
        import numpy as np
        rng = random.Random(seed)
        start = [rng.choice([1, 2, 2, 3]) for _ in range(rng.randint(9, 12))]
        flat = int(np.prod(start))
        chain = Chain([flat]).reshape(start)
        summed = False
        for _ in range(rng.randint(2, 6)):
            rank = len(chain.dims)
            what = rng.choice(["transpose", "unary", "bias", "reduce", "unsqueeze", "softmax", "concat", "expand", "split"])
            if what == "transpose":  # two blocks of neighbours change places, so that enough can be merged
                a, b, c = sorted(rng.sample(range(rank + 1), 3)) if rank >= 3 else (0, 1, rank)
                order = list(range(rank))
                chain.transpose(order[:a] + order[b:c] + order[a:b] + order[c:])
            elif what == "unary":
                chain.add(rng.choice(["Relu", "Neg", "Abs", "Floor"]))
            elif what == "bias":
                begin = rng.randrange(rank)
                shape = [d if begin <= i < begin + 3 else 1 for i, d in enumerate(chain.dims)]
                bias = np.random.default_rng(seed).normal(size=shape[rng.choice([0, begin]):]).astype("float32")
                chain.add("Add", [chain.constant(bias, "float32")])
            elif what == "reduce" and rank > 4:
                axes = sorted(rng.sample(range(rank), 2))
                keeps = rng.randint(0, 1)
                kept = [1 if i in axes else d for i, d in enumerate(chain.dims) if keeps or i not in axes]
                chain.add("ReduceMax", dims=kept, axes=axes, keepdims=keeps)
            elif what == "unsqueeze":
                at = rng.randint(0, rank)
                chain.add("Unsqueeze", [chain.constant([at])], chain.dims[:at] + [1] + chain.dims[at:])
            elif what == "softmax":
                chain.add("Softmax", axis=rng.randrange(rank))
                summed = True
            elif what == "concat":
                axis = rng.randrange(rank)
                chain.add("Concat", [chain.at], [d * 2 if i == axis else d for i, d in enumerate(chain.dims)], axis=axis)
            elif what == "expand":
                to = [rng.choice([d, 2]) if d == 1 else d for d in chain.dims]
                chain.add("Expand", [chain.constant(to)], to)
        chain.reshape([-1])
        same(chain.model([flat]), [flat], f"wide_{seed}", 1e-6 if summed else 0)
    return check


def matrix_product(_):
    import numpy as np
    chain = Chain([2, 12, 4]).reshape([1, 2, 1, 2, 1, 3, 1, 2, 4])
    weights = chain.constant(np.random.default_rng(1).normal(size=[4, 5]), "float32")
    chain.add("MatMul", [weights], chain.dims[:-1] + [5]).reshape([2, 12, 5])
    same(chain.model([2, 12, 4]), [2, 12, 4], "wide_product", 1e-5)


def open_batch(_):
    """The batch is open; the others are split into ten dimensions and come back in another order."""
    chain = Chain([0]).reshape([-1, 2, 2, 2, 2, 2, 2, 1, 2, 1]).transpose([0, 4, 5, 6, 7, 8, 9, 1, 2, 3]).add("Relu").reshape([-1, 128])
    same(chain.model(["N", 128]), [3, 128], "wide_open", options=["--shape", "x=1..4,128"])


def older_axes(_):
    chain = Chain([64], opset=11).reshape([2] * 6 + [1] * 4)
    chain.add("Unsqueeze", dims=[1] + chain.dims, axes=[0]).add("ReduceSum", dims=[1] + [2] * 4 + [1] * 4, axes=[2, 6], keepdims=0)
    chain.add("Squeeze", dims=[2] * 4, axes=[0, 5, 6, 7, 8])
    same(chain.model([64]), [64], "wide_older", 1e-6)


def inside_a_branch(_):
    import onnx
    from onnx import helper
    chain = Chain([64]).reshape([2] * 6 + [1] * 4)
    body = [helper.make_graph([helper.make_node("Reshape", ["t_neg", "minus"], [f"y_{op}"])], op, [], [
        helper.make_tensor_value_info(f"y_{op}", onnx.TensorProto.FLOAT, [64])]) for op in ("then", "else")]
    for graph, op in zip(body, ("Neg", "Abs")):
        graph.node.insert(0, helper.make_node(op, [chain.at], ["t_neg"]))
    chain.constants["minus"] = __import__("numpy").array([-1], "int64")
    chain.nodes += [helper.make_node("ReduceSum", ["x"], ["sum"], keepdims=0), helper.make_node("Greater", ["sum", chain.constant(0, "float32")], ["positive"]),
                    helper.make_node("If", ["positive"], ["y"], then_branch=body[0], else_branch=body[1])]
    chain.at = "y"
    same(chain.model([64]), [64], "wide_branch")


def refused(chain, words, dims):
    def check(test):
        path = support.WORK / f"wide_refused_{'_'.join(w for w in words[0].split() if w.isalnum())}.onnx"
        path.write_bytes(chain().model(dims).SerializeToString())
        done = support.vireo("convert", path, "-o", support.WORK / "wide_refused.vireo", check=False)
        test.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        for word in [*words, "at most 8 dimensions are supported"]:
            test.assertIn(word, done.stderr)
    return check


TABLE = {f"drawn {seed}": drawn(seed) for seed in range(SEEDS)}
TABLE.update({
    "matrix product": matrix_product, "open batch": open_batch, "axes of older opsets": older_axes, "inside a branch": inside_a_branch,
    "refused, reversed": refused(lambda: Chain([512]).reshape([2] * 9).transpose(list(range(9))[::-1]).reshape([512]),
                                 ["9 are left", "float32[2,2,2,2,2,2,2,2,2]", "Transpose"], [512]),
    "refused, a shape that does not fit": refused(lambda: Chain([512]).reshape([2] * 9).reshape([500]),
                                                  ["the shape is not known or does not fit", "float32[2,2,2,2,2,2,2,2,2]", "Reshape"], [512]),
    "refused, an output": refused(lambda: Chain([512]).reshape([2] * 9), ["output", "float32[2,2,2,2,2,2,2,2,2]"], [512]),
    "refused, another operator": refused(lambda: Chain([512]).reshape([2] * 9).add("CumSum", ["c0"]), ["not known for so large a rank", "CumSum"], [512]),
})
Wide = support.cases(support.missing("onnx", "onnxruntime", "numpy"), TABLE)

if __name__ == "__main__":
    support.main()
