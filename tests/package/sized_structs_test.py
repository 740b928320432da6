"""Programs and plug-ins of older and newer headers with today's library: structs that are shorter or longer than the library knows them.

Older headers are today's with the last field of each struct that begins with struct_size left out; newer ones have a field more."""
import json
import re
import shutil
import unittest

import support

reason = support.missing("cc")
STRUCT = re.compile(r"((?:typedef )?struct (vireo_\w+) \{\n\s*uint32_t struct_size;.*?)(\n\}(?: \2)?;)", re.DOTALL)
# The last field of these is what the program tests with, or the only one.
KEPT = {"vireo_split_options", "vireo_preference"}


def older(text):
    """Without the last field of each struct: the text from the last `;` but one that stands in no comment."""
    def cut(match):
        body = match[1]
        plain = re.sub(r"/\*.*?\*/", lambda m: " " * len(m[0]), body, flags=re.DOTALL)
        ends = [m.start() for m in re.finditer(";", plain)]
        return match[0] if match[2] in KEPT or len(ends) < 3 else body[:ends[-2] + 1] + match[3]
    return STRUCT.sub(cut, text)


def newer(text):
    return STRUCT.sub(lambda m: m[1] + "\n  uint64_t newer;" + m[3], text)


def change_headers(room, change):
    """A copy of the public headers in the room, changed; returns how many are others than before."""
    shutil.copytree(support.ROOT / "c_api" / "include", room / "include")
    changed = 0
    for header in sorted((room / "include" / "vireo").glob("*.h")):
        text = header.read_text()
        header.write_text(change(text))
        changed += change(text) != text
    return changed


@unittest.skipIf(reason, reason)
class SizedStructs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = support.room("sized_structs") / "model.vireo"
        support.run(support.BUILD / "bin" / "vireo", "convert", support.MODELS / "digit_mobile.onnx", "-o", cls.model)

    def rows(self, name, change):
        """Compiles the program with changed headers and runs it: its rows."""
        room = support.room(f"sized_structs_{name}")
        changed = change_headers(room, change)
        if name != "same":
            self.assertGreaterEqual(changed, 5, "headers whose structs were changed")
        library = support.BUILD / "lib"
        support.run("cc", "-std=c99", "-Wall", "-Wextra", "-Werror", f"-DNEWER={int(name == 'newer')}", "-I", room / "include",
                    support.ROOT / "tests" / "package" / "abi" / "sized.c", "-L", library, f"-Wl,-rpath,{library}", "-lvireo", "-o", room / "sized")
        done = support.run(room / "sized", self.model, check=False)
        support.say(f"{name}:\n{done.stdout}{done.stderr}")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout.splitlines()

    def test_the_same(self):
        self.assertGreater(len(self.rows("same", lambda text: text)), 40)

    def test_older(self):
        same, old = self.rows("same", lambda text: text), self.rows("older", older)
        shorter = sum(a.split("bytes")[0] != b.split("bytes")[0] for a, b in zip(same, old))
        self.assertGreater(shorter, 30, "rows of structs that are shorter")

    def test_newer(self):
        self.assertTrue(any("new field set" in line for line in self.rows("newer", newer)))


@unittest.skipIf(reason, reason)
class SizedPlugins(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not list((support.BUILD / "bin").glob("vireo-probe")):
            raise unittest.SkipTest("this build is without plug-ins (VIREO_PLUGINS)")

    def plugin(self, name, change, sets=0):
        """The plug-in, compiled with changed headers."""
        room = support.room(f"sized_plugins_{name}")
        changed = change_headers(room, change)
        if name != "same":
            self.assertGreaterEqual(changed, 5, "headers whose structs were changed")
        support.run("cc", "-std=c99", "-shared", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra", "-Werror", f"-DNEWER={int(change is newer)}",
                    f"-DSETS={sets}", "-I", room / "include", "-I", support.BUILD / "generated",
                    support.ROOT / "tests" / "package" / "abi" / "sized_plugin.c", "-o", room / "libsized.so")
        return room / "libsized.so"

    def vireo(self, *arguments, check=True):
        return support.run(support.BUILD / "bin" / "vireo", *arguments, environment={"VIREO_PLUGINS": None, "VIREO_PROBE": "off"}, check=check)

    def test_the_kit_passes_them(self):
        for name, change in (("same", lambda text: text), ("older", older), ("newer", newer)):
            with self.subTest(name):
                told = json.loads(self.vireo("delegate-test", self.plugin(name, change), "--json", check=False).stdout)
                self.assertEqual([c for c in told["cases"] if c["status"] == "failed"], [])
                self.assertGreater(told["passed"], 20)

    def test_a_table_with_what_the_host_does_not_know(self):
        plugin = self.plugin("newer_table", newer, sets=1)
        listed = self.vireo("devices", "--plugins", plugin)
        self.assertRegex(" ".join(listed.stdout.split()), r"its table: the field at byte \d+ is set, and this library knows the first \d+ bytes")

    def test_a_claim_with_what_the_host_does_not_know(self):
        plugin = self.plugin("newer_claim", newer, sets=2)
        told = self.vireo("delegate-test", plugin, "--section", "answers")
        self.assertRegex(told.stdout, r'"status":"failed","text":"[^"]*vireo_claim: the field at byte \d+ is set')


if __name__ == "__main__":
    support.main()
