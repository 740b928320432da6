#!/usr/bin/env python3
"""Writes ONNX's own operator cases as files that `vireo conformance` reads.

    onnx_cases.py DIR   makes DIR/<case>/{model.onnx, case.json, test_data_set_<k>/{input,output}_<j>.pb}

The cases come from the installed onnx package, which computes them with numpy. case.json holds rtol and atol as ONNX
means them: |d| <= atol + rtol |ref|.
"""
import json
import os
import sys
import warnings

CONTAINERS = {"sequence_type": "from_list", "optional_type": "from_optional"}


def map_of(value, declared):
    """A dictionary as the map that `declared` is; numpy_helper.from_dict takes no strings of different lengths for keys."""
    import numpy
    import onnx

    made = onnx.MapProto(key_type=declared.key_type)
    if declared.key_type == onnx.TensorProto.STRING:
        made.string_keys.extend(k.encode() for k in value)
    else:
        made.keys.extend(int(k) for k in value)
    element = declared.value_type.tensor_type.elem_type
    kind = object if element == onnx.TensorProto.STRING else onnx.helper.tensor_dtype_to_np_dtype(element)
    made.values.elem_type = onnx.SequenceProto.TENSOR
    made.values.tensor_values.extend(onnx.numpy_helper.from_array(numpy.array(v, kind)) for v in value.values())
    return made


def encode(value, declared):
    """The protobuf bytes of one value, in the form (tensor, sequence, map, optional) that the graph declares for it."""
    import numpy
    import onnx

    if isinstance(value, onnx.TensorProto):
        return value.SerializeToString()
    kind = declared.type.WhichOneof("value")
    if kind == "map_type":
        return map_of(value, declared.type.map_type).SerializeToString()
    if kind == "sequence_type" and declared.type.sequence_type.elem_type.HasField("map_type"):
        maps = [map_of(v, declared.type.sequence_type.elem_type.map_type) for v in value]
        return onnx.SequenceProto(elem_type=onnx.SequenceProto.MAP, map_values=maps).SerializeToString()
    if kind in CONTAINERS:
        return getattr(onnx.numpy_helper, CONTAINERS[kind])(value, declared.name).SerializeToString()
    return onnx.numpy_helper.from_array(numpy.asarray(value), declared.name).SerializeToString()


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)


def absolute_tolerance(case):
    """The case's own; for Fourier transforms at least the rounding of numpy's sums. They round relative to their largest terms
    and not to what is left where terms cancel: 2^-24 of the largest answer, in float32."""
    import numpy

    if not any(node.op_type in ("DFT", "STFT") for node in case.model.graph.node):
        return case.atol
    answers = [numpy.asarray(a) for _, outputs in case.data_sets for a in outputs]
    largest = max([float(numpy.abs(a).max()) for a in answers if a.dtype == numpy.float32 and a.size], default=0.0)
    return max(case.atol, largest * 2.0**-24)


def write_case(case, root):
    folder = os.path.join(root, case.name)
    graph = case.model.graph
    for k, (inputs, outputs) in enumerate(case.data_sets):
        data = os.path.join(folder, f"test_data_set_{k}")
        os.makedirs(data, exist_ok=True)
        for prefix, values, declared in (("input", inputs, graph.input), ("output", outputs, graph.output)):
            for j, value in enumerate(values):
                write(os.path.join(data, f"{prefix}_{j}.pb"), encode(value, declared[j]))
    write(os.path.join(folder, "model.onnx"), case.model.SerializeToString())
    write(os.path.join(folder, "case.json"), json.dumps({"rtol": case.rtol, "atol": absolute_tolerance(case)}).encode())


def main(root):
    warnings.filterwarnings("ignore")  # numpy warns of the overflows that some cases are about
    import onnx.backend.test.case.node
    import onnx.numpy_helper

    cases = onnx.backend.test.case.node.collect_testcases(None)
    for case in cases:
        write_case(case, root)
    return len(cases)


if __name__ == "__main__":
    print(main(sys.argv[1]), "cases")
