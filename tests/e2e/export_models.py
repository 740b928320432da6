"""Models whose exported form ONNX's checker or ONNX Runtime is stricter about than Vireo: operands that are one number as lists and
the other way round, results that nobody reads, elements of 4 and 8 bits, attributes that newer opsets dropped."""


def table():
    """name -> (model, inputs)."""
    import numpy as np
    from onnx import TensorProto, helper, numpy_helper

    models = {}
    rng = np.random.default_rng(3)
    node = helper.make_node

    def value(name, dtype, shape):
        return helper.make_tensor_value_info(name, dtype, shape)

    def draw(info):
        dims = [d.dim_value for d in info.type.tensor_type.shape.dim]
        dtype = helper.tensor_dtype_to_np_dtype(info.type.tensor_type.elem_type)
        return rng.standard_normal(dims).astype(dtype) if dtype == np.float32 else rng.integers(0, 2, dims).astype(dtype)

    def add(name, nodes, inputs, outputs, opset=17, tensors=(), domains=(), **constants):
        made = [*tensors, *(numpy_helper.from_array(np.asarray(a), n) for n, a in constants.items())]
        infos = [value(*i) for i in inputs]
        graph = helper.make_graph(nodes, "g", infos, [value(*o) for o in outputs], made)
        imports = [helper.make_opsetid("", opset), *(helper.make_opsetid(d, 1) for d in domains)]
        models[name] = (helper.make_model(graph, opset_imports=imports, ir_version=10 if opset > 20 else 8), [draw(i) for i in infos])

    F, I, B = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
    i64 = np.int64
    for results, outputs in {"values": ["v", ""], "named": ["v", "i"]}.items():
        add(f"topk_{results}", [node("TopK", ["x", "k"], outputs)], [("x", F, [3, 4])], [("v", F, [3, 2])], k=i64([2]))
    add("topk_index", [node("TopK", ["x", "k"], ["v", "i"])], [("x", F, [3, 4])], [("i", I, [3, 2])], k=i64([2]))
    add("quantize_values", [node("DynamicQuantizeLinear", ["x"], ["y", "s", "z"])], [("x", F, [3, 4])], [("y", TensorProto.UINT8, [3, 4])], 13)

    for form, one in {"number": (), "list": (1,)}.items():
        full = lambda v, one=one: np.full(one, v, i64)
        add(f"dft_axis_{form}", [node("DFT", ["x", "n", "a"], ["y"])], [("x", F, [1, 8, 1])], [("y", F, [1, 8, 2])], 20, n=full(8), a=full(1))
        add(f"stft_{form}", [node("STFT", ["x", "s", "", "n"], ["y"])], [("x", F, [1, 16, 1])], [("y", F, [1, None, None, 2])], s=full(4), n=full(8))
        add(f"topk_k_{form}", [node("TopK", ["x", "k"], ["v", "i"])], [("x", F, [3, 4])], [("v", F, [3, 2]), ("i", I, [3, 2])], k=full(2))
    add("dft17_axis", [node("DFT", ["x"], ["y"], axis=1)], [("x", F, [1, 8, 1])], [("y", F, [1, 8, 2])])
    add("topk_run_time_k", [node("TopK", ["x", "k"], ["v", "i"])], [("x", F, [3, 4]), ("k", I, [1])], [("v", F, [3, None]), ("i", I, [3, None])])

    for name, condition, trips in (("list", [1], []), ("lists", [1], [1]), ("numbers", [], [])):
        body = helper.make_graph(
            [node("Add", ["s", "one"], ["s2"]), node("Less", ["s2", "limit"], ["c1"]), node("Reshape", ["c1", "form"], ["c2"])], "b",
            [value("i", I, []), value("c", B, condition), value("s", F, [])], [value("c2", B, condition), value("s2", F, [])])
        nodes = [node("ReduceSum", ["x"], ["x0"], keepdims=0), node("Loop", ["m", "go", "x0"], ["y"], body=body), node("Add", ["x", "y"], ["z"])]
        fixed = {"one": np.float32(1), "limit": np.float32(5), "form": i64(condition).reshape(-1)}
        add(f"loop_{name}", nodes, [("x", F, [3]), ("go", B, condition), ("m", I, trips)], [("z", F, [3])], **fixed)
        add(f"loop_{name}_constant", nodes, [("x", F, [3])], [("z", F, [3])], go=np.ones(condition, bool), m=np.full(trips, 3, i64), **fixed)

    add("spatial_0", [node("BatchNormalization", ["x", "s", "b", "m", "v"], ["y"], spatial=0)], [("x", F, [2, 2, 3])], [("y", F, [2, 2, 3])], 7,
        **{n: rng.random((2, 3)).astype(np.float32) for n in "sbmv"})
    for fmod in (0, 1):
        add(f"mod_{fmod}", [node("Mod", ["x", "d"], ["y"], fmod=fmod)], [("x", F, [4])], [("y", F, [4])], 28 if fmod == 0 else 17,
            d=np.float32([2, -3, 0.5, -0.25]))

    def attention(name, scale, mask=None):
        scores = [node("Transpose", ["k"], ["kt"], perm=[0, 1, 3, 2]), node("MatMul", ["q", "kt"], ["s0"]), node("Mul", ["s0", "scale"], ["s1"])]
        if mask is not None:
            scores.append(node("Add", ["s1", "mask"], ["s2"]))
        scores += [node("Softmax", ["s1" if mask is None else "s2"], ["p"]), node("MatMul", ["p", "v"], ["y"])]
        inputs = [("q", F, [1, 2, 3, 8]), ("k", F, [1, 2, 4, 8]), ("v", F, [1, 2, 4, 8])]
        add(f"attention_{name}", scores, inputs + ([] if mask is None else [("mask", F, mask)]), [("y", F, [1, 2, 3, 8])], scale=np.float32(scale))
    for name, scale in {"negative": -0.7, "zero": 0, "one": 1}.items():
        attention(f"scale_{name}", scale)
    for mask in ([4], [3, 4], [1, 4], [2, 3, 4]):
        attention(f"mask_{'_'.join(map(str, mask))}", 0.3, mask)

    for name, dtype in {"uint4": TensorProto.UINT4, "int4": TensorProto.INT4, "float8": TensorProto.FLOAT8E4M3FN}.items():
        codes = helper.make_tensor("w", dtype, [3, 4], [i % 8 for i in range(12)])
        add(f"gather_{name}", [node("Gather", ["w", "i"], ["g"]), node("DequantizeLinear", ["g", "s"], ["y"])], [("i", I, [2])], [("y", F, [2, 4])],
            21, [codes], s=np.float32(0.5))
    blocks = [helper.make_tensor(n, TensorProto.UINT4, dims, [i % 16 for i in range(int(np.prod(dims)))]) for n, dims in (("d", [5, 32]), ("z", [5, 2]))]
    add("gather_blocks", [node("GatherBlockQuantized", ["d", "i", "s", "z"], ["y"], domain="com.microsoft", block_size=16, gather_axis=0, quantize_axis=1)],
        [("i", I, [2])], [("y", F, [2, 32])], 21, blocks, ["com.microsoft"], s=rng.random((5, 2)).astype(np.float32))
    return models
