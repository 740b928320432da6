#!/usr/bin/env python3
"""What changes of this tree reach (in the build that configured this test), and the rules on small trees of their own.

    reach_test.py [BUILD] [unittest's arguments]    BUILD: build/dev otherwise"""
import io
import os
import subprocess
import sys
import tempfile
import unittest
from contextlib import redirect_stdout

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.realpath(os.path.join(HERE, "..", ".."))
sys.path.insert(0, os.path.dirname(HERE))
from reach import choose, graph, record, repository, slowest, table  # noqa: E402

BUILD = os.path.join(ROOT, "build", "dev")
LINUX = {"aarch64-linux", "armv7-linux", "riscv64-linux"}
DEVICES = LINUX | {"wasm", "cortex-m4", "cortex-m4-integer"}


class ThisTree(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.reach = choose.Reach(ROOT, BUILD)

    def chosen(self, *paths):
        """(tests, stages, parts) without the checks that read every file of a kind."""
        items, everything = self.reach.choose(paths)
        self.assertEqual(everything, "")
        kinds = [{i.split(" ", 1)[1] for i in items if i.startswith(kind)} for kind in ("test ", "stage ", "part ")]
        return kinds[0] - table.WIDE, kinds[1] - table.WIDE, kinds[2]

    def test_a_pass_of_the_converter(self):
        tests, stages, parts = self.chosen("converter/passes/simplify/fold_batch_norm.cc")
        self.assertLessEqual({"vireo_converter_passes_test", "vireo_converter_test",
                             "e2e_models", "e2e_zoo", "optimiser_fuzz"}, tests)
        self.assertFalse(tests & {"vireo_sdk_base_test", "vireo_cpu_kernels_test",
                         "conformance_cpu", "vireo_runtime_test"})
        self.assertLessEqual({"asan", "conformance", "fuzz", "tidy"}, parts)
        self.assertFalse(parts & (DEVICES | {"minsize"}))
        self.assertEqual(stages, {"build", "release"})

    def test_threads_are_for_what_thread_tests_link(self):
        self.assertIn("tsan", self.chosen("converter/passes/simplify/fold_batch_norm.cc")[2])  # bounds_test links the converter
        self.assertNotIn("tsan", self.chosen("converter/report/page.cc", "quant/schemes/int4.cc")[2])
        self.assertIn("tsan", self.chosen("runtime/platform/pool_test.cc")[2])
        self.assertNotIn("tsan", self.chosen("sdk/base/number_test.cc")[2])

    def test_a_kernel(self):
        tests, _, parts = self.chosen("delegates/cpu/kernels/gemm/gemm.cc")
        self.assertLessEqual(LINUX | {"levels", "asan", "tsan", "conformance",
                             "fuzz", "minsize", "tidy", "wasm"}, parts)
        self.assertFalse(parts & {"cortex-m4", "cortex-m4-integer"})  # firmware has reference kernels alone
        self.assertLessEqual({"vireo_cpu_kernels_test", "e2e_models", "e2e_trained",
                             "memory_contract", "instruction_counts"}, tests)
        self.assertFalse(tests & {"vireo_converter_passes_test", "vireo_sdk_base_test"})

    def test_firmware_has_the_operators_of_its_preset(self):
        self.assertEqual(self.chosen("sdk/ops/conv/conv_ref.cc")[2] & {"cortex-m4", "cortex-m4-integer"}, {"cortex-m4"})
        self.assertEqual(self.chosen("sdk/ops/int_conv/int_conv_ref.cc")
                         [2] & {"cortex-m4", "cortex-m4-integer"}, {"cortex-m4-integer"})
        self.assertFalse(self.chosen("sdk/ops/lrn/lrn_ref.cc")[2] & {"cortex-m4", "cortex-m4-integer"})
        self.assertEqual(self.chosen("toolchains/cortex-m/startup.c")[2], {"cortex-m4", "cortex-m4-integer"})

    def test_a_document(self):
        self.assertEqual(self.chosen("README.md"), ({"document_README"}, set(), set()))
        self.assertEqual(self.chosen("sdk/ops/INTEGER.md"), (set(), set(), set()))
        self.assertIn("documents_list", {i.split()[1] for i in self.reach.choose(["README.md"])[0]})

    def test_a_script(self):
        tests, stages, parts = self.chosen("tests/e2e/zoo_test.py")
        self.assertIn("e2e_zoo", tests)
        self.assertTrue(all(t.startswith("e2e_") for t in tests), tests)  # those that import it too
        self.assertEqual((stages, parts - {"asan", "levels", "whole"}), (set(), set()))
        self.assertLessEqual({"e2e_zoo", "e2e_models", "e2e_trust", "calls_test"},
                             self.chosen("tests/e2e/support.py")[0])

    def test_what_every_core_computes_alike(self):
        parts = self.chosen("delegates/npu/driver/lower.cc")[2]
        self.assertEqual(parts & LINUX, {"armv7-linux"})

    def test_one_unit_test(self):
        tests, stages, parts = self.chosen("sdk/base/number_test.cc")
        self.assertEqual((tests, stages, parts), ({"vireo_sdk_base_test"}, {"build"}, LINUX | {"asan"}))

    def test_what_no_include_shows(self):
        self.assertIn("vireo_converter_report_test", self.chosen("converter/report/page.css")[0])  # embedded
        self.assertIn("kws_selftest", self.chosen("tests/smoke/kws_dscnn_mfcc.npz")[0])  # named in a command alone
        self.assertIn("vireo_sdk_format_test", self.chosen("sdk/format/model.fbs")[0])  # a generated header
        self.assertIn("vireo_converter_target_test", self.chosen("converter/target/profiles/mcu.json")[0])
        self.assertIn("plugin_test", self.chosen("c_api/cli/probe/main.cc")[0])
        self.assertIn("vireo_npu_test", self.chosen("delegates/npu/MACHINE.md")[0])  # its numbers are tested
        self.assertEqual(self.chosen("tests/size/budget.tsv"), (set(), set(), {"minsize"}))
        self.assertEqual(self.chosen("tests/package/conan_test.py"), ({"package_conan"}, set(), set()))
        self.assertEqual(self.chosen("tests/property/guard_test.cc")[2], {"asan"})

    def test_what_may_be_left_out_here(self):
        parts = self.chosen("delegates/xnnpack/xnnpack.cc")[2]
        self.assertLessEqual({"armv7-linux", "asan", "conformance"}, parts)
        self.assertFalse(parts & {"wasm", "cortex-m4", "minsize"})
        self.assertEqual(self.chosen("delegates/xnnpack/README.md"), (set(), set(), set()))

    def test_lists_of_cmake(self):
        self.assertIn("vireo_sdk_plan_test", self.chosen("sdk/plan/CMakeLists.txt")[0])
        self.assertNotIn("vireo_sdk_base_test", self.chosen("sdk/plan/CMakeLists.txt")[0])
        self.assertIn("e2e_zoo", self.chosen("tests/e2e/CMakeLists.txt")[0])

    def test_what_is_gone_reached_what_its_neighbours_reach(self):
        self.assertEqual(self.chosen("converter/passes/gone.cc"), self.chosen("converter/passes/simplify/fold_batch_norm.cc"))
        self.assertIn("vireo_sdk_base_test", self.chosen("sdk/base/gone_test.cc")[0])

    def test_the_unknown_chooses_everything(self):
        for path in ("a/new/thing.xyz", "tests/run", "CMakePresets.json", "toolchains/dependencies.cmake"):
            items, everything = self.reach.choose([path, "README.md"])
            self.assertTrue(everything.startswith(path), everything)
            self.assertEqual(list(items), list(self.reach.items))

    def test_each_reason_is_a_changed_file(self):
        items, _ = self.reach.choose(["README.md", "sdk/base/number_test.cc"])
        self.assertEqual([f for f, _ in items["test vireo_sdk_base_test"]], ["sdk/base/number_test.cc"])
        self.assertEqual([f for f, _ in items["test document_README"]], ["README.md"])


class SmallTree(unittest.TestCase):
    NINJA = r"""rule CXX_COMPILER__a
build lib/CMakeFiles/a.dir/a.cc.o: CXX_COMPILER__a ROOT/lib/a.cc || cmake_object_order_depends_target_a
build lib/liba.a: CXX_STATIC_LIBRARY_LINKER__a lib/CMakeFiles/a.dir/a.cc.o || lib/libother.a
build app/CMakeFiles/app.dir/main.cc.o: CXX_COMPILER__app ROOT/app/main.cc
build bin/app: CXX_EXECUTABLE_LINKER__app app/CMakeFiles/app.dir/main.cc.o | lib/liba.a || lib/libother.a plug$ in.so
build lib/libother.a: CXX_STATIC_LIBRARY_LINKER__o other.cc.o
build other.cc.o: CXX_COMPILER__o ROOT/lib/other.cc
build plug$ in.so: C_MODULE_LIBRARY_LINKER__p plug.c.o
build plug.c.o: C_COMPILER__p ROOT/lib/plug.c
build model.out | ${cmake_ninja_workdir}model.out: CUSTOM_COMMAND bin/app
  COMMAND = cd ROOT && bin/app --with ROOT/data.txt -o model.out
"""
    FILES = {
        "lib/a.cc": '#include "lib/a.h"\n#include "lib/t_generated.h"', "lib/a.h": "", "lib/CMakeLists.txt": "",
        "lib/t.fbs": 'include "lib/u.fbs";', "lib/u.fbs": "", "lib/b.h": "", "lib/other.cc": "", "lib/plug.c": "",
        "app/main.cc": '  #  include "../lib/b.h"', "data.txt": "",
        "test.py": 'import helper\nopen(ROOT / "lib" / "b.h")\nrun("lib/a.cc")', "helper.py": "",
        "page.md": "```sh\ncat $VIREO_SOURCE/lib/b.h\n```\nlib/a.h"}

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = os.path.realpath(folder.name)
        for path, text in {**self.FILES, "build/build.ninja": self.NINJA.replace("ROOT", self.root)}.items():
            os.makedirs(os.path.dirname(os.path.join(self.root, path)), exist_ok=True)
            with open(os.path.join(self.root, path), "w", encoding="utf-8") as file:
                file.write(text)
        self.graph = graph.Graph(self.root, os.path.join(self.root, "build"), self.FILES)

    def below(self, *roots):
        return {n for n in self.graph.closure(roots) if not n.startswith("@")}

    def test_a_program_is_what_it_links_and_what_lies_beside_it(self):
        self.assertEqual(self.below("@bin/app"), {"app/main.cc", "lib/b.h", "lib/a.cc",
                         "lib/a.h", "lib/t.fbs", "lib/u.fbs", "lib/plug.c", "lib/CMakeLists.txt"})

    def test_a_command_names_files(self):
        self.assertIn("data.txt", self.below("@model.out"))

    def test_a_script_reads_text(self):
        self.assertEqual(self.below("test.py"), {"test.py", "helper.py", "=lib/b.h", "=lib/a.cc"})

    def test_only_blocks_of_a_document_run(self):
        self.assertEqual(self.graph.page("page.md"), {"=lib/b.h"})

    def test_what_is_skipped_is_not_followed(self):
        found = self.graph.closure(["@bin/app"], lambda n: n == "@lib/liba.a")
        self.assertNotIn("lib/a.cc", found)


class Changes(unittest.TestCase):
    def test_every_way_to_differ(self):
        with tempfile.TemporaryDirectory() as root:
            def git(*arguments):
                subprocess.run(["git", "-C", root, "-c", "user.name=t", "-c",
                               "user.email=t@t", *arguments], check=True, capture_output=True)

            def write(name):
                with open(os.path.join(root, name), "a", encoding="utf-8") as file:
                    file.write(f"{name} has a text of its own\n" * 3)
            git("init", "-q")
            for name in ("same", "edited", "staged", "gone", "before", "committed"):
                write(name)
            git("add", "-A")
            git("commit", "-qm", "a")
            write("committed")
            git("commit", "-qam", "b")
            write("edited")
            write("staged")
            git("add", "staged")
            os.remove(os.path.join(root, "gone"))
            git("mv", "before", "after")
            write("new")
            with open(os.path.join(root, ".git", "info", "exclude"), "w", encoding="utf-8") as file:
                file.write("ignored\n")
            write("ignored")
            repo = repository.Repository(root)
            self.assertEqual(repo.changed("HEAD~1"), {"edited", "staged",
                             "gone", "before", "after", "committed", "new"})
            self.assertEqual(repo.changed("HEAD~1", "HEAD"), {"committed"})
            self.assertTrue(repo.dirty())


class FakeReach:
    """x reaches the part tsan, y asan."""
    items = {"test t": set(), "stage build": set(), "part tsan": set(), "part asan": set()}

    def choose(self, changed):
        rows = {"x": "part tsan", "y": "part asan", "z": "test t"}
        return {rows[f]: [(f, "")] for f in sorted(changed)}, ""


class FakeRepository:
    """Commits 4 (HEAD) to 0, each of which changed one file."""
    files = {"4": "x", "3": "y", "2": "z", "1": "x"}

    def ancestors(self, _):
        return ["4", "3", "2", "1", "0"]

    def changed(self, since, until=""):
        return {f for c, f in self.files.items() if int(since) < int(c) <= int(until)}


class Recorded(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "record.tsv")

    def add(self, part, commit, tree="clean", scope="whole", counts=(1, 0, 0)):
        record.append(self.path, part, commit, tree, scope, counts, 60)

    def green(self, part, commit="4"):
        return record.Record(record.read(self.path), FakeReach(), FakeRepository()).green(part, commit)

    def test_green_until_something_reaches_it(self):
        self.add("asan", "3")
        self.add("tsan", "3")
        self.assertEqual(self.green("asan"), ("3", []))
        self.assertEqual(self.green("tsan"), ("3", [("x", "")]))
        self.assertEqual(self.green("tsan", "3"), ("3", []))
        self.assertEqual(self.green("asan", "2"), ("", []))  # a later commit says nothing of an earlier one

    def test_what_is_not_green(self):
        self.add("asan", "4", tree="dirty")
        self.add("asan", "4", counts=(5, 1, 0))
        self.add("asan", "4", counts=(0, 0, 1))  # not run: the machine lacks something
        self.add("asan", "unknown")
        self.assertEqual(self.green("asan"), ("", []))

    def test_a_part_of_dev_counts_with_what_it_builds_on(self):
        self.add("dev", "3", scope="since 1")
        self.assertEqual(self.green("dev"), ("", []))
        self.add("dev", "1")
        self.assertEqual(self.green("dev"), ("3", []))

    def test_rows_that_build_on_each_other_prove_nothing(self):
        self.add("dev", "3", scope="since 3")
        self.assertEqual(self.green("dev"), ("", []))

    def test_slowest(self):
        with open(os.path.join(os.path.dirname(self.path), "dev.xml"), "w", encoding="utf-8") as file:
            file.write('<testsuite><testcase name="a" time="1.5"/><testcase name="b" time="20"/></testsuite>')
        self.add("dev", "3")
        out = io.StringIO()
        with redirect_stdout(out):
            slowest.show(os.path.dirname(self.path), record.read(self.path), 1)
        self.assertRegex(out.getvalue(), r"^ *20\.0 s  dev +b\n *21\.5 s  dev +2 tests together\n *60 s  dev ")


if __name__ == "__main__":
    if len(sys.argv) > 1 and os.path.isfile(os.path.join(sys.argv[1], "build.ninja")):
        BUILD = sys.argv.pop(1)
    if not os.path.isdir(os.path.join(ROOT, ".git")) and not os.path.isfile(os.path.join(ROOT, ".git")):
        print("not a git checkout: what is tracked cannot be told")
        sys.exit(77)
    unittest.main()
