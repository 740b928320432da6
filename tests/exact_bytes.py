"""What ONNX Runtime makes of uint8 times int8 on this machine.

On x86-64 cores without VNNI it multiplies with VPMADDUBSW, which adds two products in 16 bits and stops at their ends: 255 * 127 twice
becomes 32,767. The standard has such sums in int32 ("The production MUST never overflow. The accumulation may overflow if and only if
in 32 bits", MatMulInteger). It has an option against it, which works from the second level of its optimiser on."""
import functools


def ask_for(options):
    """SessionOptions that multiply exactly where the optimiser's level is at least ORT_ENABLE_EXTENDED."""
    options.add_session_config_entry("session.x64quantprecision", "1")
    return options


@functools.lru_cache(maxsize=None)
def exact():
    """Whether it does so at any level."""
    import numpy as np
    import onnxruntime
    from onnx import TensorProto, helper
    tensor = helper.make_tensor_value_info
    graph = helper.make_graph([helper.make_node("MatMulInteger", ["a", "b"], ["y"])], "bytes", [tensor("a", TensorProto.UINT8, [1, 16])],
                              [tensor("y", TensorProto.INT32, [1, 4])], [helper.make_tensor("b", TensorProto.INT8, [16, 4], [127] * 64)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return bool((session.run(None, {"a": np.full((1, 16), 255, np.uint8)})[0] == 16 * 255 * 127).all())
