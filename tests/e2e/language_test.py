"""Language models in codes: how small a file of 4 bits is, what it costs in perplexity, that the exported file means the same to ONNX
Runtime, and that masks do no harm to static int8. Sizes and perplexities are of our own models (../shared/trained, ../shared/patients),
the same in every run."""
import json

import support

WORK = support.WORK / "language"
LM = support.SHARED / "trained" / "lm"
GAIN = support.SHARED / "patients" / "gain_lm"


def coded(model, name, *arguments):
    WORK.mkdir(parents=True, exist_ok=True)
    return support.convert(model, f"language/{name}", *(arguments or ("--quantize", "int4")))


def perplexities(*arguments):
    """Of each model, in their order."""
    done = support.vireo("eval", *arguments, "--metric", "perplexity", "--json")
    return [model["values"]["perplexity"]["value"] for model in json.loads(done.stdout)["models"]]


def of_book(*models):
    return perplexities(*models, "--data", LM / "test.txt", "--tokenizer", LM / "tokenizer.json", "--samples", 8)


def tokens(np):
    np.savez(WORK / "tokens.npz", ids=np.load(GAIN / "data.npz")["ids"].astype(np.int64))
    return WORK / "tokens.npz"


# All matrices, the table of tokens stored once, scales in float16: 4.5 bits a weight.
def main_model(test):
    out = coded(LM / "lm_main.onnx", "main")
    test.assertLess(out.stat().st_size, 4_750_000)
    exact, small = of_book(LM / "lm_main.onnx", out)
    test.assertLess(small / exact, 1.01)


def draft_model(test):
    out = coded(LM / "lm_draft.onnx", "draft")
    test.assertLess(out.stat().st_size, 660_000)
    exact, small = of_book(LM / "lm_draft.onnx", out)
    test.assertLess(small / exact, 1.03)


def eight_bits(test):
    out = coded(LM / "lm_draft.onnx", "draft8", "--quantize", "int8-weights")
    test.assertLess(out.stat().st_size, 1_200_000)
    exact, small = of_book(LM / "lm_draft.onnx", out)
    test.assertLess(abs(small / exact - 1), 0.002)


def important_small_weights(test):
    import numpy as np
    out = coded(GAIN / "model.onnx", "gain")
    test.assertLess(out.stat().st_size, 480_000)
    exact, small = perplexities(GAIN / "model.onnx", out, "--data", tokens(np), "--input", "input_ids=ids", "--window", 256)
    test.assertLess(small / exact, 1.015)


def the_exported_file_says_the_same(test):
    import numpy as np
    import onnx
    import onnxruntime
    exported = WORK / "gain.onnx"
    out = coded(GAIN / "model.onnx", "exported", "--quantize", "int4", "--emit-onnx", exported)
    onnx.checker.check_model(str(exported))
    test.assertLess(exported.stat().st_size, 480_000)
    ids = np.load(GAIN / "data.npz")["ids"].astype(np.int64)[None, :200]
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL  # else x has 8 bits in its products
    session = onnxruntime.InferenceSession(str(exported), options, providers=["CPUExecutionProvider"])
    want = session.run(None, {"input_ids": ids})[0]
    np.save(WORK / "ids.npy", ids)
    for model in (out, support.convert(exported, "language/again")):
        support.vireo("run", model, "--input", f"input_ids={WORK / 'ids.npy'}", "--output", WORK / "y.npz")
        got = np.load(WORK / "y.npz")["logits"]
        test.assertLess(np.abs(got - want).max(), 1e-4 * np.abs(want).max())


# Static int8 with masks that are far below all scores: what is masked owns no scale.
def masks_of_static_int8(test):
    import numpy as np
    import onnx
    samples = WORK / "samples.npz"
    data = np.load(GAIN / "data.npz")
    np.savez(samples, input_ids=data["calibration_ids"].astype(np.int64)[:4, :256])
    models = [GAIN / "model.onnx"]
    for name, value in {"plain": -1e9, "half": -65504.0, "infinite": -np.inf}.items():
        model, changed = onnx.load(GAIN / "model.onnx"), 0
        for node in model.graph.node:
            for attribute in node.attribute:
                if node.op_type == "ConstantOfShape" and onnx.numpy_helper.to_array(attribute.t)[0] == np.float32(-1e9):
                    attribute.t.CopyFrom(onnx.numpy_helper.from_array(np.array([value], np.float32)))
                    changed += 1
        test.assertEqual(changed, 4)
        onnx.save(model, WORK / f"{name}.onnx")
        models.append(WORK / f"{name}.vireo")
        support.vireo("quantize", WORK / f"{name}.onnx", "-o", models[-1], "--data", samples)
    exact, *coded = perplexities(*models, "--data", tokens(np), "--input", "input_ids=ids", "--window", 256, "--samples", 8)
    for value in coded:
        test.assertLess(value / exact, 1.01)


reason = support.missing("numpy", "onnx", "onnxruntime", folder="patients")
Language = support.cases(reason, {f.__name__: f for f in (
    main_model, draft_model, eight_bits, important_small_weights, the_exported_file_says_the_same, masks_of_static_int8)})

if __name__ == "__main__":
    support.main()
