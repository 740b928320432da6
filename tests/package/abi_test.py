"""The public API against the one that was kept (abi/api.py), and that the comparison sees what breaks programs."""
import contextlib
import io
import pathlib
import re
import shutil
import sys
import unittest

import support

sys.path.insert(0, str(support.ROOT / "tests" / "package" / "abi"))
import api  # noqa: E402

reason = support.missing("cc", "abidw", "abidiff")


@unittest.skipIf(reason, reason)
class Abi(unittest.TestCase):
    def test_nothing_that_was_kept_changed(self):
        work = support.room("abi")
        broken, new = api.differences("cc", work)
        self.assertEqual(broken, [], "undo it, or keep it: " + api.COMMAND)
        if new:
            support.say(f"{len(new)} functions and constants are new ({api.COMMAND} keeps them): {' '.join(new)}")

    def compared(self, name, old, new):
        """differences() with `old` of the header `name` replaced."""
        room = support.room("abi_changed")
        shutil.copytree(support.ROOT / "c_api" / "include", room / "c_api" / "include")
        header = room / "c_api" / "include" / "vireo" / name
        changed, count = re.subn(old, new, header.read_text(), count=1)
        self.assertEqual(count, 1, f"{name} has no {old}")
        header.write_text(changed)
        kept, api.ROOT = api.ROOT, room
        try:
            return api.differences("cc", room)
        finally:
            api.ROOT = kept

    def test_sees_what_breaks_programs(self):
        changes = {
            "a parameter": ("vireo.h", r"vireo_dtype_bytes\(vireo_dtype dtype, int64_t count\)", "vireo_dtype_bytes(vireo_dtype dtype, int32_t count)"),
            "a result": ("vireo.h", r"VIREO_API uint32_t vireo_model_test_count", "VIREO_API uint64_t vireo_model_test_count"),
            "a function gone": ("fleet.h", r"VIREO_API uint32_t vireo_pipeline_depth[^;]*;", ""),
            "a field in the middle": ("vireo.h", r"  size_t tensor_bytes; ", "  size_t between_bytes;\n  size_t tensor_bytes; "),
            "a field's type": ("vireo.h", r"  int32_t threads;    /", "  int64_t threads;    /"),
            "fields exchanged": ("trust.h", r"uint32_t present;", "uint64_t present;"),
            "a struct that never grows": ("vireo.h", r"  int64_t capacity; ", "  int64_t more;\n  int64_t capacity; "),
            "one whose end is new and a field another": ("vireo.h", r"(?s)  size_t tensor_bytes; (.*)\} vireo_memory;",
                                                         r"  int64_t tensor_bytes; \1  size_t more;\n} vireo_memory;"),
            "its end": ("vireo.h", r"\} vireo_bound;", "  int64_t step;\n} vireo_bound;"),
            "an enumerator": ("vireo.h", r"VIREO_IO = 6", "VIREO_IO = 9"),
            "an enumerator gone": ("vireo.h", r"VIREO_PACKING_NEVER = 2", "VIREO_PACKING_NONE = 2"),
            "a macro": ("vireo.h", r"VIREO_MAX_RANK 8", "VIREO_MAX_RANK 9"),
            "what plug-ins get": ("delegate.h", r"struct vireo_delegate \{\n  uint32_t struct_size;", "struct vireo_delegate {\n  uint64_t struct_size;"),
        }
        for what, change in changes.items():
            with self.subTest(what):
                self.assertTrue(self.compared(*change)[0])

    def test_leaves_alone_what_does_not(self):
        broken, new = self.compared("vireo.h", r"\} vireo_memory;", "  size_t more_bytes;\n} vireo_memory;")
        self.assertEqual((broken, new), ([], []))
        broken, new = self.compared("vireo.h", r"(VIREO_API uint32_t vireo_version)", r"VIREO_API uint32_t vireo_more(void);\n\1")
        self.assertEqual((broken, new), ([], ["vireo_more"]))
        abi = int(api.read_constants()[api.DELEGATE_ABI])
        broken, _ = self.compared("delegate.h", rf"(?s)#define VIREO_DELEGATE_ABI {abi}(.*)struct vireo_delegate \{{\n  uint32_t struct_size;",
                                  rf"#define VIREO_DELEGATE_ABI {abi + 1}\1struct vireo_delegate {{\n  uint64_t struct_size;")
        self.assertEqual(broken, [])

    def test_says_which_version_is_needed(self):
        room = support.room("abi_versions")
        kept, api.ROOT = api.ROOT, room
        try:
            (room / "CHANGELOG.md").write_text("## [0.2.0] - Unreleased\n\n## [0.1.3] - 2026-01-02\n")
            self.assertEqual(api.bump_needed((0, 2, 0), (0, 2, 0)), "")  # promised to nobody yet
            self.assertIn("0.2.0", api.bump_needed((0, 1, 3), (0, 1, 4)))
            self.assertEqual(api.bump_needed((0, 1, 3), (0, 2, 0)), "")
            self.assertIn("2.0.0", api.bump_needed((1, 4, 0), (1, 5, 0)))
            self.assertEqual(api.bump_needed((1, 4, 0), (2, 0, 0)), "")
        finally:
            api.ROOT = kept

    def test_the_library_exports_nothing_else(self):
        lines = support.run("nm", "-D", "--defined-only", support.BUILD / "lib" / "libvireo.so").stdout.splitlines()
        exported = {line.split()[-1].split("@")[0] for line in lines if line.split()[-2] in "TDBRVW"}
        declared = {name for _, name, _ in api.functions()}
        self.assertEqual(exported, declared)


if __name__ == "__main__":
    support.main()
