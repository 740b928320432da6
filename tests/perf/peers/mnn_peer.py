"""MNN's CPU backend in float32, converted by its mnnconvert."""
import pathlib
import subprocess
import sys

from . import PeerError, missing


def why_not():
    return missing("MNN")


def prepare(model, folder, shapes, options):
    file = pathlib.Path(folder) / "model.mnn"
    tool = pathlib.Path(sys.executable).with_name("mnnconvert")
    done = subprocess.run([str(tool), "-f", "ONNX", "--modelFile", model, "--MNNModel", str(file), "--bizCode", "vireo"],
                          capture_output=True, text=True)
    if done.returncode or not file.exists():
        raise PeerError("mnnconvert refuses it")
    return str(file)


def load(file, threads, feed, options):
    import MNN.expr as expr
    import MNN.nn as nn
    import MNN.numpy as mnp
    import onnx

    manager = nn.create_runtime_manager(({"backend": "CPU", "precision": "high", "numThread": threads},))
    names = list(feed)
    module = nn.load_module_from_file(file, names, [], runtime_manager=manager, dynamic=False, shape_mutable=False)
    given = [expr.convert(mnp.array(feed[name]), expr.NCHW) if feed[name].ndim == 4 else mnp.array(feed[name]) for name in names]

    def run():
        return [output.read() for output in module.forward(given)]

    return run
