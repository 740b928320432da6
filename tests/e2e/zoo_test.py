"""Every architecture of the zoo: its skeleton filled, converted, run, and compared with the samples that it carries;
and the memory contract at these inputs."""
import importlib.util
import pathlib

import memory_test
import support

TOLERANCE = 1e-3       # of an output's standard deviation; the reference agrees with itself to 3e-6
QUANTIZED = 1e-1       # rounding of fused integer kernels differs between runtimes (the zoo's README)
# The stored samples come from ONNX Runtime's fused integer kernels. Its own literal evaluation of this model is 0.179 of one
# standard deviation away from them, and Vireo's answer is equal to that one to the bit. No other model needs this.
LITERAL = {"dscnn_kws-int8": 1.8e-1}


def tolerance(name):
    return LITERAL.get(name, QUANTIZED if "int8" in name else TOLERANCE)


def filler():
    spec = importlib.util.spec_from_file_location("fill_skeleton", support.SHARED / "zoo" / "fill_skeleton.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def check(path):
    def run(test):
        import onnx
        import vireo
        fill = filler()
        model = fill.load(str(path))
        name = path.name.split(".onnx")[0]
        full = support.WORK / (name + ".onnx")
        onnx.save(fill.fill(model), str(full))
        feed = fill.inputs(model)
        file = support.convert(full)
        full.unlink()
        with vireo.Model(file) as loaded:
            arrays = [feed[v.name] for v in loaded.inputs]
            with loaded.session(loaded.bounds_for(*arrays)) as session:
                outputs = dict(zip((v.name for v in loaded.outputs), session.run(*arrays)))
        if pathlib.Path(memory_test.CONTRACT).exists():
            memory = memory_test.contract(file, arrays)
            test.assertEqual(memory.returncode, 0, memory.stderr)
            print("\n" + memory_test.row(name, memory))
        file.unlink()
        rows = fill.compare(model, outputs, tolerance(name))
        test.assertTrue(rows, "the skeleton carries no samples")
        for output, error, good in rows:
            test.assertTrue(good, f"{output}: worst error {error:.3g} of one standard deviation")
    return run


reason = support.missing("numpy", "onnx", folder="zoo")
Zoo = support.cases(reason, {} if reason else {p.name.split(".onnx")[0]: check(p) for p in sorted((support.SHARED / "zoo").glob("*.onnx.gz"))})

if __name__ == "__main__":
    support.main()
