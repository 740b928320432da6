#!/usr/bin/env python3
"""tests/run in a small checkout, with stand-ins for cmake and ctest: what it runs, counts and records."""
import os
import shutil
import subprocess
import tempfile
import unittest

TESTS = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
CMAKE = """#!/bin/sh
build=build/$2
if [ "$1" = --build ]; then
  for one in dev release; do mkdir -p build/$one/bin; cp stand-ins/true build/$one/bin/vireo; done
  exit
fi
[ "$3" != -B ] || build=$4
mkdir -p $build
echo "build x.o: CXX_COMPILER__x $PWD/a.cc" >$build/build.ninja
echo "add_test([=[one]=] \\"$PWD/one.py\\")
add_test([=[two]=] \\"$PWD/two.py\\")" >$build/CTestTestfile.cmake
"""
CTEST = """#!/bin/sh
echo "$@" >>ctest.log
while [ "$1" != --output-junit ]; do shift; done
echo "<testsuite><testcase name='a' time='2' status='${RESULT-run}'/><testcase name='b' status='run'/></testsuite>" >$2
"""


class Run(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name
        os.makedirs(os.path.join(self.root, "tests"))
        for name in ("run", "changed.py", "summarize.py"):
            shutil.copy(os.path.join(TESTS, name), os.path.join(self.root, "tests"))
        shutil.copytree(os.path.join(TESTS, "reach"), os.path.join(self.root, "tests", "reach"),
                        ignore=shutil.ignore_patterns("__pycache__"))
        files = {"stand-ins/cmake": CMAKE, "stand-ins/ctest": CTEST, "stand-ins/true": "#!/bin/sh\n", "a.cc": "",
                 ".gitignore": "build\nctest.log\n", "one.py": "", "two.py": "", "tests/size/measure": "#!/bin/sh\n",
                 "CMakePresets.json": '{"configurePresets": []}'}
        for name, text in files.items():
            path = os.path.join(self.root, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            os.chmod(path, 0o755)
        self.environment = {"PATH": os.path.join(self.root, "stand-ins") + ":/usr/bin:/bin", "HOME": self.root,
                            "GIT_AUTHOR_NAME": "t", "GIT_AUTHOR_EMAIL": "t@t",
                            "GIT_COMMITTER_NAME": "t", "GIT_COMMITTER_EMAIL": "t@t"}
        self.git("init", "-q")
        self.commit("all")

    def git(self, *arguments):
        subprocess.run(["git", *arguments], cwd=self.root, env=self.environment, check=True, capture_output=True)

    def commit(self, message):
        self.git("add", "-A")
        self.git("commit", "-qm", message)

    def run_tests(self, *arguments, **environment):
        done = subprocess.run(["bash", "tests/run", "--no-bootstrap", *arguments], cwd=self.root, capture_output=True,
                              text=True, env={**self.environment, **environment}, check=False, timeout=100)
        return done.returncode, done.stdout.strip().splitlines()

    def rows(self):
        """part -> (tree, scope, passed, failed, skipped) of the newest rows."""
        path = os.path.join(self.root, "build", "logs", "record.tsv")
        if not os.path.exists(path):
            return {}
        with open(path, encoding="utf-8") as file:
            rows = [line.split("\t") for line in file]
        return {r[3]: (r[2], r[4], *map(int, r[5:8])) for r in rows[1:]}

    def ctest(self):
        with open(os.path.join(self.root, "ctest.log"), encoding="utf-8") as file:
            return file.read().splitlines()

    def test_a_part_is_recorded_with_its_counts(self):
        status, lines = self.run_tests("--full", "tsan")
        self.assertEqual((status, lines[-1]), (0, "2 passed, 0 failed, 0 skipped"))
        self.assertEqual(self.rows(), {"tsan": ("clean", "whole", 2, 0, 0)})

    def test_a_failure_is_recorded(self):
        status, lines = self.run_tests("--full", "tsan", RESULT="fail")
        self.assertEqual((status, lines[-1]), (1, "1 passed, 1 failed, 0 skipped"))
        self.assertEqual(self.rows(), {"tsan": ("clean", "whole", 1, 1, 0)})

    def test_quick_is_no_part(self):
        status, lines = self.run_tests("--quick")
        self.assertEqual((status, lines[-1], self.rows()), (0, "2 passed, 0 failed, 0 skipped", {}))

    def test_a_dirty_tree_is_recorded_as_such(self):
        with open(os.path.join(self.root, "new.cc"), "w", encoding="utf-8"):
            pass
        self.run_tests("--full", "tsan")
        self.assertEqual(self.rows()["tsan"][0], "dirty")

    def test_the_default_run_has_stages(self):
        self.run_tests()
        rows = self.rows()
        together = rows.pop("default")[2:]
        self.assertLessEqual({"dev", "format", "release", "size", "smoke-wasm", "smoke-cortex-m4"}, set(rows))
        self.assertEqual(tuple(sum(row[i] for row in rows.values()) for i in (2, 3, 4)), together)

    def test_a_change_runs_what_it_reaches(self):
        self.run_tests("--full", "tsan")
        with open(os.path.join(self.root, "one.py"), "w", encoding="utf-8") as file:
            file.write("# changed\n")
        self.commit("one")
        status, lines = self.run_tests("--changed", "--list")
        self.assertEqual((status, len(self.ctest())), (0, 1))  # of the run above: --list runs nothing
        self.assertIn("  test one                                 one.py", lines)
        status, lines = self.run_tests("--changed", "HEAD~1")
        self.assertEqual((status, lines[-1]), (0, "2 passed, 0 failed, 0 skipped"))
        self.assertTrue(self.ctest()[-1].endswith("-R ^(one)$"), self.ctest())
        self.assertEqual(self.rows()["dev"][0], "clean")
        self.assertRegex(self.rows()["dev"][1], "^since [0-9a-f]{40}$")

    def test_without_a_base_it_starts_where_all_of_it_was_green(self):
        self.run_tests("--quick")
        self.assertNotIn("recorded green", self.run_tests("--changed", "--list")[1][0])
        self.run_tests()  # the default run: dev is green here
        for number in range(2):
            with open(os.path.join(self.root, "one.py"), "a", encoding="utf-8") as file:
                file.write(f"# {number}\n")
            self.commit("one")
        first = self.run_tests("--changed", "--list")[1][0]
        self.assertRegex(first, "^base .* is recorded green; 1 files differ$")
        self.run_tests("--changed")  # dev since that commit: green here, as it was there
        self.assertRegex(self.run_tests("--changed", "--list")[1][0], "recorded green; 0 files differ$")

    def test_owed(self):
        status, lines = self.run_tests("--owed")
        self.assertEqual(status, 1)
        self.assertIn("  tsan                     owed: never recorded green", lines)
        self.run_tests("--full", "tsan")
        self.assertRegex("\n".join(self.run_tests("--owed")[1]), "tsan +green at ")

    def test_wrong_arguments(self):
        for arguments in (["tsan"], ["--list"], ["--full", "nothing"], ["--changed", "no-such-commit", "--list"]):
            self.assertNotEqual(self.run_tests(*arguments)[0], 0, arguments)


if __name__ == "__main__":
    unittest.main()
