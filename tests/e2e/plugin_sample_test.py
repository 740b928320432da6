"""samples/plugin: a vendor's plug-in, built against an installed Vireo alone, runs what it takes of a model and gives the CPU's values.

The npu's driver sees no more of Vireo than a vendor does: its sources compile with the installed headers.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import unittest

import support

ROOM = support.room("plugin_sample")
PLUGIN = ROOM / "build" / "libtoy_dsp.so"


def run(*arguments, environment=None):
    done = subprocess.run([*map(str, arguments)], capture_output=True, text=True, check=False, env={**os.environ, **(environment or {})})
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, arguments))}\n{done.stdout}{done.stderr}")
    return done.stdout


def write_model(file):
    """Sums, products and signs of float32; a Sigmoid in the middle that the toy does not know, and a shape that it does not."""
    import numpy as np
    import onnx
    from onnx import TensorProto as T, helper as h
    weights = np.linspace(-2, 2, 4 * 40).astype(np.float32).reshape(4, 40)
    nodes = [h.make_node("Mul", ["x", "w"], ["a"]), h.make_node("Add", ["a", "x"], ["b"]), h.make_node("Relu", ["b"], ["c"]),
             h.make_node("Sigmoid", ["c"], ["d"]), h.make_node("Sub", ["d", "b"], ["e"]), h.make_node("Neg", ["e"], ["f"]),
             h.make_node("Abs", ["f"], ["g"]), h.make_node("Mul", ["g", "f"], ["y"]), h.make_node("Add", ["y", "row"], ["z"])]
    value = lambda name: h.make_tensor_value_info(name, T.FLOAT, [4, 40])
    graph = h.make_graph(nodes, "toy", [value("x")], [value("y"), value("z"), value("c")],
                         [onnx.numpy_helper.from_array(weights, "w"), onnx.numpy_helper.from_array(weights[:1], "row")])
    onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), file)


class PluginSample(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        reason = support.missing("numpy", "onnx")
        if not reason and shutil.which("cmake") is None:
            reason = "cmake is not installed"
        if not reason and not list(support.BUILD.glob("plugins/*.so")):
            reason = "this build is without plug-ins (VIREO_PLUGINS)"
        if not reason and re.search("^VIREO_NATIVE_KERNELS:BOOL=ON$", (support.BUILD / "CMakeCache.txt").read_text(), re.M):
            reason = "this build has kernels for one machine only and cannot be installed (VIREO_NATIVE_KERNELS)"
        if reason:
            raise unittest.SkipTest(reason)
        import numpy as np
        shutil.rmtree(ROOM, ignore_errors=True)
        ROOM.mkdir(parents=True)
        run("cmake", "--install", support.BUILD, "--prefix", ROOM / "installed")
        run("cmake", "-S", support.ROOT / "samples" / "plugin", "-B", ROOM / "build", f"-DCMAKE_PREFIX_PATH={ROOM / 'installed'}")
        run("cmake", "--build", ROOM / "build")
        np.save(ROOM / "x.npy", np.random.default_rng(3).standard_normal((4, 40), np.float32))
        write_model(ROOM / "toy.onnx")

    def test_the_kit(self):
        told = json.loads(support.vireo("delegate-test", PLUGIN, "--json", check=False).stdout)
        self.assertEqual([c for c in told["cases"] if c["status"] == "failed"], [])
        self.assertGreater(told["passed"], 20)

    def outputs(self, file, *options, **environment):
        import numpy as np
        support.vireo("run", file, "--input", f"x={ROOM / 'x.npy'}", "--output", ROOM / "out.npz", *options, environment=environment)
        with np.load(ROOM / "out.npz") as stored:
            return {k: stored[k] for k in stored.files}

    def test_symbols(self):
        out = run("nm", "-D", "--defined-only", PLUGIN)
        self.assertEqual([l.split()[-1] for l in out.splitlines()], ["vireo_delegate_open"])
        self.assertNotIn("libvireo", run("readelf", "-d", PLUGIN))

    def test_device(self):
        listed = json.loads(support.vireo("devices", "--json", "--plugins", PLUGIN).stdout)
        toy = next(d for d in listed["devices"] if d["name"] == "toy_dsp")
        self.assertEqual((toy["vendor"], toy["types"]), ("Example Devices", ["float32"]))

    def test_values_are_the_cpus(self):
        import numpy as np
        for name, options in (("plain", ["--no-optimize"]), ("optimised", [])):
            with self.subTest(name):
                file = support.convert(ROOM / "toy.onnx", f"plugin_{name}", *options)
                told = json.loads(support.vireo("explain", file, "--device", "toy_dsp,cpu", "--plugins", PLUGIN, "--json").stdout)
                there = [n for n in told["nodes"] if n["device"] == "toy_dsp"]
                left = {n["op"]: next(o["reason"] for o in n["others"] if o["device"] == "toy_dsp")
                        for n in told["nodes"] if n["device"] != "toy_dsp"}
                self.assertGreaterEqual(len(there), 1, told["nodes"])
                if name == "plain":
                    self.assertEqual(next(d for d in told["devices"] if d["device"] == "toy_dsp")["parts"], 2)
                    self.assertEqual(left, {"Sigmoid": "the toy DSP knows Abs, Add, Mul, Neg, Relu, Sub",
                                            "Add": "operands of other shapes than the result"})
                want = self.outputs(file, "--device", "cpu")
                got = self.outputs(file, "--device", "toy_dsp,cpu", "--plugins", PLUGIN)
                self.assertEqual(set(got), {"y", "z", "c"})
                for k, v in want.items():
                    np.testing.assert_array_equal(got[k], v)

    def test_the_npu_is_built_of_public_headers(self):
        tree = ROOM / "alone"
        shutil.copytree(support.ROOT / "delegates" / "npu", tree / "delegates" / "npu")
        reader = pathlib.Path("sdk") / "graph" / "graph_reader.h"  # which needs public headers only: a plug-in brings a copy
        (tree / reader).parent.mkdir(parents=True)
        shutil.copy(support.ROOT / reader, tree / reader)
        include = ROOM / "installed" / "include"
        flat = next((f for f in (support.BUILD / "deps" / "flatbuffers" / "include", pathlib.Path("/usr/include")) if (f / "flatbuffers").exists()), None)
        if flat is None:
            self.skipTest("FlatBuffers' headers are not where this test looks for them")
        # Through the compiler cache, where there is one; what was installed just now is known by its text.
        compiler = [*filter(None, [shutil.which("ccache")]), os.environ.get("CXX", "c++")]
        cached = {"CCACHE_BASEDIR": str(ROOM), "CCACHE_NOHASHDIR": "1", "CCACHE_SLOPPINESS": "include_file_mtime,include_file_ctime"}
        for file in sorted((tree / "delegates" / "npu" / "driver").glob("*.cc")):
            if file.stem.endswith("_test"):
                continue
            run(*compiler, "-std=c++17", "-c", f"-I{tree}", f"-I{include}", f"-I{include / 'vireo' / 'attributes'}", "-idirafter", flat, file,
                "-o", tree / (file.stem + ".o"), environment=cached)


if __name__ == "__main__":
    support.main()
