"""ncnn in float32, converted by pnnx."""
import pathlib
import subprocess
import sys

from . import PeerError, missing


def why_not():
    return missing("ncnn", "pnnx")


def prepare(model, folder, shapes, options):
    import onnx

    here = pathlib.Path(folder) / "ncnn"
    here.mkdir(exist_ok=True)
    types = {onnx.TensorProto.FLOAT: "f32", onnx.TensorProto.INT64: "i64", onnx.TensorProto.INT32: "i32"}
    inputs = {i.name: types.get(i.type.tensor_type.elem_type) for i in onnx.load(model, load_external_data=False).graph.input}
    text = ",".join(f"[{','.join(map(str, dims))}]{inputs[name]}" for name, dims in shapes.items())
    (here / "model.onnx").write_bytes(pathlib.Path(model).read_bytes())
    tool = pathlib.Path(sys.executable).with_name("pnnx")
    done = subprocess.run([str(tool), "model.onnx", f"inputshape={text}", "fp16=0"], cwd=here, capture_output=True, text=True, timeout=600)
    file = here / "model.ncnn.param"
    if done.returncode or not file.exists():
        raise PeerError("pnnx refuses it")
    if "pnnx." in file.read_text() or "torch." in file.read_text() or "onnx." in file.read_text():
        raise PeerError("pnnx leaves operators that ncnn has not")
    return str(file)


def load(file, threads, feed, options):
    import ncnn
    import numpy as np

    net = ncnn.Net()
    net.opt.num_threads = threads
    for half in ("use_fp16_packed", "use_fp16_storage", "use_fp16_arithmetic", "use_bf16_storage"):
        setattr(net.opt, half, False)
    if net.load_param(file) or net.load_model(file.replace(".param", ".bin")):
        raise PeerError("ncnn cannot load it")
    names = net.input_names()
    if len(names) != len(feed):
        raise PeerError("ncnn takes other inputs than the model")
    given = [ncnn.Mat(np.ascontiguousarray(array[0])) for array in feed.values()]
    wanted = net.output_names()

    def run():
        with net.create_extractor() as extractor:
            for name, mat in zip(names, given):
                extractor.input(name, mat)
            outputs = []
            for name in wanted:
                status, mat = extractor.extract(name)
                if status:
                    raise PeerError("ncnn fails in a run")
                outputs.append(np.array(mat)[None])
            return outputs

    return run
