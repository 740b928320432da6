"""How the command line speaks: help, names that are nearly right, errors for programs, completion, widths of lines, progress."""
import json
import os
import pathlib
import pty
import re
import shutil
import subprocess
import sys
import unittest

import support

MODELS = support.ROOT / "samples" / "models"
ROOM = support.room("command_line")
HELP_COLUMNS, OUTPUT_COLUMNS = 100, 120
REASON = support.missing("numpy", "onnx")


def vireo(*arguments, **environment):
    return support.vireo(*arguments, check=False, environment=environment)


def verbs():
    text = support.vireo("help").stdout
    return re.findall(r"(?m)^  ([a-z-]+)\s", text[text.index("Verbs:"):text.index("Start here:")])


def wide(text, columns):
    return [line for line in text.splitlines() if len(line) > columns]


class Help(unittest.TestCase):
    def test_every_verb_at_any_width_of_the_terminal(self):
        for columns in ("20", "80", "400"):
            pages = [vireo("--help", COLUMNS=columns).stdout] + [vireo(verb, "--help", COLUMNS=columns).stdout for verb in verbs()[::support.DATA_STEP]]
            self.assertGreater(len(pages), 10 // support.DATA_STEP)
            for page in pages:
                self.assertEqual(wide(page, HELP_COLUMNS), [])

    def test_by_verb_and_by_option_are_the_same(self):
        self.assertEqual(vireo("help").stdout, vireo("--help").stdout)
        self.assertEqual(vireo("version").stdout, vireo("--version").stdout)
        for verb in verbs()[::support.DATA_STEP]:
            done = vireo("help", verb)
            self.assertEqual((done.returncode, done.stdout), (0, vireo(verb, "--help").stdout), verb)
            self.assertIn(f"Usage: vireo {verb}", done.stdout)

    def test_unknown_verbs_are_errors_with_help_asked_for_or_not(self):
        for arguments in (["convrt"], ["convrt", "--help"], ["--help", "convrt"], ["help", "convrt"], ["convrt", "model.onnx"]):
            done = vireo(*arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""), arguments)
            self.assertIn('vireo has no verb "convrt"', done.stderr)
            self.assertIn("did you mean convert?", done.stderr)

    def test_manual_pages(self):
        folder = ROOM / "man"
        folder.mkdir(parents=True, exist_ok=True)
        support.vireo("help", "--man", folder)
        self.assertEqual({p.name for p in folder.iterdir()}, {"vireo.1", *(f"vireo-{verb}.1" for verb in verbs())})
        page = (folder / "vireo-bench.1").read_text()
        for part in (".SH SYNOPSIS", "\\-\\-seconds", "Measure how long a run takes", "vireo bench model.vireo"):
            self.assertIn(part, page)
        if shutil.which("groff"):
            for path in folder.iterdir():
                done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", path], capture_output=True, text=True, check=False,
                                      env=support.PROGRAM_ENVIRONMENT)
                self.assertEqual(done.stderr, "", path.name)


