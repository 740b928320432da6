"""OpenVINO's CPU plug-in, reading ONNX. Computes in float32; with option bf16 as it likes (bfloat16 where the core has it)."""
from . import missing


def why_not():
    return missing("openvino")


def prepare(model, folder, shapes, options):
    return model


def load(file, threads, feed, options):
    import openvino

    core = openvino.Core()
    model = core.read_model(file)
    model.reshape({name: list(array.shape) for name, array in feed.items()})
    compiled = core.compile_model(model, "CPU", {
        "INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY", "ENABLE_CPU_PINNING": False,
        "INFERENCE_PRECISION_HINT": "bf16" if "bf16" in options else "f32"})
    request = compiled.create_infer_request()
    outputs = compiled.outputs

    def run():
        request.infer(feed, share_inputs=True)
        return [request.get_tensor(output).data for output in outputs]

    return run
