"""The Python wheel of a build: made, installed into an empty environment without a network, then models are converted and run from there.

numpy is the one that the running Python has: the environment sees its site-packages (a .pth file, as --system-site-packages would do for
a system's), never this tree.
"""
import importlib.util
import json
import os
import re
import sys
import unittest
import zipfile

import support

VERSION = support.project_version()
try:
    import numpy
    reason = ""
except ImportError:
    reason = "Python has no module numpy (toolchains/bootstrap --for tests installs it)"
try:
    import ensurepip
except ImportError:
    reason = reason or "Python has no module ensurepip (python3-venv)"
reason = reason or support.missing("readelf")

RUN = """
import json, sys
import numpy as np
import vireo
model, stored, out = sys.argv[1:]
data = np.load(stored)
model = vireo.Model(vireo.convert(model, out, embed_tests=stored))
compared = 0
for case in range(100):
    inputs = [data[f"c{case}_in{i}"] for i in range(len(model.inputs)) if f"c{case}_in{i}" in data]
    if not inputs:
        break
    with model.session(model.bounds_for(*inputs)) as session:
        for i, got in enumerate(session.run(*inputs)):
            want = data[f"c{case}_out{i}"]
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5 * max(abs(want).max(), 1))
            compared += 1
print(json.dumps({"file": vireo.__file__, "version": vireo.version(), "program": str(vireo.program()), "compared": compared}))
"""


