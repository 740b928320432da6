"""Firmware: folders that --emit writes build by a compiler alone, on this machine and for each core whose compiler and
emulator are here, and print the hash of this machine's session; what cannot run on a core is refused by name.

The image of a core also takes no more than its budgets, and budgets end the build where they are exceeded.
"""
import json
import re
import shutil
import subprocess
import unittest
import zipfile

import support

MODEL = support.ROOT / "samples" / "models" / "kws_dscnn_mfcc.onnx"
VECTORS = support.ROOT / "tests" / "smoke" / "kws_dscnn_mfcc.npz"
WORK = support.room("firmware")
SHAPE = ("--shape", "features=1,1,49,10")
QUANTIZE = (*SHAPE, "--quantize", "int8", "--calibrate", VECTORS, "-i", "features=c0_in0")
# In a default run the first, fifth and ninth: lanes and FPU, vectors, and the one without either.
CORES = {"cortex-m4": "mps2-an386", "cortex-m3": "mps2-an385", "cortex-m4-nofp": "mps2-an386", "cortex-m7": "mps2-an500",
         "cortex-m55": "mps3-an547", "cortex-m33": "mps3-an547", "cortex-m33-nofp": "mps3-an547", "rv32imc": "riscv-virt",
         "cortex-m0plus": "mps2-an385", "rv32imafc": "riscv-virt"}
# Bytes of the keyword spotter's image with its weights, and of RAM with its stack.
TEXT_MOST = {"cortex-m4-nofp": 42000, "cortex-m33-nofp": 42000, "cortex-m55": 45500, "rv32imc": 41000}
RAM_MOST = 12000

# What a board has to offer, on this machine.
BOARD = """
#include "board.h"
#include <stdio.h>
#include <stdlib.h>
void board_write(const char* text) { fputs(text, stdout); }
void board_exit(int status) { exit(status); }
uint32_t board_stack_used(void) { return 0; }
"""


def emit(target, *more, model=MODEL, name=None):
    folder = WORK / (name or target)
    shutil.rmtree(folder, ignore_errors=True)
    support.vireo("convert", model, *QUANTIZE, "--target", target, "--emit", "firmware", folder, *more)
    return folder


def run(*command, cwd=None):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False, cwd=cwd, timeout=300)


def manifest(folder):
    return json.loads((folder / "manifest.json").read_text())


def without(*programs):
    """Why an image cannot be built and run; "" when it can."""
    for program in programs:
        if shutil.which(program) is None:
            return f"{program} is not here (toolchains/bootstrap --for cross installs it)"
    return ""


def on_core(test, target):
    reason = without("make", "arm-none-eabi-gcc" if "cortex" in target else "riscv64-unknown-elf-gcc",
                     "qemu-system-arm" if "cortex" in target else "qemu-system-riscv32")
    if reason:
        test.skipTest(reason)
    folder = emit(target)
    about = manifest(folder)
    test.assertEqual(about["target"]["board"], CORES[target])
    built = run("make", "-j2", cwd=folder)
    test.assertEqual(built.returncode, 0, built.stdout + built.stderr)
    test.assertNotIn("warning", built.stdout + built.stderr)
    ran = run("make", "-s", "test", cwd=folder)
    said = ran.stdout + ran.stderr  # semihosting writes to either
    test.assertEqual(ran.returncode, 0, said)
    test.assertIn(f"kws_dscnn_mfcc hash {about['selftest']['hash']}\n", said)
    sizes = {name: int(used) for name, used in re.findall(r"^(\w+) +(\d+) of +\d+ bytes$", built.stdout, re.M)}
    test.assertLessEqual(sizes["text"], TEXT_MOST.get(target, 40000))
    test.assertLessEqual(sizes["ram"], RAM_MOST)
    # The stack that was used is not deeper than the call graph says, but for the reset's own frame. This model does not
    # take the deepest path of every core: the long way of the last step, or a convolution's loops of lanes on an M55.
    painted = int(re.search(r"^stack (\d+)$", said, re.M)[1])
    test.assertLessEqual(painted, sizes["stack"] + 16)
    test.assertLessEqual(sizes["stack"] - painted, 100)
    tool = about["target"]["compiler"].removesuffix("gcc") + "nm"
    image = run(tool, folder / "build" / "selftest.elf").stdout
    test.assertIsNone(re.search(r" (malloc|free|_sbrk|__cxa\w+|__aeabi_[u]?ldivmod|__u?divdi3|_init)$", image, re.M), image)


