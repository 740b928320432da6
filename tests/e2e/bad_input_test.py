"""What a user can get wrong: each is one clear error, exit status not 0, nothing half-written."""
import os
import pathlib
import shutil
import socket
import subprocess
import unittest

import support

MODELS = support.ROOT / "samples" / "models"
MEDIA = support.ROOT / "samples" / "media"


class BadInput(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.onnx = MODELS / "kws_dscnn_mfcc.onnx"
        cls.reference = MODELS / "kws_dscnn_mfcc.npz"
        cls.file = support.convert(cls.onnx, "bad_words", "--shape", "features=1,1,49,10")
        cls.room = support.WORK / "bad"
        shutil.rmtree(cls.room, ignore_errors=True)
        cls.room.mkdir(parents=True)

    def refused(self, *arguments, says=()):
        """The verb fails, not by a signal, with a line that begins with error and holds each of `says`."""
        before = sorted(self.room.rglob("*"))
        done = support.vireo(*arguments, check=False, seconds=300)
        self.assertIn(done.returncode, (1, 2), done.stderr)
        self.assertRegex(done.stderr, r"(?m)^error")
        for text in says:
            self.assertIn(text, done.stderr)
        self.assertEqual(sorted(self.room.rglob("*")), before, "something was left behind")
        return done

    def test_onnx_cut_or_random(self):
        whole = self.onnx.read_bytes()
        out = self.room / "out.vireo"
        for name, content in {"empty": b"", "tiny": whole[:10], "half": whole[:len(whole) // 2], "random": bytes(range(256)) * 40}.items():
            path = self.room / f"{name}.onnx"
            path.write_bytes(content)
            with self.subTest(name):
                self.refused("convert", path, "-o", out, says=[f"{name}.onnx"])

    def test_inputs_with_values_in_the_file(self):
        """`k` has a value: it is a constant, and every verb that takes the file can keep it as an input."""
        reason = support.missing("numpy", "onnx")
        if reason:
            self.skipTest(reason)
        import numpy as np
        import onnx
        from onnx import helper, numpy_helper
        value = helper.make_tensor_value_info
        graph = helper.make_graph([helper.make_node("Mul", ["x", "k"], ["y"])], "g", [value("x", 1, [2]), value("k", 1, [2])], [value("y", 1, [2])],
                                  [numpy_helper.from_array(np.float32([1, 2]), "k")])
        model, x = self.room / "defaults.onnx", self.room / "x.npy"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), model)
        np.save(x, np.float32([3, 4]))
        self.assertIn("VC0218", support.vireo("run", model, "--input", f"x={x}").stderr)
        self.refused("run", model, "--input", f"x={x}", "--input", f"k={x}", says=["has no input 'k'", "--keep-input k"])
        done = support.vireo("run", model, "--keep-input", "k", "--input", f"x={x}", "--input", f"k={x}", "--json")
        self.assertIn("16", done.stdout)
        file = support.convert(model, "defaults", "--keep-input", "k")
        support.vireo("run", file, "--input", f"x={x}", "--input", f"k={x}")

    def test_text_that_is_longer_than_is_reserved(self):
        """--string-bytes is an option of every verb that converts."""
        reason = support.missing("numpy", "onnx")
        if reason:
            self.skipTest(reason)
        import numpy as np
        import onnx
        from onnx import TensorProto, helper
        value = helper.make_tensor_value_info
        graph = helper.make_graph([helper.make_node("StringConcat", ["a", "b"], ["y"])], "g",
                                  [value(n, TensorProto.STRING, [1]) for n in "ab"], [value("y", TensorProto.STRING, [1])])
        model, text, reference = self.room / "text.onnx", self.room / "text.npy", self.room / "text.npz"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), model)
        long = np.array(["a" * 300])
        np.save(text, long)
        np.savez(reference, c0_in0=long, c0_in1=long, c0_out0=np.array(["a" * 600]))
        inputs = ["--input", f"a={text}", "--input", f"b={text}"]
        self.refused("run", model, *inputs, says=["--string-bytes"])
        self.refused("verify", model, reference, says=["--string-bytes"])
        support.vireo("run", model, *inputs, "--string-bytes", "600")
        support.vireo("verify", model, reference, "--string-bytes", "600")

    def test_vireo_cut_short(self):
        whole = self.file.read_bytes()
        path = self.room / "cut.vireo"
        for size in (0, 7, 64, 127, 128, 1000, len(whole) // 2, len(whole) - 33, len(whole) - 1):
            path.write_bytes(whole[:size])
            with self.subTest(size):
                self.refused("inspect", path, says=["cut.vireo"])
        path.write_bytes(whole + b"\0")
        self.refused("inspect", path)

    def test_vireo_with_a_byte_changed(self):
        whole = self.file.read_bytes()
        path = self.room / "changed.vireo"
        step = max(1, len(whole) // 97)  # a prime number of places, header and padding among them
        for at in [*range(0, 128, 5), *range(128, len(whole), step), len(whole) - 1][::support.SAMPLE]:
            bad = bytearray(whole)
            bad[at] ^= 0x10
            path.write_bytes(bad)
            with self.subTest(at):
                self.refused("run", path, "--input", "features=none.npy")
                self.refused("verify", path, self.reference)

    def test_missing_files_and_folders(self):
        missing = self.room / "none.onnx"
        self.refused("convert", missing, "-o", self.room / "x.vireo", says=["none.onnx"])
        self.refused("run", self.room / "none.vireo", says=["none.vireo"])
        self.refused("verify", self.file, self.room / "none.npz", says=["none.npz"])
        self.refused("run", self.file, "--input", f"features={self.room / 'none.npy'}", says=["none.npy"])
        self.refused("convert", self.onnx, "-o", self.room / "no_folder" / "x.vireo", says=["no_folder", "create the folder"])
        self.refused("convert", self.onnx, "-o", self.room, says=[str(self.room)])
        self.refused("conformance", self.room / "none", says=["none"])
        loop = self.room / "loop"
        loop.symlink_to("loop")  # as a folder that may not be looked at: also root may not
        self.addCleanup(loop.unlink)
        for arguments in (("conformance", loop), ("keygen", loop / "maker")):
            done = self.refused(*arguments, says=["cannot read", str(arguments[1]), "help:"])
            self.assertNotIn("filesystem error", done.stderr)
        support.vireo("run", self.file, "--input", f"features={self.features()}", environment={"XDG_CACHE_HOME": loop})

    def test_what_is_no_regular_file(self):
        """Nobody writes to the FIFO, and /dev/zero never ends: what waits for either never comes back."""
        fifo, place, beside = self.room / "fifo", self.room / "socket", self.room / "beside.onnx"
        os.mkfifo(fifo)
        self.addCleanup(fifo.unlink)
        listener = socket.socket(socket.AF_UNIX)
        self.addCleanup(listener.close)
        os.chdir(self.room)  # a socket's path is a hundred bytes long at most
        self.addCleanup(os.chdir, support.ROOT)
        listener.bind("socket")
        self.addCleanup(place.unlink)
        out = self.room / "out.vireo"
        for path in (fifo, place, pathlib.Path("/dev/zero"), self.room):
            with self.subTest(path.name):
                self.refused("convert", path, "-o", out, says=[path.name])
                self.refused("check", path, says=[path.name])
                self.refused("inspect", path, says=[path.name])
                self.refused("run", path, says=[path.name])
                self.refused("run", self.file, "--input", f"features={path}", says=[path.name])
                self.refused("verify", self.file, path, says=[path.name])
                self.refused("pack", path, "-o", out, says=[path.name])
                self.refused("convert", self.onnx, "-o", out, "--target", path, says=[path.name])
        if reason := support.missing("onnx"):
            self.skipTest(reason)
        import onnx
        weights = onnx.TensorProto(name="w", data_type=onnx.TensorProto.FLOAT, dims=[4], data_location=onnx.TensorProto.EXTERNAL)
        weights.external_data.add(key="location", value="fifo")
        x, y = (onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [4]) for name in "xy")
        graph = onnx.helper.make_graph([onnx.helper.make_node("Add", ["x", "w"], ["y"])], "g", [x], [y], [weights])
        beside.write_bytes(onnx.helper.make_model(graph).SerializeToString())
        self.refused("convert", beside, "-o", out, says=["fifo", "not a regular file"])

    def test_output_cannot_be_written(self):
        sound = MEDIA / "yes_1.wav"
        front = support.convert(MODELS / "kws_frontend.onnx", "bad_front", "--shape", "audio=1,16000")
        self.refused("run", front, "--input", f"audio={sound}", "--output", self.room / "no_folder" / "x.npz", says=["no_folder"])
        if os.path.isdir("/proc/self"):  # where not even root can make a file
            self.refused("convert", self.onnx, "-o", "/proc/self/x.vireo", says=["/proc/self/x.vireo"])
            self.refused("run", front, "--input", f"audio={sound}", "--output", "/proc/self/x.npz", says=["/proc/self/x.npz"])
        if os.geteuid() != 0:
            locked = self.room / "locked"
            locked.mkdir()
            locked.chmod(0o500)
            self.refused("convert", self.onnx, "-o", locked / "x.vireo", says=["locked"])
            locked.chmod(0o700)

    def test_disk_full(self):
        # A file size limit fails in write() as a full disk does.
        out = self.room / "full.vireo"
        done = subprocess.run(["sh", "-c", 'ulimit -f 8; trap "" XFSZ; exec "$0" convert "$1" -o "$2"', support.VIREO, str(self.onnx), str(out)],
                              capture_output=True, text=True, check=False, env=support.PROGRAM_ENVIRONMENT)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stderr, r"(?m)^error")
        self.assertEqual([p.name for p in self.room.iterdir() if "full" in p.name], [])
        if os.path.exists("/dev/full"):
            with open("/dev/full", "w") as full:
                done = subprocess.run([support.VIREO, "inspect", str(self.file)], stdout=full, stderr=subprocess.PIPE, text=True, check=False,
                                      env=support.PROGRAM_ENVIRONMENT)
            self.assertEqual(done.returncode, 1)
            self.assertIn("error", done.stderr)

    def test_more_than_is_allowed(self):
        out = self.room / "out.vireo"
        self.refused("convert", self.onnx, "-o", out, "--max-seconds", 1e-6, says=["not done after 1e-06 seconds", "--max-seconds"])
        self.refused("check", self.onnx, "--max-seconds", 1e-6, says=["not done after"])
        if not support.PRELOAD:  # a sanitizer's own memory would be counted
            self.refused("convert", self.onnx, "-o", out, "--max-memory", 0.001, says=["memory"])
        support.vireo("convert", self.onnx, "-o", out, "--max-seconds", 600, "--max-memory", 1)
        out.unlink()

    def test_nothing_is_written_means_nothing(self):
        """What is refused late is refused before --emit-onnx replaces a file."""
        kept = self.room / "kept.onnx"
        kept.write_bytes(b"of before")
        for more in (("-o", self.room / "late.vireo"), ()):
            self.refused("convert", self.onnx, *more, "--emit-onnx", kept, "--state", "nope=nope", says=["nope"])
        self.assertEqual(kept.read_bytes(), b"of before")
        self.assertFalse((self.room / "late.vireo").exists())
        kept.unlink()

    def test_options_without_use_are_named(self):
        out = self.room / "out.vireo"
        self.refused("convert", self.onnx, "-o", out, "--test-atol", "1e-3", says=["--embed-tests"])
        self.refused("convert", self.onnx, "-o", self.room / "out.onnx", says=["out.onnx", "--emit-onnx"])
        done = support.vireo("convert", self.onnx, "-o", out, "--elements", "featurse=3")
        self.assertIn("featurse", done.stderr)
        out.unlink()

    def test_the_source_is_kept(self):
        whole = self.onnx.read_bytes()
        model = self.room / "model.onnx"
        model.write_bytes(whole)
        for more in (("-o", model), ("--emit-onnx", model), ("-o", self.room / "a.html", "--report", self.room / "a.html")):
            with self.subTest(more):
                self.refused("convert", model, *more, says=["output"])
        self.assertEqual(model.read_bytes(), whole)

    def test_wrong_inputs(self):
        self.refused("run", self.file, says=["features"])
        self.refused("run", self.file, "--input", f"sound={MEDIA / 'yes_1.wav'}", says=["sound", "features"])
        self.refused("run", self.file, "--input", f"features={MEDIA / 'digits_1.png'}", says=["features"])
        self.refused("run", self.file, "--input", f"features={self.onnx}", says=["kws_dscnn_mfcc.onnx"])
        self.refused("verify", self.file, MODELS / "kws_gru.npz", says=["features", "kws_gru.npz"])
        one = f"features={self.reference}"
        self.refused("run", self.file, "--input", one, "--input", one)
        self.refused("run", self.file, "--input", "features", says=["--input features=FILE"])
        self.refused("run", self.file, self.reference, says=[f"did you mean --input {self.reference}?"])
        empty = self.room / "empty.npy"
        empty.touch()
        self.addCleanup(empty.unlink)
        self.refused("run", self.file, "--input", f"features={empty}", says=["empty.npy is empty"])

    def test_wrong_arrays(self):
        reason = support.missing("numpy")
        if reason:
            self.skipTest(reason)
        import numpy
        path = self.room / "x.npy"
        for name, array in {"type": numpy.zeros((1, 1, 49, 10)), "shape": numpy.zeros((1, 1, 49, 11), numpy.float32),
                            "rank": numpy.zeros(490, numpy.float32)}.items():
            numpy.save(path, array)
            with self.subTest(name):
                self.refused("run", self.file, "--input", f"features={path}", says=["features", "x.npy"])
        numpy.save(path, numpy.array([{"a": 1}], dtype=object), allow_pickle=True)
        self.refused("run", self.file, "--input", f"features={path}", says=["pickle"])

    def test_errors_of_runs_name_the_place(self):
        """A node in a body, a tensor that is above its bound, a tensor whose dimension was bound wrongly."""
        reason = support.missing("numpy", "onnx")
        if reason:
            self.skipTest(reason)
        import numpy as np
        import onnx
        from onnx import TensorProto as T, helper as h
        value = h.make_tensor_value_info
        pick = h.make_graph([h.make_node("Gather", ["x", "i"], ["picked"], name="pick")], "then", [], [value("picked", T.FLOAT, None)])
        keep = h.make_graph([h.make_node("Neg", ["x"], ["kept"], name="keep")], "else", [], [value("kept", T.FLOAT, None)])
        nodes = [h.make_node("If", ["flag"], ["y"], name="choose", then_branch=pick, else_branch=keep),
                 h.make_node("Range", ["zero", "last", "one"], ["count"], name="counter"), h.make_node("Neg", ["count"], ["z"], name="turn")]
        graph = h.make_graph(nodes, "places", [value("x", T.FLOAT, ["n", 4]), value("i", T.INT64, ["k"]), value("flag", T.BOOL, []), value("last", T.INT64, [])],
                             [value("y", T.FLOAT, None), value("z", T.INT64, ["m"])], [h.make_tensor("zero", T.INT64, [], [0]), h.make_tensor("one", T.INT64, [], [1])])
        path = support.WORK / "places.onnx"
        onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), path)
        file = support.convert(path, "places", "--shape", "x=1..8,4", "--no-optimize")

        def run(last=3, index=1, flag=True):
            inputs = {"x": np.ones((3, 4), np.float32), "i": np.array([index, 0]), "flag": np.array(flag), "last": np.array(last)}
            for name, array in inputs.items():
                np.save(support.WORK / f"places_{name}.npy", array)
            return ("run", file, *(part for name in inputs for part in ("--input", f"{name}={support.WORK}/places_{name}.npy")))
        support.vireo(*run())
        self.refused(*run(index=9), says=["node: choose/pick\n"])
        self.refused(*run(last=300), "--bound", "counter.size=256", says=["node: counter\n", "tensor: count\n"])
        self.refused("explain", file, "--bound", "n=1..900", says=["tensor: x\n"])

    def test_open_dimension(self):
        file = support.convert(self.onnx, "bad_open")
        self.assertEqual(support.vireo("inspect", file).returncode, 0)
        reason = support.missing("numpy")
        if reason:
            self.skipTest(reason)
        support.verify(file, self.reference)  # taken from the inputs that are given

    def test_command_line(self):
        for arguments in ([], ["fly"], ["convert"], ["convert", self.onnx], ["run", self.file, "--devices", "x"],
                          ["bench", self.file, "--seconds", "soon"], ["verify", self.file, self.reference, "--atol", "-1"]):
            with self.subTest(arguments):
                self.refused(*arguments)
        self.refused("fly", self.file, says=["fly"])
        self.refused(self.file, says=[f"vireo VERB {self.file}"])
        self.refused("bench", self.file, "--seconds", "nan", says=["nan is no number"])
        self.refused("verify", self.file, self.reference, "--atol", "nan", says=["nan is no number"])
        self.refused("verify", self.file, says=["REF.npz", "--placements"])
        done = self.refused("pack", self.onnx, "-o", self.room / "x.vireo", says=["is not a .vireo file", "vireo convert"])
        self.assertNotIn("built without", done.stderr)
        self.refused("convert", self.onnx, "-o", self.room / "x.vireo", "--quantize", "int8", says=["sample data", "--calibrate"])
        # What is not built is refused by name.
        self.refused("convert", self.onnx, "-o", self.room / "x.vireo", "--target", "cortex-m4", says=["cannot run the model", "--shape features=1"])
        for devices, absent in (("toaster", "toaster"), ("cpu,toaster", "toaster"), ("toaster,cpu", "toaster"), ("cpu,", ""), (",cpu", ""), ("cp", "cp"),
                                ("cpus", "cpus")):
            self.refused("run", self.file, "--device", devices, "--input", f"features={self.slice()}", says=[f'no device "{absent}" here'])

    def slice(self):
        path = support.WORK / "one.npz"
        support.vireo("run", support.convert(MODELS / "kws_dscnn_mfcc.onnx", "bad_slice"), "--input", f"features={self.features()}", "--output", path)
        return self.features()

    def features(self):
        """One input of the right shape, written without numpy: a .npy file of zeros."""
        path = support.WORK / "features.npy"
        header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, 49, 10), }".ljust(117) + "\n"
        path.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + bytes(490 * 4))
        return path

    def test_signature_and_shape_options(self):
        out = self.room / "x.vireo"
        self.refused("convert", self.onnx, "-o", out, "--shape", "features=1,1,49", says=["features"])
        self.refused("convert", self.onnx, "-o", out, "--shape", "nothing=1", says=["nothing"])
        self.refused("convert", self.onnx, "-o", out, "--shape", "features=a,b", says=["--shape"])
        self.refused("convert", self.onnx, "-o", out, "--shape", "batch=8", says=["--bound batch=8"])
        support.vireo("convert", self.onnx, "-o", out, "--bound", "batch=8")
        out.unlink()
        signature = self.room / "s.json"
        signature.write_text('{"inputs": [{"name": "features", "meaning": "smell"}]}')
        self.refused("convert", self.onnx, "-o", out, "--signature", signature, says=["smell"])
        signature.write_text('{"inputs": [{"name": "nothing", "meaning": "image"}]}')
        self.refused("convert", self.onnx, "-o", out, "--signature", signature, says=["nothing"])


