"""Language models in codes: how small a file of 4 bits is, what it costs in perplexity, that the exported file means the same to ONNX
Runtime, and that masks do no harm to static int8. Sizes and perplexities are of our own models (../shared/trained, ../shared/patients),
the same in every run."""
import json

import support

WORK = support.room("language")
LM = support.SHARED / "trained" / "lm"
GAIN = support.SHARED / "patients" / "gain_lm"


def coded(model, name, *arguments):
    return support.convert(model, f"language/{name}", *(arguments or ("--quantize", "int4")))

SAMPLES = 2 if support.PRELOAD else 8  # windows of text


def perplexities(*arguments):
    """Of each model, in their order."""
    done = support.vireo("eval", *arguments, "--metric", "perplexity", "--json")
    return [model["values"]["perplexity"]["value"] for model in json.loads(done.stdout)["models"]]


def of_book(*models):
    return perplexities(*models, "--data", LM / "test.txt", "--tokenizer", LM / "tokenizer.json", "--samples", SAMPLES)


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


def calibration_of_book(np):
    """Tokens of the text that lm_main and lm_draft were trained on, 24 windows of 128."""
    np.savez(WORK / "book_tokens.npz", ids=np.load(support.SHARED / "patients" / "scripts" / "lm_calibration.npz")["calibration_ids"].reshape(-1))
    return ("--calibrate", WORK / "book_tokens.npz", "--input", "input_ids=ids", "--window", 128)


def calibration_of_gain(np):
    np.savez(WORK / "gain_samples.npz", input_ids=np.load(GAIN / "data.npz")["calibration_ids"].astype(np.int64)[:, :256])
    return ("--calibrate", WORK / "gain_samples.npz")


# Rounded by what products lose on data, and 8 bits where they pay most: 5 % larger at most, the table still stored once.
def draft_model_by_data(test):
    import numpy as np
    plain = coded(LM / "lm_draft.onnx", "draft_plain")
    out = coded(LM / "lm_draft.onnx", "draft_by_data", "--quantize", "int4", *calibration_of_book(np))
    test.assertLess(out.stat().st_size, 1.05 * plain.stat().st_size)
    exact, by_data, without = of_book(LM / "lm_draft.onnx", out, plain)
    test.assertLess(by_data / exact, 1.025)
    test.assertLess(by_data, without)


def important_small_weights_by_data(test):
    import numpy as np
    out = coded(GAIN / "model.onnx", "gain_by_data", "--quantize", "int4", *calibration_of_gain(np))
    test.assertLess(out.stat().st_size, 500_000)
    exact, small = perplexities(GAIN / "model.onnx", out, "--data", tokens(np), "--input", "input_ids=ids", "--window", 256)
    test.assertLess(small / exact, 1.004)


def a_recipe_of_four_bits_gives_the_same_bytes(test):
    import numpy as np
    recipe, samples = WORK / "recipe.json", calibration_of_gain(np)[1]
    first = coded(GAIN / "model.onnx", "by_recipe_1", "--quantize", "int4", "--calibrate", samples, "--save-recipe", recipe)
    said = json.loads(recipe.read_text())
    test.assertEqual(said["defaults"], {"format": "w4/32", "rounding": "feedback"})
    test.assertGreater(said["measured"]["gains_moved"], 0)
    test.assertGreater(len(said["wide"]), 0)
    test.assertEqual(sorted(said["wide"]), sorted(said["measured"]["eight_bits"]))
    test.assertTrue(all(layer["gain_db"] >= 0 for layer in said["measured"]["layers"].values()))
    again = WORK / "by_recipe_2.vireo"
    for verb in (("quantize", "--data", samples, "--recipe", recipe), ("convert", "--calibrate", samples, "--recipe", recipe),
                 ("quantize", "--data", samples, "--scheme", "w4/32")):
        support.vireo(verb[0], GAIN / "model.onnx", "-o", again, *verb[1:])
        test.assertEqual(again.read_bytes(), first.read_bytes(), verb)
    # One product kept: it is named, and only it is larger.
    name = next(iter(said["measured"]["layers"]))
    recipe.write_text(json.dumps({"vireo_recipe": 1, "defaults": {"format": "w4/32"}, "layers": {name: {"keep": True}}}))
    done = support.vireo("quantize", GAIN / "model.onnx", "-o", again, "--data", samples, "--recipe", recipe)
    test.assertIn("the recipe keeps it in float", done.stdout)
    test.assertGreater(again.stat().st_size, first.stat().st_size + 100_000)
    # 8 bits for none, for one that is named, and for one that is not there.
    def wide(*names):
        recipe.write_text(json.dumps({"vireo_recipe": 1, "defaults": {"format": "w4/32"}, "wide": names}))
        return support.vireo("quantize", GAIN / "model.onnx", "-o", again, "--data", samples, "--recipe", recipe, check=False)
    wide()
    narrow = again.stat().st_size
    test.assertLess(narrow, first.stat().st_size)
    done = wide("/layers.0/down/MatMul")
    test.assertIn('8 bits  1 matrices', done.stdout)
    test.assertGreater(again.stat().st_size, narrow + 8000)
    done = wide("/layers.9/down/MatMul")
    test.assertEqual(done.returncode, 1)
    test.assertIn('8 bits to the layer "/layers.9/down/MatMul", and no matrix in codes has such a name', done.stderr)
    # Nothing by data: what int4 gives without any.
    recipe.write_text(json.dumps({"vireo_recipe": 1, "condition": [], "defaults": {"format": "w4/32", "rounding": "nearest"}}))
    support.vireo("quantize", GAIN / "model.onnx", "-o", again, "--recipe", recipe)
    test.assertLess(abs(again.stat().st_size - narrow), 4096)


