"""System calls going wrong one by one under each verb of the command line that reads and writes files: whatever fails, is
short, or ends the process, its outputs are whole or as they were before, nothing else lies in their folder, and the program
says what went wrong. calls_preload.c does the failing.

VIREO_CALLS_LIBRARY: the library to load before the program. A default run takes a sixth of the calls, VIREO_FULL=1 all.
"""
import collections
import concurrent.futures
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import support  # noqa: E402

LIBRARY = os.environ.get("VIREO_CALLS_LIBRARY", "")
# What can happen to a call: errno, a transfer of one byte (once, or always), or the end of the process before it.
ENOENT, EINTR, EIO, ENOMEM, EACCES, EMFILE, ENOSPC = 2, 4, 5, 12, 13, 24, 28
FAULTS = {
    "open": (f"{EMFILE}", f"{EACCES}:+", "kill", "term"),
    "read": (f"{EIO}", f"{EINTR}", "short", "short:+", "kill"),
    "write": (f"{ENOSPC}:+", f"{ENOSPC}", f"{EINTR}", "short", "short:+", "kill", "term"),
    "sync": (f"{EIO}", f"{EINTR}", "kill", "term"),
    "name": (f"{ENOSPC}", f"{EACCES}:+", "kill", "term"),
    "map": (f"{ENOMEM}", f"{ENOMEM}:+"),
    "stat": (f"{EACCES}", f"{EACCES}:+"),
    "close": (f"{EIO}", "kill"),
    "system": (f"{EACCES}:+", f"{ENOENT}:+"),  # a sandbox without /proc and /sys: one point says it all
    "folder": (f"{EACCES}", f"{EACCES}:+", "kill"),
}
HARMLESS = {f"{EINTR}", "short", "short:+"}  # transfers are tried again, and go on
BEFORE = b"what was there before"