reason = support.missing("numpy", "onnx")


@unittest.skipIf(reason, reason)
class BadGraph(unittest.TestCase):
    """Graphs that no exporter should write."""

    def refused(self, model, *says, folder=None):
        import onnx
        room = pathlib.Path(folder or support.WORK / "graphs")
        room.mkdir(parents=True, exist_ok=True)
        path, out = room / "model.onnx", room / "model.vireo"
        path.write_bytes(model.SerializeToString() if isinstance(model, onnx.ModelProto) else model)
        done = support.vireo("convert", path, "-o", out, check=False)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stderr, r"(?m)^error VC\d{4}")
        for text in says:
            self.assertIn(text, done.stderr)
        self.assertFalse(out.exists())

    def model(self, nodes, inputs, outputs, initializers=(), opset=17):
        from onnx import helper
        return helper.make_model(helper.make_graph(nodes, "g", inputs, outputs, list(initializers)),
                                 opset_imports=[helper.make_opsetid("", opset)], ir_version=8)

    def value(self, name, shape, dtype=1):
        from onnx import helper
        return helper.make_tensor_value_info(name, dtype, shape)

    def test_unknown_operator_and_opset(self):
        from onnx import helper
        x, y = self.value("x", [2]), self.value("y", [2])
        self.refused(self.model([helper.make_node("Frobnicate", ["x"], ["y"], name="odd")], [x], [y]), "Frobnicate", "odd")
        self.refused(self.model([helper.make_node("Relu", ["x"], ["y"])], [x], [y], opset=999), "999")

    def test_two_inputs_with_one_name(self):
        from onnx import helper
        self.refused(self.model([helper.make_node("Relu", ["x"], ["y"])], [self.value("x", [2]), self.value("x", [2])], [self.value("y", [2])]), "x")

    def test_cycle_and_missing_value(self):
        from onnx import helper
        x, y = self.value("x", [2]), self.value("y", [2])
        self.refused(self.model([helper.make_node("Add", ["x", "b"], ["a"]), helper.make_node("Relu", ["a"], ["b"]),
                                 helper.make_node("Relu", ["b"], ["y"])], [x], [y]), "cycle")
        self.refused(self.model([helper.make_node("Add", ["x", "nowhere"], ["y"])], [x], [y]), "nowhere")

    def test_shape_that_overflows(self):
        from onnx import helper
        huge = [1 << 40, 1 << 40]
        self.refused(self.model([helper.make_node("Relu", ["x"], ["y"])], [self.value("x", huge)], [self.value("y", huge)]))

    def test_inputs_that_a_node_cannot_take(self):
        """A Reshape to sizes for one image, run with two: the inputs are wrong, not the file. Where one number is all that its
        sizes leave, conversion says so and the input has it; else the run names the node."""
        import numpy
        from onnx import helper, numpy_helper
        room = support.WORK / "graphs"
        room.mkdir(parents=True, exist_ok=True)
        for dims, right, wrong in ((["n", 3, 4], (1, 3, 4), (2, 3, 4)), (["n", "m", 4], (3, 1, 4), (2, 3, 4))):
            model = self.model([helper.make_node("Reshape", ["x", "to"], ["y"], name="flatten")], [self.value("x", dims)],
                               [self.value("y", [1, 12])], [numpy_helper.from_array(numpy.int64([1, 12]), "to")])
            (room / "baked.onnx").write_bytes(model.SerializeToString())
            converted = support.vireo("convert", room / "baked.onnx", "-o", room / "baked.vireo")
            held = "m" not in dims
            self.assertEqual("VC0216" in converted.stderr and '"flatten"' in converted.stderr, held, converted.stderr)
            for shape, status in ((right, 0), (wrong, 1)):
                numpy.save(room / "x.npy", numpy.zeros(shape, numpy.float32))
                done = support.vireo("run", room / "baked.vireo", "--input", f"x={room / 'x.npy'}", check=False)
                self.assertEqual(done.returncode, status, done.stderr)
            self.assertIn("'x'" if held else '"flatten"', done.stderr)
            self.assertNotIn("damaged", done.stderr)

    def test_external_data(self):
        import onnx
        from onnx import helper
        for place in ("missing.bin", "../../../../../../etc/hostname", "/etc/hostname"):
            weight = onnx.TensorProto(name="w", data_type=1, dims=[2], data_location=onnx.TensorProto.EXTERNAL)
            weight.external_data.add(key="location", value=place)
            with self.subTest(place):
                self.refused(self.model([helper.make_node("Add", ["x", "w"], ["y"])], [self.value("x", [2])], [self.value("y", [2])], [weight]),
                             place)

    def test_every_problem_is_listed_at_once(self):
        from onnx import helper
        nodes = [helper.make_node("Frob", ["x"], ["a"], name="first"), helper.make_node("Nicate", ["a"], ["y"], name="second")]
        self.refused(self.model(nodes, [self.value("x", [2])], [self.value("y", [2])]), "first", "second")

    def test_one_array_for_a_map(self):
        """ZipMap's result is two outputs, keys and values: verify and convert say so where a reference has one array."""
        import numpy as np
        import onnx
        from onnx import TensorProto, helper
        zipped = helper.make_node("ZipMap", ["p"], ["m"], domain="ai.onnx.ml", classlabels_int64s=[4, 7])
        kind = helper.make_sequence_type_proto(helper.make_map_type_proto(TensorProto.INT64, helper.make_tensor_type_proto(TensorProto.FLOAT, [])))
        graph = helper.make_graph([zipped], "map", [self.value("p", [1, 2])], [helper.make_value_info("m", kind)])
        path, reference = support.WORK / "bad_map.onnx", support.WORK / "bad_map.npz"
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
        p = np.array([[0.25, 0.75]], np.float32)
        np.savez(reference, c0_in0=p, c0_out0=p)
        done = support.vireo("verify", support.convert(path, "bad_map"), reference, check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn('the map "m" is two outputs, "m.keys" and "m.values"', " ".join(done.stdout.split()))
        done = support.vireo("convert", path, "-o", support.WORK / "bad_map2.vireo", "--embed-tests", reference, check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("m.keys, m.values", done.stderr)


if __name__ == "__main__":
    support.main()
