#!/usr/bin/env python3
"""Files that other tools quantized compute what ONNX Runtime makes of them without its optimisations."""
import json

import support

WORK = support.room("other_quantizers")


def computes_what_they_say(test):
    """QDQ and QOperator files of ONNX Runtime's quantizer, and weights in float32 behind pairs as NNCF and PyTorch export them."""
    import itertools
    import logging
    import numpy as np
    import onnx
    import onnxruntime
    from onnx import helper, numpy_helper
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
    logging.getLogger().setLevel(logging.ERROR)  # its quantizer recommends its preparation
    rng = np.random.default_rng(2)

    def saved(name, nodes, inputs, constants, opset=21):
        real = onnx.TensorProto.FLOAT
        graph = helper.make_graph(nodes, name, [helper.make_tensor_value_info("x", real, ["batch", *inputs])], [helper.make_tensor_value_info("y", real, None)],
                                  [numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items()])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10 if opset > 20 else 8), WORK / f"{name}.onnx")
        return WORK / f"{name}.onnx"

    def weights(*shape):
        return (0.3 * rng.standard_normal(shape)).astype(np.float32)

    def same(path, x):
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        wanted = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]
        np.save(WORK / "x.npy", x)
        out = support.convert(path, "other_quantizers/other")
        support.vireo("run", out, "--input", f"x={WORK / 'x.npy'}", "--output", WORK / "y.npz")
        test.assertLessEqual(np.abs(np.load(WORK / "y.npz")["y"] - wanted).max(), 0.01 * np.abs(wanted).max(), path.name)
        return [n["kernel"] for n in json.loads(support.vireo("explain", out, "--device", "cpu", "--json").stdout)["nodes"]]

    node = helper.make_node
    cnn = saved("other_cnn", [
        node("Conv", ["x", "w0", "b0"], ["x0"]), node("Conv", ["x", "w1", "b1"], ["c1"], pads=[1] * 4), node("Relu", ["c1"], ["r1"]),
        node("Conv", ["r1", "w2"], ["c2"], pads=[1] * 4, group=8), node("Clip", ["c2", "low", "high"], ["r2"]), node("Add", ["r2", "x0"], ["s"]),
        node("MaxPool", ["s"], ["m"], kernel_shape=[2, 2], strides=[2, 2]), node("Sigmoid", ["m"], ["g"]), node("Mul", ["m", "g"], ["sw"]),
        node("GlobalAveragePool", ["sw"], ["a"]), node("Flatten", ["a"], ["f"]), node("Gemm", ["f", "w3", "b3"], ["y"], transB=1)], (3, 12, 12),
        {"w0": weights(8, 3, 1, 1), "b0": weights(8), "w1": weights(8, 3, 3, 3), "b1": weights(8), "w2": weights(8, 1, 3, 3), "w3": weights(5, 8), "b3": weights(5),
         "low": np.float32(0), "high": np.float32(6)})
    mlp = saved("other_mlp", [
        node("MatMul", ["x", "w1"], ["m1"]), node("Add", ["m1", "b1"], ["a1"]), node("Relu", ["a1"], ["r1"]), node("MatMul", ["r1", "w2"], ["m2"]),
        node("Softmax", ["m2"], ["s"]), node("MatMul", ["s", "w3"], ["m3"]), node("Transpose", ["m3"], ["t"], perm=[0, 2, 1]), node("Concat", ["t", "t"], ["y"], axis=1)], (6, 16),
        {"w1": weights(16, 32), "b1": weights(32), "w2": weights(32, 24), "w3": weights(24, 8)})
    kinds = (QuantType.QUInt8, QuantType.QInt8), (QuantType.QInt8, QuantType.QInt8), (QuantType.QUInt8, QuantType.QUInt8), (QuantType.QInt16, QuantType.QInt8), (
        QuantType.QUInt16, QuantType.QUInt8), (QuantType.QUInt8, QuantType.QInt4), (QuantType.QInt8, QuantType.QUInt4), (QuantType.QInt16, QuantType.QInt16)
    tried = 0
    for (path, shape), layout, (values, codes), by_channel in itertools.product(((cnn, (3, 12, 12)), (mlp, (6, 16))), (QuantFormat.QDQ, QuantFormat.QOperator), kinds, (False, True)):
        if layout == QuantFormat.QOperator and (values, codes) not in kinds[:3]:
            continue  # QLinearConv and QLinearMatMul are of 8 bits

        class Samples(CalibrationDataReader):
            def __init__(self, shape):
                self.rest = iter([{"x": rng.standard_normal((2, *shape)).astype(np.float32)} for _ in range(4)])

            def get_next(self):
                return next(self.rest, None)
        quantized = WORK / f"other_{layout.name}_{values.name}_{codes.name}_{by_channel:d}.onnx"
        quantize_static(str(path), str(quantized), Samples(shape), quant_format=layout, activation_type=values, weight_type=codes, per_channel=by_channel)
        same(quantized, rng.standard_normal((2, *shape)).astype(np.float32))
        tried += 1
    test.assertEqual(tried, 44)

    # Weights in float32 behind a pair, values without zero points.
    for opset in (13, 19, 21):
        constants, nodes = {}, []

        def coded(x, name, scale, zero=None, **attributes):
            constants[name + ".s"] = np.asarray(scale, np.float32)
            inputs = [name + ".s"]
            if zero is not None:
                constants[name + ".z"] = zero
                inputs.append(name + ".z")
            nodes.append(node("QuantizeLinear", [x, *inputs], [name + ".q"], **attributes))
            nodes.append(node("DequantizeLinear", [name + ".q", *inputs], [name], **attributes))
            return name

        def product(name, w):
            constants[name] = w
            return coded(name, name + ".coded", np.abs(w).reshape(len(w), -1).max(1) / 127, np.zeros(len(w), np.int8), axis=0)

        constants["b"] = weights(8)
        nodes.append(node("Conv", [coded("x", "x.coded", 0.02, np.int8(0)), product("w", weights(8, 3, 3, 3)), "b"], ["c"], pads=[1] * 4))
        nodes.append(node("Relu", ["c"], ["r"]))
        nodes.append(node("GlobalAveragePool", [coded("r", "r.coded", 0.015)], ["g"]))
        nodes.append(node("Flatten", [coded("g", "g.coded", 0.008)], ["f"]))
        nodes.append(node("Gemm", ["f", product("v", weights(5, 8))], ["m"], transB=1))
        coded("m", "y", 0.02, np.int8(3))
        kernels = same(saved("other_pairs", nodes, (3, 8, 8), constants, opset), rng.standard_normal((2, 3, 8, 8)).astype(np.float32))
        test.assertTrue({"int_gemm", "int_conv_nhwc"} <= set(kernels), kernels)


OtherQuantizers = support.cases(support.missing("numpy", "onnx", "onnxruntime"), {"computes_what_they_say": computes_what_they_say})

if __name__ == "__main__":
    support.main()