Cores = support.cases("", {target: lambda test, target=target: on_core(test, target) for target in CORES})


class Folder(unittest.TestCase):
    def test_it_builds_here_and_has_the_hash_of_a_session(self):
        folder = emit("cortex-m4", name="host")
        (folder / "board" / "host.c").write_text(BOARD)
        sources = [*folder.glob("src/*.c"), *folder.glob("model/*.c"), folder / "test" / "selftest.c", folder / "board" / "host.c"]
        for flags in ((), ("-DVIREO_MCU_LANES=1", "-DVIREO_MCU_FPU=0")):
            built = run("cc", "-std=c99", "-O1", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off", *flags,
                        *(f"-I{folder / i}" for i in ("include", "src", "model", "board")), *sources, "-o", folder / "selftest")
            self.assertEqual(built.returncode, 0, built.stderr)
            ran = run(folder / "selftest")
            self.assertEqual(ran.returncode, 0, ran.stdout)
            self.assertIn(f"hash {manifest(folder)['selftest']['hash']}\n", ran.stdout)
        # A wrong weight is found.
        plan = folder / "model" / "kws_dscnn_mfcc.c"
        words = plan.read_text().split(",")
        words[-200] = "\n0x12345678u"
        plan.write_text(",".join(words))
        run("cc", "-std=c99", "-O1", *(f"-I{folder / i}" for i in ("include", "src", "model", "board")), *sources, "-o", folder / "selftest")
        ran = run(folder / "selftest")
        self.assertEqual(ran.returncode, 1, ran.stdout)
        self.assertIn("expected", ran.stdout)

    def test_only_what_the_plan_names_is_copied(self):
        folder = emit("cortex-m4", name="copied")
        about = manifest(folder)
        self.assertEqual(about["kernels"], ["average", "conv", "depthwise", "dequantize", "gemm", "quantize"])
        linked = (folder / "src" / "linked.c").read_text()
        self.assertNotIn("softmax", linked)
        for source in folder.rglob("*.[ch]"):
            self.assertNotIn("delegates/", source.read_text(), source)
        # In place: one tensor of 8,000 bytes, and scratch memory. As `check` says it.
        self.assertLessEqual(about["bytes"]["arena"], 10800)
        told = json.loads(support.vireo("convert", MODEL, *QUANTIZE, "--target", "cortex-m4", "-o", WORK / "told.vireo", "--json").stdout)
        self.assertEqual((told["targets"][0]["arena_bytes"], told["targets"][0]["arena_of"]), (about["bytes"]["arena"], "plan"))

    def test_tests_of_the_file_are_kept(self):
        outputs = support.WORK / "firmware_tests.npz"
        with zipfile.ZipFile(VECTORS) as given, zipfile.ZipFile(outputs, "w") as kept:
            for name in given.namelist():
                kept.writestr(name, given.read(name))
        folder = emit("cortex-m4", "--embed-tests", outputs, name="kept")
        self.assertEqual(manifest(folder)["selftest"]["cases"], 7)
        (folder / "board" / "host.c").write_text(BOARD)
        sources = [*folder.glob("src/*.c"), *folder.glob("model/*.c"), folder / "test" / "selftest.c", folder / "board" / "host.c"]
        built = run("cc", "-std=c99", "-O1", *(f"-I{folder / i}" for i in ("include", "src", "model", "board")), *sources, "-o", folder / "selftest")
        self.assertEqual(built.returncode, 0, built.stderr)
        self.assertEqual(run(folder / "selftest").returncode, 0)

    def test_budgets_end_the_build(self):
        reason = without("make", "arm-none-eabi-gcc")
        if reason:
            self.skipTest(reason)
        folder = emit("cortex-m4", name="budgets")
        for what in ("TEXT", "RAM", "STACK"):
            built = run("make", "-j2", f"{what}_BUDGET=100", cwd=folder)
            self.assertNotEqual(built.returncode, 0)
            self.assertIn(f"error: {what.lower()} exceeds its budget", built.stdout)

    def test_the_file_runs_here_too(self):
        file = WORK / "both.vireo"
        emit("cortex-m4", "-o", file, name="both")
        self.assertTrue((WORK / "both" / "model" / "both.h").exists())  # named after the file
        support.vireo("verify", file, "--random", check=False)
        self.assertIn("IntConv", support.vireo("inspect", file).stdout)