class NearlyRight(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = support.convert(MODELS / "digit_mobile.onnx", "command_line", "--shape", "image=1,1,32,32")

    def test_options(self):
        done = vireo("bench", self.model, "--secnds", "1")
        self.assertEqual(done.returncode, 2)
        self.assertIn("did you mean --seconds?", done.stderr)

    def test_inputs(self):
        for arguments in (("run", self.model, "--input", f"imge={self.model}"), ("bench", self.model, "--shape", "imge=1,1,32,32")):
            done = vireo(*arguments)
            self.assertEqual(done.returncode, 1)
            self.assertIn("did you mean image?", done.stderr)

    def test_schemes_and_targets(self):
        model = MODELS / "digit_mobile.onnx"
        done = vireo("convert", model, "-o", ROOM / "x.vireo", "--quantize", "int8")
        self.assertEqual(done.returncode, 1)
        for part in ("int8-weights", "--calibrate"):
            self.assertIn(part, done.stderr)
        self.assertIn("did you mean int4?", vireo("convert", model, "-o", ROOM / "x.vireo", "--quantize", "int5").stderr)
        self.assertIn("did you mean mcu?", vireo("check", model, "--target", "mcuu").stderr)

    def test_options_that_verbs_share(self):
        for verb in ("run", "bench", "verify", "explain"):
            page = vireo("help", verb).stdout
            for option in ("--device", "--target", "--require", "--threads", "--shape", "--bound"):
                self.assertRegex(page, rf"(?m)^  {option}\b", verb)

    def test_an_unsigned_file_is_not_called_damaged(self):
        for old in ("maker.key", "maker.pub", "other.key", "other.pub"):
            (ROOM / old).unlink(missing_ok=True)
        if "keygen" in vireo("keygen", ROOM / "maker").stderr:
            self.skipTest("this build is without libsodium (VIREO_TRUST)")
        vireo("keygen", ROOM / "other")
        signed, cut = ROOM / "signed.vireo", ROOM / "cut.vireo"
        support.vireo("sign", self.model, "-o", signed, "--key", ROOM / "other.key")
        cut.write_bytes(self.model.read_bytes()[:-100])
        for model, told, not_told in ((self.model, "vireo sign", "damaged"), (signed, (ROOM / "other.pub").read_text().split()[1], "damaged"),
                                      (cut, "damaged", "vireo sign")):
            done = vireo("run", model, "--trust", ROOM / "maker.pub")
            self.assertEqual(done.returncode, 1)
            self.assertIn(told, done.stderr)
            self.assertNotIn(not_told, done.stderr.split("help:")[1])


class ErrorObjects(unittest.TestCase):
    """--json: one object on standard output, whose keys c_api/cli/README.md lists."""

    def error(self, *arguments, status=1):
        done = vireo(*arguments, "--json")
        self.assertEqual(done.returncode, status)
        whole = json.loads(done.stdout)
        self.assertEqual(set(whole), {"error"})
        self.assertEqual(set(whole["error"]), {"code", "file", "node", "tensor", "message", "help"})
        return whole["error"]

    def test_usage(self):
        error = self.error("bench", "--frobnicate", "x", status=2)
        self.assertEqual((error["code"], error["file"]), ("usage", None))
        self.assertIn("--frobnicate", error["message"])
        self.assertEqual(self.error("convrt", status=2)["code"], "usage")
        self.assertIn("--output", self.error("convert", "x.onnx", "-o", status=2)["message"])  # which --json is no value of

    def test_no_output_replaces_what_is_read(self):
        model, image = ROOM / "kept.vireo", ROOM / "kept.pgm"
        model.write_bytes(support.convert(MODELS / "digit_mobile.onnx", "command_line", "--shape", "image=1,1,32,32").read_bytes())
        image.write_bytes((support.ROOT / "samples" / "media" / "digit_3.pgm").read_bytes())
        for arguments in (("run", model, "--input", f"image={image}", "-o", model), ("run", model, "--input", image, "-o", image),
                          ("bench", model, "--seconds", 0.01, "--profile", model), ("tune", model, "--seconds", 0.01, "-o", model)):
            before = model.read_bytes(), image.read_bytes()
            error = self.error(*arguments)
            self.assertIn("is a file that is read", error["message"])
            self.assertEqual(error["file"], str(arguments[-1]))
            self.assertEqual((model.read_bytes(), image.read_bytes()), before)

    def test_what_this_build_cannot_read(self):
        newer, text = ROOM / "newer.vireo", ROOM / "text.vireo"
        newer.write_bytes((lambda b: b[:10] + b"\x09" + b[11:])(support.convert(MODELS / "digit_mobile.onnx", "command_line").read_bytes()))
        text.write_text("no model")
        self.assertIn("convert the model again", self.error("run", newer)["help"])
        self.assertIn("right file", self.error("run", text)["help"])

    def test_files(self):
        missing, broken = ROOM / "missing.vireo", ROOM / "broken.vireo"
        whole = support.convert(MODELS / "digit_mobile.onnx", "command_line", "--shape", "image=1,1,32,32")
        broken.write_bytes(whole.read_bytes()[:-100])
        error = self.error("run", missing)
        self.assertEqual((error["code"], error["file"]), ("VIREO_IO", str(missing)))
        error = self.error("inspect", broken)
        self.assertEqual((error["code"], error["file"]), ("VIREO_INVALID_MODEL", str(broken)))
        self.assertTrue(error["help"])

    def test_inputs(self):
        model = support.convert(MODELS / "digit_mobile.onnx", "command_line", "--shape", "image=1,1,32,32")
        text = ROOM / "text.npy"
        text.write_text("no array")
        error = self.error("run", model, "--input", f"image={text}")
        self.assertEqual((error["code"], error["file"], error["tensor"]), ("failed", str(text), "image"))
        error = self.error("run", model)
        self.assertEqual((error["file"], error["tensor"]), (str(model), "image"))

    @unittest.skipIf(REASON, REASON)
    def test_models_that_do_not_convert(self):
        import onnx
        from onnx import TensorProto, helper
        node = helper.make_node("MatMul", ["x", "w"], ["y"], name="product")
        x, w, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in (("x", [1, 3]), ("w", [4, 2]), ("y", [1, 2])))
        path = ROOM / "mismatch.onnx"
        onnx.save(helper.make_model(helper.make_graph([node], "g", [x, w], [y]), opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
        error = self.error("bench", path)
        self.assertEqual((error["file"], error["node"]), (str(path), "product"))
        self.assertRegex(error["code"], r"^VC0\d{3}$")
        twice = [helper.make_node("Relu", ["x"], ["y"], name="first"), helper.make_node("Abs", ["x"], ["y"], name="second")]
        y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 3])
        onnx.save(helper.make_model(helper.make_graph(twice, "g", [x], [y]), opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
        error = self.error("bench", path)
        self.assertEqual((error["code"], error["node"]), ("VC0201", "second"))
        self.assertIn('which node "first" makes as well', error["message"])
        self.assertTrue(error["help"])

    def test_what_succeeds_has_no_error(self):
        self.assertNotIn("error", json.loads(support.vireo("targets", "--json").stdout))


class Widths(unittest.TestCase):
    def test_text_output(self):
        made = []
        for name, *shape in (("digit_det_nms",), ("kws_dscnn", "--shape", "features=1,1,49,40"), ("kws_gru",)):
            done = support.vireo("convert", MODELS / f"{name}.onnx", "-o", ROOM / f"{name}.vireo", *shape)
            made.append((ROOM / f"{name}.vireo", done.stdout))
        for model, said in made:
            self.assertEqual(wide(said, OUTPUT_COLUMNS), [])
            for verb in (("inspect",), ("explain",), ("explain", "--device", "cpu"), ("bench", "--seconds", "0.05")):
                done = support.vireo(verb[0], model, *verb[1:])
                self.assertEqual(wide(done.stdout, OUTPUT_COLUMNS), [], verb)

    @unittest.skipIf(REASON, REASON)
    def test_nested_extents(self):
        import onnx
        from onnx import TensorProto, helper
        value = helper.make_tensor_value_info
        nodes, name = [], "x"
        for i in range(24):
            nodes.append(helper.make_node("MaxPool", [name], [f"p{i}"], kernel_shape=[3], strides=[2], pads=[1, 1], ceil_mode=1))
            nodes.append(helper.make_node("Concat", [f"p{i}", name], [f"c{i}"], axis=2))
            name = f"c{i}"
        graph = helper.make_graph(nodes, "g", [value("x", TensorProto.FLOAT, [1, 1, "n"])], [value(name, TensorProto.FLOAT, None)])
        path = ROOM / "nested.onnx"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
        done = vireo("check", path)
        self.assertEqual(wide(done.stdout, OUTPUT_COLUMNS), [])
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(support.vireo("check", path, "--json").stdout)
        self.assertGreater(len(report["outputs"][0]["type"]), OUTPUT_COLUMNS)  # programs get all of it


class Inspect(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model, cls.report = ROOM / "kernels.vireo", ROOM / "kernels.json"
        cls.converted = support.vireo("convert", MODELS / "kws_dscnn.onnx", "-o", cls.model, "--shape", "features=1,1,49,40",
                                      "--report", cls.report).stdout

    def test_nodes_are_counted_as_convert_counts_them(self):
        said = int(re.search(r"nodes became (\d+)", self.converted).group(1))
        text = support.vireo("inspect", self.model).stdout
        self.assertEqual(int(re.search(r"(?m)^  nodes +(\d+)", text).group(1)), said)
        facts = json.loads(support.vireo("inspect", self.model, "--json").stdout)
        self.assertEqual(sum(facts["steps"].values()), said)
        self.assertGreater(facts["nodes"], said)  # with those inside of fused nodes

    def test_float_nodes_are_news_of_quantized_models_only(self):
        facts = json.loads(support.vireo("inspect", self.model, "--json").stdout)
        self.assertTrue(facts["float_nodes"])
        self.assertFalse(facts["quantized"])
        self.assertNotIn("floating point", support.vireo("inspect", self.model).stdout)

    def test_kernels_are_all_operators_of_the_file(self):
        """Against the report, which is made from the graph and not from the file."""
        after = json.loads(self.report.read_text())["after"]
        ops = {node["op"] for node in after["nodes"]} - {"Composite"}
        listed = support.vireo("inspect", self.model, "--kernels").stdout
        self.assertEqual(listed.count("\n"), 1)
        self.assertEqual(set(listed.strip().split(";")), ops)
        self.assertIn("Relu", ops)  # inside of a fused node
        self.assertEqual(json.loads(support.vireo("inspect", self.model, "--kernels", "--json").stdout)["kernels"], sorted(ops))

    def test_kernels_are_names_that_a_build_knows(self):
        known = re.findall(r"(?m)^VIREO_OP\(\d+, (\w+),", (support.ROOT / "sdk" / "ops" / "ops.def").read_text())
        listed = support.vireo("inspect", self.model, "--kernels").stdout.strip().split(";")
        self.assertLessEqual(set(listed), set(known))

    def test_kernels_of_a_model_that_is_not_converted(self):
        done = vireo("inspect", MODELS / "kws_gru.onnx", "--kernels")
        self.assertEqual(done.returncode, 1)
        self.assertIn("vireo convert", done.stderr)


class Wording(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.path = support.convert(MODELS / "kws_dscnn.onnx", "wording")

    def test_an_error_names_its_file_once(self):
        cut = support.WORK / "wording_cut.vireo"
        cut.write_bytes(pathlib.Path(self.path).read_bytes()[:900])
        self.assertEqual(vireo("run", cut).stderr.count("wording_cut.vireo"), 1)

    def test_inspect_names_open_dimensions(self):
        self.assertIn("depends on open dimensions (convert with --bound NAME=8 to bound them): batch\n", vireo("inspect", self.path).stdout)

    def test_tune_says_where_there_is_no_choice(self):
        arguments = ("tune", self.path, "--seconds", "0.1", "--threads", "1", "-o", support.WORK / "wording.json")
        told = json.loads(support.vireo(*arguments, "--json").stdout)
        text = vireo(*arguments).stdout
        self.assertEqual("each with one kernel here" in text, told["measured"] + told["too_small"] == 0, text)

    def test_a_verb_that_is_an_option(self):
        self.assertIn("did you mean convert --report?", vireo("report", "model.onnx").stderr)


class Bench(unittest.TestCase):
    def test_spread(self):
        model = support.convert(MODELS / "digit_mobile.onnx", "command_line", "--shape", "image=1,1,32,32")
        text = support.vireo("bench", model, "--seconds", "0.1").stdout
        self.assertRegex(text, r"median [\d.]+ ms over \d+ runs")
        self.assertRegex(text, r"spread: min [\d.]+ ms, p10 [\d.]+ ms, p90 [\d.]+ ms, p95 [\d.]+ ms, max [\d.]+ ms")
        figures = json.loads(support.vireo("bench", model, "--seconds", "0.1", "--json").stdout)
        order = [figures[key] for key in ("min_ms", "p10_ms", "median_ms", "p90_ms", "p95_ms", "max_ms")]
        self.assertEqual(order, sorted(order))


# Starts a program and prints its peak of resident memory. A small process does it: a child's peak counts what its parent holds.
PEAK = "import os,sys; p = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ); _, s, r = os.wait4(p, 0); print(s, r.ru_maxrss)"


def peak_of_conversion(path):
    """Bytes above what the program takes by itself."""
    def peak(*words):
        done = subprocess.run([sys.executable, "-S", "-c", PEAK, support.VIREO, *map(str, words)], capture_output=True, text=True, check=True)
        status, kib = done.stdout.split()[-2:]
        if status != "0":
            raise AssertionError(done.stderr)
        return int(kib) * 1024
    return peak("convert", path, "-o", ROOM / f"{path.stem}.vireo") - peak("--version")


class Forests(unittest.TestCase):
    @unittest.skipIf(REASON, REASON)
    def test_trees_count_as_weights(self):
        import onnx
        from onnx import TensorProto, helper
        trees = 50
        nodes = {"nodes_treeids": [t for t in range(trees) for _ in range(3)], "nodes_nodeids": [0, 1, 2] * trees,
                 "nodes_featureids": [0, 0, 0] * trees, "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"] * trees,
                 "nodes_values": [x for t in range(trees) for x in (t / trees, 0.0, 0.0)], "nodes_truenodeids": [1, 0, 0] * trees,
                 "nodes_falsenodeids": [2, 0, 0] * trees, "target_treeids": [t for t in range(trees) for _ in range(2)],
                 "target_nodeids": [1, 2] * trees, "target_ids": [0, 0] * trees, "target_weights": [float(t) for t in range(2 * trees)], "n_targets": 1}
        node = helper.make_node("TreeEnsembleRegressor", ["x"], ["y"], domain="ai.onnx.ml", **nodes)
        graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2])],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 1])])
        path = ROOM / "forest.onnx"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)], ir_version=9), path)
        report = json.loads(support.vireo("convert", path, "-o", ROOM / "forest.vireo", "--json").stdout)
        facts = json.loads(support.vireo("inspect", ROOM / "forest.vireo", "--json").stdout)
        least = trees * (4 + 8 + 2 * 4)  # a threshold, two children, two votes
        for weights in (report["constant_bytes"], facts["weight_bytes"]):
            self.assertGreater(weights, least)
            self.assertLess(weights, facts["file_bytes"])

    @unittest.skipIf(REASON, REASON)
    @unittest.skipIf(support.PRELOAD, "a sanitizer's own memory is part of what a process holds")
    def test_memory_of_a_conversion(self):
        """A file that is one node: protobuf's lists of it take three to four times the file; the importer takes them one by one."""
        import onnx
        from onnx import TensorProto, helper
        trees, leaves = 600, 128
        inner, of_tree = leaves - 1, range(2 * leaves - 1)
        each = {"nodes_nodeids": of_tree, "nodes_featureids": [i % 50 if i < inner else 0 for i in of_tree],
                "nodes_modes": ["BRANCH_LEQ" if i < inner else "LEAF" for i in of_tree], "nodes_values": [i / 100 for i in of_tree],
                "nodes_truenodeids": [2 * i + 1 if i < inner else 0 for i in of_tree], "nodes_falsenodeids": [2 * i + 2 if i < inner else 0 for i in of_tree],
                "nodes_hitrates": [1.0 for _ in of_tree], "nodes_missing_value_tracks_true": [0 for _ in of_tree],
                "target_nodeids": of_tree[inner:], "target_ids": [0] * leaves, "target_weights": [i / 7 for i in range(leaves)]}
        lists = {name: list(values) * trees for name, values in each.items()}
        lists["nodes_treeids"] = [tree for tree in range(trees) for _ in of_tree]
        lists["target_treeids"] = [tree for tree in range(trees) for _ in range(leaves)]
        node = helper.make_node("TreeEnsembleRegressor", ["x"], ["y"], domain="ai.onnx.ml", n_targets=1, **lists)
        graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 50])],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 1])])
        path = ROOM / "large_forest.onnx"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)], ir_version=9), path)

        self.assertLess(peak_of_conversion(path), 4.5 * path.stat().st_size)


