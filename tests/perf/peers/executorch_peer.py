"""ExecuTorch in float32 on its XNNPACK backend, by way of onnx2torch and torch.export."""
import pathlib

from . import PeerError, missing


def why_not():
    return missing("torch", "onnx2torch", "executorch")


def prepare(model, folder, shapes, options):
    import onnx
    import torch
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import to_edge_transform_and_lower
    from onnx2torch import convert

    types = {onnx.TensorProto.FLOAT: torch.float32, onnx.TensorProto.INT64: torch.int64, onnx.TensorProto.INT32: torch.int32}
    graph = onnx.load(model).graph
    constants = {c.name for c in graph.initializer}
    sample = tuple(torch.zeros(shapes[i.name], dtype=types[i.type.tensor_type.elem_type]) for i in graph.input if i.name not in constants)
    try:
        exported = torch.export.export(convert(onnx.load(model)).eval(), sample)
        program = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()]).to_executorch()
    except Exception as error:  # whatever operator or shape one of the three does not take
        raise PeerError(f"does not convert: {(str(error).strip() or type(error).__name__).splitlines()[0][:120]}") from error
    file = pathlib.Path(folder) / "model.pte"
    file.write_bytes(program.buffer)
    return str(file)


def load(file, threads, feed, options):
    import torch
    from executorch.extension.pybindings import portable_lib

    portable_lib._unsafe_reset_threadpool(threads)  # before anything has used it
    if portable_lib._threadpool_get_thread_count() != threads:
        raise PeerError(f"does not take {threads} threads")
    module = portable_lib._load_for_executorch(file)
    given = [torch.from_numpy(array) for array in feed.values()]

    def run():
        return [output.numpy() for output in module.run_method("forward", given)]

    return run