class Calls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.room = pathlib.Path(tempfile.mkdtemp(prefix="vireo-calls-"))
        cls.addClassCleanup(shutil.rmtree, cls.room)
        cls.onnx = support.ROOT / "samples" / "models" / "kws_dscnn_mfcc.onnx"
        cls.model = cls.room / "model.vireo"
        support.vireo("convert", cls.onnx, "-o", cls.model, "--shape", "features=1,1,49,10", check=False)
        if not cls.model.exists():
            support.vireo("convert", cls.onnx, "-o", cls.model)
        cls.has_keys = support.vireo("keygen", cls.room / "maker", check=False).returncode == 0
        if cls.has_keys:
            support.vireo("keygen", cls.room / "fleet", "--encryption")
        cls.totals = collections.Counter()

    @classmethod
    def tearDownClass(cls):
        print("calls: " + ", ".join(f"{count} {what}" for what, count in sorted(cls.totals.items())))

    def run_once(self, arguments, folder, fault=None, count=None, happened=None):
        environment = {**os.environ, "LD_PRELOAD": LIBRARY, "XDG_CACHE_HOME": str(folder / "cache"), "VIREO_PLUGINS": ""}
        if fault is not None:
            environment["VIREO_CALLS"] = fault
            environment["VIREO_CALLS_HAPPENED"] = str(happened)
        if count is not None:
            environment["VIREO_CALLS_COUNT"] = str(count)
        return subprocess.run([support.VIREO, *map(str, arguments)], cwd=folder, capture_output=True, text=True, check=False,
                              env=environment, timeout=120)

    def sweep(self, name, arguments, outputs, same=True, ends=0, replaces=True):
        """`arguments` name files of the folder they run in. outputs: file -> whether its bytes are a whole file. same: they are
        those of a run without faults. ends: the exit status of such a run.
        replaces: outputs take the place of what is there, whatever it is."""
        clean = pathlib.Path(tempfile.mkdtemp(prefix=name + "-", dir=self.room))
        done = self.run_once(arguments, clean, count=clean / "count")
        self.assertEqual(done.returncode, ends, done.stderr)
        counts = {kind: int(n) for kind, n in (line.split() for line in (clean / "count").read_text().splitlines())}
        right = {path: (clean / path).read_bytes() for path in outputs}
        for path, whole in outputs.items():
            self.assertTrue(whole(right[path]), path)
        points = []
        for kind, faults in FAULTS.items():
            for fault in faults:
                if kind == "system":
                    points += [(kind, 0, fault)] if counts[kind] > 0 else []
                    continue
                points += [(kind, at, fault) for at in range(counts[kind])]
        self.assertGreater(len(points), 20)

        def attempt(number, kind, at, fault):
            folder = pathlib.Path(tempfile.mkdtemp(prefix=f"{name}-{kind}-{at}-", dir=self.room))
            there = replaces and number % 2 == 1  # something stands where the output will be
            for path in outputs if there else ():
                (folder / path).write_bytes(BEFORE)
            what, _, forever = fault.partition(":")
            happened = self.room / (folder.name + ".happened")
            done = self.run_once(arguments, folder, f"{kind}:{at}:{what}" + (":+" if forever else ""), happened=happened)
            where = f"{name}: {kind} {at} of {counts[kind]}: {fault}, output {'there' if there else 'absent'} before\n{done.stderr}"
            ended = {"kill": -signal.SIGKILL, "term": -signal.SIGTERM}.get(what)
            if not happened.exists():  # a run that measures makes fewer calls at times
                self.assertEqual(done.returncode, ends, where)
            elif ended is not None:
                self.assertEqual(done.returncode, ended, where)
            elif fault in HARMLESS and kind != "folder":
                self.assertEqual(done.returncode, ends, where)
            elif done.returncode != ends:
                self.assertIn(done.returncode, (1, 2), where)
                self.assertIn("error", done.stderr, where)
            for path, whole in outputs.items():
                bytes_now = (folder / path).read_bytes() if (folder / path).exists() else None
                untouched = bytes_now == (BEFORE if there else None)
                good = bytes_now is not None and bytes_now != BEFORE and (bytes_now == right[path] if same else whole(bytes_now))
                self.assertTrue(good if done.returncode == ends == 0 else good or untouched, where + f"{path} is neither whole nor as it was")
            left = [str(p.relative_to(folder)) for p in folder.rglob("*")
                    if p.is_file() and str(p.relative_to(folder)) not in outputs and not p.relative_to(folder).parts[0] == "cache"]
            if not (ended is not None and kind == "name"):  # between its two names a file can be seen
                self.assertEqual(left, [], where)
            shutil.rmtree(folder)
            if not happened.exists():
                return "not reached"
            return "ended" if ended is not None else "done without" if done.returncode == ends else "refused"

        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for outcome in pool.map(lambda job: attempt(job[0], *job[1]), enumerate(points[:: support.SAMPLE])):
                self.totals[outcome] += 1

    def test_convert(self):
        self.sweep("convert", ("convert", self.onnx, "-o", "out.vireo"), {"out.vireo": bool})

    def test_convert_with_a_page(self):
        self.sweep("page", ("convert", self.onnx, "-o", "out.vireo", "--report", "out.html"),
                   {"out.vireo": bool, "out.html": lambda page: page.rstrip().endswith(b"</html>")}, same=False)

    def test_emit_onnx(self):
        self.sweep("emit", ("convert", self.onnx, "--emit-onnx", "out.onnx"), {"out.onnx": bool})

    def test_pack(self):
        self.sweep("pack", ("pack", self.model, "-o", "out.vireo"), {"out.vireo": bool})

    def test_sign(self):
        if not self.has_keys:
            self.skipTest("this build is without libsodium (VIREO_TRUST)")
        self.sweep("sign", ("sign", self.model, "-o", "out.vireo", "--key", self.room / "maker.key"), {"out.vireo": bool})

    def test_encrypt(self):
        if not self.has_keys:
            self.skipTest("this build is without libsodium (VIREO_TRUST)")
        size = self.model.stat().st_size  # other bytes each time
        self.sweep("encrypt", ("encrypt", self.model, "-o", "out.vireo", "--key", self.room / "fleet.key"),
                   {"out.vireo": lambda sealed: len(sealed) > size}, same=False)

    def test_run(self):
        if reason := support.missing("numpy"):
            self.skipTest(reason)
        import numpy as np
        np.save(self.room / "features.npy", np.zeros((1, 1, 49, 10), np.float32))
        self.sweep("run", ("run", self.model, "-i", f"features={self.room / 'features.npy'}", "-o", "out.npz"), {"out.npz": lambda z: b"PK\5\6" in z[-64:]}, same=False)

    def test_bench(self):
        self.sweep("bench", ("bench", self.model, "--seconds", 0.001, "--threads", 1, "--profile", "out.json"),
                   {"out.json": lambda text: text.rstrip().endswith((b"}", b"]"))}, same=False)

    def test_tune(self):
        self.sweep("tune", ("tune", self.model, "--seconds", 0.01, "--threads", 1, "-o", "out.json"),
                   {"out.json": lambda text: text.rstrip().endswith(b"}")}, same=False, replaces=False)

    def test_reproduce(self):
        if reason := support.missing("onnx"):
            self.skipTest(reason)
        import onnx
        value = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [2])
        graph = onnx.helper.make_graph([onnx.helper.make_node("Nonsense", ["x"], ["y"], "n")], "g", [value],
                                       [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [2])])
        onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)]), self.room / "refused.onnx")
        self.sweep("reproduce", ("check", self.room / "refused.onnx", "--reproduce", "."), {"001-VC0204-Nonsense.onnx": bool}, ends=1)


if __name__ == "__main__":
    if not LIBRARY:
        print("VIREO_SKIP: VIREO_CALLS_LIBRARY names no library to load before the program")
        raise SystemExit(0)
    support.main()