class WidenedWeights(unittest.TestCase):
    @unittest.skipIf(support.PRELOAD, "a sanitizer's own memory is part of what a process holds")
    def test_memory_of_a_conversion(self):
        """Weights of 16 bits become float32, twice the file, and each is let go once it is widened."""
        path = support.SHARED / "trained" / "lm" / "lm_main.onnx"
        self.assertLess(peak_of_conversion(path), 3.4 * path.stat().st_size)


class Progress(unittest.TestCase):
    """Only on a terminal."""

    def on_a_terminal(self, *arguments):
        main, side = pty.openpty()
        with subprocess.Popen([support.VIREO, *map(str, arguments)], stdout=subprocess.DEVNULL, stderr=side, env=support.PROGRAM_ENVIRONMENT) as process:
            os.close(side)
            said = b""
            while True:
                try:
                    piece = os.read(main, 65536)
                except OSError:  # the other end is closed
                    break
                if not piece:
                    break
                said += piece
            process.wait()
        os.close(main)
        return said.decode()

    def test_says_what_is_left(self):
        model = support.convert(MODELS / "digit_mobile.onnx", "command_line", "--shape", "image=1,1,32,32")
        said = self.on_a_terminal("bench", model, "--seconds", "1.5")
        self.assertRegex(said, r"\d+ %, \d+ s left")

    def test_quantizing_goes_tensor_by_tensor(self):
        said = self.on_a_terminal("convert", MODELS / "kws_gru.onnx", "-o", ROOM / "int4.vireo", "--quantize", "int4")
        self.assertIn("optimise, ", said)
        self.assertRegex(said, r"quantize to int4: \d+ %, \S+")

    def test_nothing_elsewhere(self):
        model = support.convert(MODELS / "digit_mobile.onnx", "command_line", "--shape", "image=1,1,32,32")
        self.assertEqual(support.vireo("bench", model, "--seconds", "0.2").stderr, "")


