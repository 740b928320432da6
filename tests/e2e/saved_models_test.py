"""Every shared model as ONNX Runtime's optimiser saves it at each of its levels: the saved file converts and gives the
model's stored answers. At the last level convolutions become those of com.microsoft.nchwc, in the blocks of the machine that saved them; where a file
leaves open which, --nchwc-block says it."""
import models_test
import support

LEVELS = {"basic": "ORT_ENABLE_BASIC", "extended": "ORT_ENABLE_EXTENDED", "all": "ORT_ENABLE_ALL"}


def save(path, out, level):
    """False where ONNX Runtime itself does not load the model."""
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
    options.optimized_model_filepath = str(out)
    try:
        onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as e:  # whatever it says, there is no file to convert
        print(f"\n{path.stem}: ONNX Runtime does not load it: {str(e)[:160]}")
        return False
    return True


def machine_block():
    """How many channels ONNX Runtime's blocks have here: it rounds the outputs of a convolution up to them, 5 in this one."""
    import numpy as np
    import onnx
    from onnx import helper
    path, saved = support.WORK / "machine_block.onnx", support.WORK / "machine_block_saved.onnx"
    real = onnx.TensorProto.FLOAT
    graph = helper.make_graph([helper.make_node("Conv", ["x", "w"], ["y"])], "block", [helper.make_tensor_value_info("x", real, [1, 3, 4, 4])],
                              [helper.make_tensor_value_info("y", real, [1, 5, 4, 4])], [onnx.numpy_helper.from_array(np.ones((5, 3, 1, 1), np.float32), "w")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(path))
    if not save(path, saved, "ORT_ENABLE_ALL"):
        raise AssertionError("ONNX Runtime does not load a convolution")
    return int(onnx.load(str(saved)).graph.initializer[0].dims[0])


def check(name, slack, level):
    def run(test):
        import onnx
        path = support.SHARED / "models" / (name + ".onnx")
        saved = support.WORK / f"saved_{level}_{path.stem}.onnx"
        if not save(path, saved, LEVELS[level]):
            test.skipTest("ONNX Runtime does not load the model")
        model = onnx.load(str(saved))
        nodes = model.graph.node
        # Old formats list constants among the inputs; those that the optimiser folded away lose their values and stay inputs.
        used = {i for n in nodes for i in n.input}
        left = [i for i in model.graph.input if i.name in used]
        if nodes and len(left) != len(model.graph.input):
            del model.graph.input[:]
            model.graph.input.extend(left)
            onnx.save(model, str(saved))
        forms = sum(n.domain == "com.microsoft.nchwc" for n in nodes)
        option = []
        done = support.vireo("check", saved, check=False)
        if forms != 0 and done.returncode != 0:
            test.assertIn("--nchwc-block 16", done.stdout + done.stderr)
            option = ["--nchwc-block", machine_block()]
        file = support.convert(saved, None, *option)
        support.verify(file, path.with_suffix(".npz"), *models_test.tolerance(name, slack))
        print(f"\n{name} {level}: {len(nodes)} nodes, {forms} NCHWc forms, verified {' '.join(map(str, option))}", flush=True)
        file.unlink()
        saved.unlink()
    return run


def table():
    return {f"{name}_{level}": check(name, slack, level) for name, slack in models_test.rows() for level in LEVELS}


reason = support.missing("onnx", "onnxruntime", folder="models")
Saved = support.cases(reason, {} if reason else table())

if __name__ == "__main__":
    support.main()