class Refusals(unittest.TestCase):
    def refused(self, *arguments):
        done = support.vireo("convert", *arguments, check=False)
        self.assertEqual(done.returncode, 1, done.stdout)
        return done.stderr

    def test_a_model_in_floating_point(self):
        said = self.refused(MODEL, *SHAPE, "--target", "cortex-m4", "--emit", "firmware", WORK / "refused")
        self.assertIn("target cortex-m4 cannot run the model", said)
        self.assertIn('conv node "/body/body.0/Conv": it computes in floating point', said)
        self.assertIn("vireo quantize MODEL", said)
        self.assertFalse((WORK / "refused").exists())
        checked = support.vireo("check", MODEL, *SHAPE, "--target", "cortex-m4", check=False)
        self.assertEqual(checked.returncode, 1)
        self.assertIn('target cortex-m4 cannot run it: conv node "/body/body.0/Conv"', checked.stdout)

    def test_open_sizes(self):
        options = ("--quantize", "int8", "--calibrate", VECTORS, "-i", "features=c0_in0", "--target", "cortex-m4", "--emit", "firmware")
        said = self.refused(MODEL, *options, WORK / "open")
        self.assertIn('the sizes of its input "features" are open', said)
        self.assertIn("help: fix them, as in --shape features=1,", said)

    def test_options(self):
        folder = WORK / "options"
        shutil.rmtree(folder, ignore_errors=True)
        for said, arguments in {
                "--emit firmware needs to know the microcontroller": ("--emit", "firmware", folder),
                "--emit firmware is for one microcontroller": ("--target", "cortex-m4", "--target", "cortex-m7", "--emit", "firmware", folder),
                "--emit image: there is no such kind": ("--target", "cortex-m4", "--emit", "image", folder),
        }.items():
            self.assertIn(said, self.refused(MODEL, *QUANTIZE, *arguments))
        folder.mkdir()
        (folder / "mine.txt").write_text("mine")
        self.assertIn("not a folder that an earlier --emit wrote",
                      self.refused(MODEL, *QUANTIZE, "--target", "cortex-m4", "--emit", "firmware", folder))
        self.assertEqual([f.name for f in folder.iterdir()], ["mine.txt"])

    def test_a_folder_that_cannot_be_written_stays_as_it_was(self):
        folder = emit("cortex-m4", name="kept")
        before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        own = folder / "board" / "mine" / "startup.c"
        own.parent.mkdir()
        own.write_text("/* a board of one's own */")
        first = folder / "src" / "vireo_mcu.c"
        first.unlink()
        first.mkdir()  # nothing can be moved to where a folder stands
        said = self.refused(MODEL, *QUANTIZE, "--target", "cortex-m4", "--emit", "firmware", folder)
        self.assertIn("cannot write", said)
        self.assertFalse((WORK / "kept.partial").exists())
        first.rmdir()
        support.vireo("convert", MODEL, *QUANTIZE, "--target", "cortex-m4", "--emit", "firmware", folder)
        self.assertEqual({path: path.read_bytes() for path in before}, before)
        self.assertTrue(own.exists())

    def test_profiles(self):
        profile = {"name": "mine", "devices": [{"device": "cpu"}], "layout": "nchw",
                   "firmware": {"core": "cortex-m4", "compiler": "gcc", "flags": "-O2", "board": "mps2-an386"}}
        file = WORK / "mine.json"
        for key, value, said in (("core", "cortex-m99", "there is no core cortex-m99"), ("board", "desk", "there is no board desk")):
            file.write_text(json.dumps({**profile, "firmware": {**profile["firmware"], key: value}}))
            self.assertIn(said, self.refused(MODEL, *QUANTIZE, "--target", file, "-o", WORK / "mine.vireo"))
        file.write_text(json.dumps({**profile, "memory": {"arena": 10000}}))
        self.assertIn("the arena takes", self.refused(MODEL, *QUANTIZE, "--target", file, "-o", WORK / "mine.vireo"))


if __name__ == "__main__":
    support.main()
