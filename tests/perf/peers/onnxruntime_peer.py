"""ONNX Runtime's CPU provider, its default level of optimisation (all)."""
from . import missing


def why_not():
    return missing("onnxruntime")


def prepare(model, folder, shapes, options):
    return model


def load(file, threads, feed, options):
    import onnxruntime

    with_threads = onnxruntime.SessionOptions()
    with_threads.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(file, with_threads, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, feed)
