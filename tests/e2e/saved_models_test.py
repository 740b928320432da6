"""Every shared model as ONNX Runtime's optimiser saves it at each of its levels: the saved file converts and gives the
model's stored answers. At the last level convolutions become those of com.microsoft.nchwc, in the blocks of the machine that saved them: such a file
must be refused with the way out, any other must convert."""
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


def check(name, slack, level):
    def run(test):
        import onnx
        support.WORK.mkdir(parents=True, exist_ok=True)
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
        if any(n.domain == "com.microsoft.nchwc" for n in nodes):
            done = support.vireo("check", saved, check=False)
            test.assertNotEqual(done.returncode, 0)
            test.assertIn("ORT_ENABLE_EXTENDED", done.stdout + done.stderr)
            print(f"\n{name} {level}: blocked, refused", flush=True)
        else:
            file = support.convert(saved)
            support.verify(file, path.with_suffix(".npz"), *models_test.tolerance(name, slack))
            print(f"\n{name} {level}: {len(nodes)} nodes, verified", flush=True)
            file.unlink()
        saved.unlink()
    return run


def table():
    return {f"{name}_{level}": check(name, slack, level) for name, slack in models_test.rows() for level in LEVELS}


reason = support.missing("onnx", "onnxruntime", folder="models")
Saved = support.cases(reason, {} if reason else table())

if __name__ == "__main__":
    support.main()