class Completion(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.files = ROOM / "files"
        (cls.files / "folder").mkdir(parents=True, exist_ok=True)
        for name in ("one.vireo", "two.onnx", "three.txt", "four.npz"):
            (cls.files / name).write_text("")

    def bash(self, *words):
        script = support.vireo("completion", "bash").stdout
        quoted = " ".join(f"'{word}'" for word in words)
        script += f"\nCOMP_WORDS=(vireo {quoted}); COMP_CWORD={len(words)}; _vireo; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True, cwd=self.files)
        self.assertEqual(done.stderr, "")
        return set(done.stdout.split())

    @unittest.skipUnless(shutil.which("bash"), "bash is not installed")
    def test_bash(self):
        self.assertEqual(self.bash("verify-"), {"verify-signature"})
        self.assertEqual(self.bash("run", "--pack"), {"--packing"})
        self.assertEqual(self.bash("run", "m.vireo", "--packing", ""), {"default", "always", "never"})
        self.assertEqual(self.bash("run", "m.vireo", "--packing", "=", "al"), {"always"})
        self.assertEqual(self.bash("convert", "m.onnx", "--quantize", "int"), {"int4", "int8", "int8-dynamic", "int8-weights"})
        self.assertIn("mcu", self.bash("check", "m.onnx", "--target", ""))
        self.assertEqual(self.bash("completion", ""), {"bash", "zsh", "fish"})
        self.assertEqual(self.bash("help", "conv"), {"convert"})

    @unittest.skipUnless(shutil.which("bash"), "bash is not installed")
    def test_bash_files(self):
        self.assertEqual(self.bash("run", ""), {"one.vireo", "two.onnx", "folder"})
        self.assertEqual(self.bash("convert", ""), {"two.onnx", "folder"})
        self.assertEqual(self.bash("verify", "one.vireo", ""), {"one.vireo", "two.onnx", "four.npz", "folder"})
        self.assertEqual(self.bash("run", "one.vireo", "--input", "image", "=", "th"), {"three.txt"})
        self.assertEqual(self.bash("check", "two.onnx", "--reproduce", ""), {"folder"})

    @unittest.skipUnless(shutil.which("bash"), "bash is not installed")
    def test_bash_knows_what_the_help_knows(self):
        for verb in verbs():
            options = set(re.findall(r"(?m)^  (?:-\w,)?(--[a-z-]+)", vireo("help", verb).stdout))
            self.assertLessEqual(options, self.bash(verb, "--"), verb)

    def test_zsh_and_fish_offer_the_same(self):
        zsh, fish = (support.vireo("completion", shell).stdout for shell in ("zsh", "fish"))
        for part in ("compadd -- always default never", "_files -g '*.(vireo|onnx)'", "compadd -- bf16 fp16 int4 int8-weights int8-dynamic"):
            self.assertIn(part, zsh)
        for part in ("-l packing -r -a 'always default never' -f", "__fish_complete_suffix .vireo; __fish_complete_suffix .onnx"):
            self.assertIn(part, fish)
        for shell, script in (("zsh", zsh), ("fish", fish)):
            if shutil.which(shell):
                path = pathlib.Path(self.files) / f"script.{shell}"
                path.write_text(script)
                done = subprocess.run([shell, "-n", path], capture_output=True, text=True, check=False, env=support.PROGRAM_ENVIRONMENT)
                self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    support.main()
