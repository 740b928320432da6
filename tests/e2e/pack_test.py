"""Packed weights ahead of a load: `vireo pack` and --cache, from the command line and from Python. Answers keep their bits."""
import json
import os
import shutil
import unittest

import support

MODEL = support.ROOT / "samples" / "models" / "digit_mobile.onnx"


def bench(file, *arguments):
    return json.loads(support.vireo("bench", file, "--threads", 1, "--seconds", 0, "--json", *arguments).stdout)


@unittest.skipIf(support.missing("numpy"), support.missing("numpy"))
class Pack(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        import numpy as np
        cls.file = support.convert(MODEL, "pack_model", "--shape", "image=1,1,32,32")
        cls.packed = support.WORK / "pack_model_packed.vireo"
        cls.told = json.loads(support.vireo("pack", cls.file, "-o", cls.packed, "--json").stdout)
        cls.given = support.WORK / "pack_in.npy"
        np.save(cls.given, np.linspace(-1, 1, 32 * 32, dtype=np.float32).reshape(1, 1, 32, 32))

    def answer(self, file, *arguments):
        import numpy as np
        out = support.WORK / "pack_out.npz"
        support.vireo("run", file, "--threads", 1, "--input", self.given, "-o", out, *arguments)
        with np.load(out) as stored:
            return {name: stored[name].tobytes() for name in stored.files}

    def folder(self, name):
        path = support.WORK / name
        shutil.rmtree(path, ignore_errors=True)
        return path

    def test_a_packed_file_packs_nothing_and_answers_the_same(self):
        self.assertGreater(self.told["constants"], 0)
        before, after = bench(self.file), bench(self.packed)
        self.assertGreater(before["packed_bytes"], 0)
        self.assertEqual(before["mapped_bytes"], 0)
        self.assertEqual(after["packed_bytes"], 0)
        self.assertEqual(after["mapped_bytes"], self.told["packed_bytes"])
        self.assertEqual(self.answer(self.packed), self.answer(self.file))
        self.assertEqual(self.answer(self.packed, "--packing", "never"), self.answer(self.file, "--packing", "never"))

    def test_inspect_tells(self):
        facts = json.loads(support.vireo("inspect", self.packed, "--json").stdout)
        self.assertTrue(facts["segment_list"][-1]["packed_weights"])
        self.assertIn("pack --target cpu", facts["provenance"]["options"])

    def test_packing_again_replaces(self):
        again = support.WORK / "pack_model_again.vireo"
        shutil.copy(self.packed, again)
        support.vireo("pack", again, "-o", again)
        self.assertEqual(bench(again)["mapped_bytes"], self.told["packed_bytes"])
        self.assertLess(abs(again.stat().st_size - self.packed.stat().st_size), 4096)

    def test_unknown_profiles_are_named(self):
        done = support.vireo("pack", self.file, "-o", support.WORK / "never.vireo", "--profile", "toaster", check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("toaster", done.stderr)
        self.assertIn("cpu", done.stderr)
        self.assertFalse((support.WORK / "never.vireo").exists())

    def test_the_second_run_maps_the_cache(self):
        folder = self.folder("pack_cache")
        first, second = bench(self.file, "--cache", folder), bench(self.file, "--cache", folder)
        self.assertGreater(first["packed_bytes"], 0)
        self.assertEqual(second["packed_bytes"], 0)
        self.assertEqual(second["mapped_bytes"], self.told["packed_bytes"])
        self.assertEqual(len(list(folder.iterdir())), 1)
        self.assertEqual(self.answer(self.file, "--cache", folder), self.answer(self.file, "--cache", "off"))

    def test_auto_is_the_users_cache(self):
        home = self.folder("pack_home")
        environment = dict(support.PROGRAM_ENVIRONMENT)
        try:
            support.PROGRAM_ENVIRONMENT["XDG_CACHE_HOME"] = str(home)
            bench(self.file, "--cache", "auto")
        finally:
            support.PROGRAM_ENVIRONMENT.clear()
            support.PROGRAM_ENVIRONMENT.update(environment)
        self.assertEqual(len(list((home / "vireo" / "packed").iterdir())), 1)

    def test_python(self):
        import numpy as np
        import vireo
        folder = self.folder("pack_python")
        x = np.load(self.given)
        results = []
        for _ in range(2):
            with vireo.Model(os.fspath(self.file), vireo.Runtime(threads=1)) as model:
                with model.session(cache=folder) as session:
                    results.append([y.tobytes() for y in session.run(x)])
                memory = model.memory(cache=folder)
        self.assertEqual(results[0], results[1])
        self.assertEqual(memory.packed, 0)
        self.assertEqual(memory.mapped, self.told["packed_bytes"])


if __name__ == "__main__":
    unittest.main()