def what_four_bits_refuse(test):
    import numpy as np
    samples = calibration_of_gain(np)[1]
    recipe = WORK / "other.json"
    recipe.write_text('{"vireo_recipe": 1, "defaults": {"format": "w4/32"}}')
    out = WORK / "refused.vireo"
    out.unlink(missing_ok=True)
    for arguments, words in [
            (("quantize", "--recipe", recipe), "no data is given"),
            (("quantize", "--data", samples, "--recipe", recipe, "--scheme", "w8a8"), "is for w4/32, and w8a8 is asked for"),
            (("convert", "--calibrate", samples, "--recipe", recipe, "--quantize", "int8"), "is for w4/32"),
            (("convert", "--calibrate", samples, "--quantize", "bf16"), "are for int8 and int4")]:
        done = support.vireo(arguments[0], GAIN / "model.onnx", "-o", out, *arguments[1:], check=False)
        test.assertEqual(done.returncode, 1, arguments)
        test.assertIn(words, done.stderr, arguments)
        test.assertIn("help:", done.stderr, arguments)
        test.assertFalse(out.exists())
    # A ceiling that no product fits under: the nearest codes, and each product is named.
    done = support.vireo("quantize", GAIN / "model.onnx", "-o", WORK / "tight.vireo", "--data", samples, "--scheme", "w4/32", "--memory", "22M")
    test.assertIn("has the nearest codes", done.stdout)
    # One that the model itself does not fit under, which is said before it is read.
    status, peak, said = support.peak_of("quantize", GAIN / "model.onnx", "-o", out, "--data", samples, "--scheme", "w4/32", "--memory", "1M")
    test.assertEqual(status, 1)
    test.assertRegex(said, r"has \d.* MiB, which are read as they are, and --memory allows 1.0 MiB")
    test.assertIn("help: allow more", said)
    test.assertFalse(out.exists())


def a_ceiling_of_four_bits_is_kept(test):
    """Weights of 24 MiB within 56: as they were, as they are rounded and a pass over them do not fit side by side."""
    import numpy as np
    import onnx
    from onnx import helper, numpy_helper
    if support.PRELOAD:
        test.skipTest("a sanitizer holds memory of its own")
    rng = np.random.default_rng(5)
    size, layers = 512, 24
    constants = {f"w{i}": (rng.standard_normal((size, size)) * np.sqrt(2 / size)).astype(np.float32) for i in range(layers)}
    nodes = []
    for i in range(layers):
        nodes += [helper.make_node("MatMul", [f"x{i}", f"w{i}"], [f"y{i}"], name=f"m{i}"), helper.make_node("Relu", [f"y{i}"], [f"x{i + 1}"], name=f"r{i}")]
    real = onnx.TensorProto.FLOAT
    graph = helper.make_graph(nodes, "deep", [helper.make_tensor_value_info("x0", real, [1, 16, size])],
                              [helper.make_tensor_value_info(f"x{layers}", real, [1, 16, size])], [numpy_helper.from_array(v, k) for k, v in constants.items()])
    model, data, recipe = WORK / "deep.onnx", WORK / "deep.npz", WORK / "deep.json"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), model)
    np.savez(data, x0=rng.standard_normal((3, 16, size)).astype(np.float32))
    recipe.write_text(json.dumps({"vireo_recipe": 1, "defaults": {"format": "w4/32"}, "wide": []}))
    files = set()
    for mib in (56, 512):
        out = WORK / f"deep_{mib}.vireo"
        status, peak, said = support.peak_of("quantize", model, "-o", out, "--data", data, "--recipe", recipe, "--memory", f"{mib}M")
        test.assertEqual(status, 0, said)
        test.assertLess(peak, 1.05 * (mib << 20), said)
        test.assertNotIn("has the nearest codes", said)
        files.add(out.read_bytes())
    test.assertEqual(len(files), 1, "a ceiling changes no byte")


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
        # A sanitizer's own memory is part of what the process holds.
        support.vireo("quantize", WORK / f"{name}.onnx", "-o", models[-1], "--data", samples, *(("--memory", "4G") if support.PRELOAD else ()))
    # Eight windows with a sanitizer too: codes that lose .3 % over sixteen windows lose 1.1 % over the first two.
    exact, *coded = perplexities(*models, "--data", tokens(np), "--input", "input_ids=ids", "--window", 256, "--samples", 8)
    for value in coded:
        test.assertLess(value / exact, 1.01)


reason = support.missing("numpy", "onnx", "onnxruntime", folder="patients")
Language = support.cases(reason, {f.__name__: f for f in (
    main_model, draft_model, eight_bits, important_small_weights, draft_model_by_data, important_small_weights_by_data,
    a_recipe_of_four_bits_gives_the_same_bytes, what_four_bits_refuse, a_ceiling_of_four_bits_is_kept, the_exported_file_says_the_same, masks_of_static_int8)})

if __name__ == "__main__":
    support.main()
