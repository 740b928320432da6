"""ONNX's own operator cases through --emit firmware: what a core takes computes a session's values, what it does not take is
refused by node and reason; of what it takes, some build and run on the emulated core.

A conversion compares the plan with a session, so an exit status of 0 says that they agree.
"""
import collections
import json
import re
import shutil
import subprocess
import sys
import unittest

import firmware_test
import support

WORK = support.room("firmware_cases")
TARGET = "cortex-m55"
TAKEN = 645    # of all cases at least; what is refused names its node
BUILT = 30     # of those that are taken, every so many build and run in the emulator
TYPES = {1, 2, 3, 4, 5, 6, 7}  # float32, and integers


def cases():
    folder = WORK / "cases"
    if not folder.exists():
        done = subprocess.run([sys.executable, "-B", support.ROOT / "tests" / "onnx_cases.py", WORK / "made"], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        (WORK / "made").rename(folder)
    return sorted(folder.iterdir())


def fits(path):
    """Whether a core has the types of a model's inputs and outputs."""
    import onnx
    graph = onnx.load(path / "model.onnx").graph
    values = [v.type for v in (*graph.input, *graph.output)]
    return all(v.WhichOneof("value") == "tensor_type" and v.tensor_type.elem_type in TYPES for v in values)


def runs(test, folder):
    built = firmware_test.run("make", "-j2", cwd=folder)
    test.assertEqual(built.returncode, 0, built.stdout + built.stderr)
    ran = firmware_test.run("make", "-s", "test", cwd=folder)
    test.assertEqual(ran.returncode, 0, f"{folder}: {ran.stdout}{ran.stderr}")
    about = json.loads((folder / "manifest.json").read_text())["models"][0]
    test.assertIn(f"{about['name']} hash {about['selftest']['hash']}\n", ran.stdout + ran.stderr)


class Cases(unittest.TestCase):
    maxDiff = None

    def test_taken_or_refused_by_name(self):
        reason = support.missing("numpy", "onnx")
        if reason:
            self.skipTest(reason)
        tools = firmware_test.tools_missing(TARGET)
        taken, refused, wrong = [], collections.Counter(), []
        every = max(1, support.SAMPLE)
        for path in [c for c in cases()[::every] if fits(c)]:
            folder = WORK / "folder"
            shutil.rmtree(folder, ignore_errors=True)
            done = support.vireo("convert", path / "model.onnx", "--target", TARGET, "--emit", "firmware", folder, check=False)
            said = done.stdout + done.stderr
            if done.returncode == 0:
                taken.append(path.name)
                if not tools and len(taken) % BUILT == 1:
                    runs(self, folder)
            elif f"target {TARGET} cannot run the model" in said:
                named = re.search(r'\n  (\S+ node "[^"]*": .+|output "[^"]*" is a constant.*|the sizes of its input "[^"]*" are open)', said)
                if named is None:
                    wrong.append((path.name, said))
                else:
                    refused[re.sub(r'"[^"]*"', "", named[1])] += 1
            elif not re.search(r"^error VC\d+", said, re.M):  # else the converter does not take it for any target
                wrong.append((path.name, said))
        print(f"{len(taken)} cases taken, {sum(refused.values())} refused for {len(refused)} reasons")
        self.assertEqual(wrong, [])
        self.assertGreaterEqual(len(taken), TAKEN if every == 1 else TAKEN * 8 // (10 * every))  # a sample may have fewer


if __name__ == "__main__":
    support.main()