@unittest.skipIf(reason, reason)
class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.work = support.room("wheel")
        # PIP_NO_INDEX: with the back end of this tree nothing is looked for anywhere.
        cls.clean = {**{k: None for k in os.environ if k.startswith(("PIP_", "VIREO_", "PYTHON"))}, "PIP_NO_INDEX": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        # The pip at hand serves the environment, where there is one: giving it its own takes as long as all tests here.
        pip_at_hand = importlib.util.find_spec("pip") is not None
        support.run(sys.executable, "-m", "venv", *(["--without-pip"] if pip_at_hand else []), cls.work / "venv")
        cls.python = cls.work / "venv" / "bin" / "python"
        pip = [sys.executable, "-m", "pip", "--python", cls.python] if pip_at_hand else [cls.python, "-m", "pip"]
        support.run(*pip, "wheel", "--no-deps", "-w", cls.work / "dist", support.ROOT / "bindings" / "python",
                    environment={**cls.clean, "VIREO_BINARY_ROOT": str(support.BUILD)})
        cls.wheel, = (cls.work / "dist").glob("*.whl")
        site = support.run(cls.python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").stdout.strip()
        with open(os.path.join(site, "numpy_of_the_caller.pth"), "w", encoding="utf-8") as file:
            file.write(os.path.dirname(os.path.dirname(numpy.__file__)) + "\n")
        support.run(*pip, "install", "--no-index", "--find-links", cls.work / "dist", "vireo", environment=cls.clean)
        with zipfile.ZipFile(cls.wheel) as file:
            cls.metadata = file.read(f"vireo-{VERSION}.dist-info/METADATA").decode()
        glibc = re.search(r"glibc \(>=(.*)\)", cls.metadata).group(1)
        support.say(f"{cls.wheel.name}: {support.size(cls.wheel)}, glibc {glibc} or newer")

    def in_venv(self, program, *arguments, check=True):
        return support.run(self.python, "-c", program, *arguments, environment=self.clean, cwd=self.work, check=check)

    def test_tag_and_metadata(self):
        self.assertRegex(self.wheel.name, rf"^vireo-{re.escape(VERSION)}-py3-none-linux_\w+\.whl$")
        self.assertIn(f"\nVersion: {VERSION}\n", self.metadata)
        # What the files in the wheel link is what its metadata names, and nothing of the wheel lies in a folder of this machine.
        named = set(re.findall(r"Requires-External: (\S+\.so\S*)", self.metadata))
        site = self.work / "venv" / "lib"
        for name in ("lib/libvireo.so", "bin/vireo", "bin/vireo-probe"):
            file, = site.glob(f"python*/site-packages/vireo/{name}")
            told = support.run("readelf", "-d", file).stdout
            self.assertLessEqual(set(re.findall(r"NEEDED.*\[(.*)\]", told)) - {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}, named)
            self.assertNotRegex(told, r"RPATH|RUNPATH")
            self.assertTrue(os.access(file, os.X_OK) or name.startswith("lib"))

    def test_the_same_bytes_each_time(self):
        again = self.work / "again"
        support.run(sys.executable, "-B", support.ROOT / "bindings" / "python" / "backend.py", support.BUILD, again)
        self.assertEqual((again / self.wheel.name).read_bytes(), self.wheel.read_bytes())

    def test_a_build_that_is_not_there(self):
        done = support.run(sys.executable, "-B", support.ROOT / "bindings" / "python" / "backend.py", self.work / "nowhere", self.work / "never", check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("not built", done.stderr)
        self.assertFalse((self.work / "never").exists())

    def test_converts_and_runs_models(self):
        for name in ("digit_mobile", "kws_dscnn", "kws_gru", "kws_frontend"):
            with self.subTest(name):
                done = self.in_venv(RUN, support.MODELS / f"{name}.onnx", support.MODELS / f"{name}.npz", self.work / f"{name}.vireo")
                told = json.loads(done.stdout)
                self.assertIn(str(self.work / "venv"), told["file"])
                self.assertIn(str(self.work / "venv"), told["program"])
                self.assertEqual(told["version"], VERSION)
                self.assertGreater(told["compared"], 0)

    def test_errors_are_those_of_program_and_library(self):
        done = self.in_venv("""
import vireo
for call in (lambda: vireo.convert("no_such.onnx", "never.vireo"), lambda: vireo.convert(__import__("sys").argv[1], "never.vireo", shape="nothing=1"),
             lambda: vireo.Model("no_such.vireo"), lambda: vireo.Model(b"hello")):
    try:
        call()
        print("no error")
    except vireo.VireoError as error:
        print(type(error).__name__, "|", str(error).replace("\\n", " "))
""", support.MODELS / "digit_mobile.onnx")
        lines = done.stdout.splitlines()
        self.assertEqual([line.split()[0] for line in lines], ["ConvertError", "ConvertError", "VireoError", "VireoError"], done.stdout)
        for line, what in zip(lines, ("no_such.onnx", "nothing", "no_such.vireo", "")):
            self.assertIn(what, line)
        self.assertFalse((self.work / "never.vireo").exists())

    def test_the_command_line_comes_along(self):
        program = self.work / "venv" / "bin" / "vireo"
        self.assertIn(VERSION, support.run(program, "--version", environment=self.clean).stdout)
        self.assertNotEqual(support.run(program, "run", "no_such.vireo", environment=self.clean, check=False).returncode, 0)

    def test_plugins_find_their_probe(self):
        no_library = self.work / "no_library.so"
        no_library.write_text("hello")
        done = self.in_venv("import sys, vireo; print(vireo.Runtime(plugins=[sys.argv[1]], plugin_cache='').plugins[0].reason)", no_library)
        self.assertNotIn("no program vireo-probe", done.stdout)
        self.assertTrue(done.stdout.strip())

    def test_a_missing_library_of_the_system_is_named(self):
        damaged = self.work / "damaged"
        with zipfile.ZipFile(self.wheel) as file:
            file.extractall(damaged)
        (damaged / "vireo" / "lib" / "libvireo.so").write_bytes(b"\x7fELF")
        done = support.run(self.python, "-c", f"import sys; sys.path.insert(0, {str(damaged)!r}); import vireo", environment=self.clean, check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("Requires-External", done.stderr)

    def test_types(self):
        mypy = support.tool("mypy")  # its cache is kept from run to run: most of its time goes into numpy
        if mypy is None:
            self.skipTest("mypy is not installed (toolchains/bootstrap --for tests)")
        user = self.work / "user.py"
        user.write_text("import numpy as np\nimport vireo\n\nmodel = vireo.Model('a.vireo')\n"
                        "session = model.session({'batch': (1, 4)}, device='cpu', threads=2)\ny = session.run(np.zeros(3, np.float32))[0]\n"
                        "reveal_type(y)\nsession.run('text')\nmodel.session(threds=2)\nmodel.placement()[0].verdicts[0].time_ns + 1.5\n")
        done = support.run(mypy, "--strict", "--python-executable", self.python, "--cache-dir", support.WORK / "mypy", user, environment=self.clean,
                           cwd=self.work, check=False)
        self.assertIn("ndarray", done.stdout)
        wrong = sorted({int(line) for line in re.findall(r"user\.py:(\d+): error", done.stdout)})
        self.assertEqual(wrong, [8, 9], done.stdout)
        done = support.run(mypy, "--strict", "--python-executable", self.python, "--cache-dir", support.WORK / "mypy", "vireo",
                           cwd=support.ROOT / "bindings" / "python", check=False)
        self.assertEqual(done.returncode, 0, done.stdout)


if __name__ == "__main__":
    support.main()
