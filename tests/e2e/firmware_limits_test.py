"""Limits that images keep on each core: bytes beside model and kernels, the last step of products beside its formula, damaged plans behind
a memory protection unit; and models that others made, by the commands of their folder's README."""
import json
import re
import shutil
import unittest

import firmware_test
import support
from firmware_test import CORES, manifest, run

WORK = support.room("firmware_limits")
CASES = 1000000  # of the last step, on each core
# Bytes of code: executor and API; an image without kernels and model.
EXECUTOR_MOST, IMAGE_MOST = 3072, 4608
FULL = support.SAMPLE == 1


def requantize_on_core(test, target):
    """A million sums to codes: the formula's, on the core, and the hash of this machine."""
    host = WORK / "requantize_host"
    if not host.exists():
        kernels = support.ROOT / "delegates" / "mcu" / "kernels"
        flat = WORK / "include"
        flat.mkdir(exist_ok=True)
        for name in ("requantize.h", "lanes.h"):  # as folders have them
            (flat / name).write_text((kernels / name).read_text().replace("delegates/mcu/kernels/", ""))
        built = run("cc", "-std=c99", "-O2", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror", "-DON_HOST", f"-DCASES={CASES}", f"-I{flat}", f"-I{support.ROOT}",
                    support.ROOT / "tests" / "smoke" / "mcu_requantize.c", kernels / "requantize.c", "-o", host)
        test.assertEqual(built.returncode, 0, built.stderr)
    expected = run(host)
    test.assertEqual(expected.returncode, 0, expected.stdout)
    folder = firmware_test.emit(target, name=f"requantize_{target}")
    _, _, qemu = firmware_test.image_of(test, target, support.ROOT / "tests" / "smoke" / "mcu_requantize.c", f"-DCASES={CASES}", "-ffp-contract=off",
                                        f"-I{folder / 'src'}", folder=folder)
    ran = run(*qemu)
    test.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
    test.assertEqual((ran.stdout + ran.stderr).strip(), expected.stdout.strip())


def sizes_on_core(test, target):
    """What the keyword spotter's image has beside kernels and model; no heap, no constructors, no C++, no division of 64 bits."""
    reason = firmware_test.tools_missing(target)
    if reason:
        test.skipTest(reason)
    folder = firmware_test.emit(target, name=f"map_{target}")
    built = run("make", "-j2", cwd=folder)
    test.assertEqual(built.returncode, 0, built.stdout + built.stderr)
    image, tools = folder / "build" / "selftest.elf", manifest(folder)["target"]["compiler"].removesuffix("gcc")
    sections = dict(re.findall(r"^(\.\S+) +(\d+)", run(tools + "size", "-A", image).stdout, re.M))
    test.assertEqual({name for name in sections if "array" in name or name in (".ctors", ".dtors", ".init", ".fini")}, set())
    names = run(tools + "nm", image).stdout
    test.assertIsNone(re.search(r" (malloc|calloc|realloc|free|_?sbrk|__cxa\w+|_Zn\w+|__gxx\w+|__aeabi_u?ldivmod|__u?(div|mod)di3|errno|__errno)$", names, re.M))
    compiler = manifest(folder)["target"]["compiler"]
    command = next(line for line in run("make", "-n", "-B", cwd=folder).stdout.splitlines() if line.startswith(compiler) and "-T" in line)
    linked = run("sh", "-c", command.replace("-o ", "-Wl,-Map=build/map -o "), cwd=folder)
    test.assertEqual(linked.returncode, 0, linked.stderr)
    code = {}
    used = (folder / "build" / "map").read_text().split("Linker script and memory map")[1]
    for size, of in re.findall(r"^ \.(?:text|vectors)\S*\s+0x[0-9a-f]+\s+0x([0-9a-f]+) .*?([\w.-]+\.o)\)?$", used, re.M):
        code[of] = code.get(of, 0) + int(size, 16)
    # With what checks and calls kernels.
    executor = sum(size for of, size in code.items() if of in ("vireo_mcu.o", "bounds.o", "conv_bounds.o", "linked.o", "trace.o") or of.startswith("call_"))
    base = executor + sum(code.get(name, 0) for name in ("startup.o", "selftest.o", "memory.o", "kws_dscnn_mfcc_tests.o"))
    print(f"{target}: executor and API {executor} bytes, with startup and self-test {base}")
    test.assertGreater(executor, 1500)
    test.assertGreater(code["startup.o"], 50)
    test.assertLessEqual(executor, EXECUTOR_MOST)
    test.assertLessEqual(base, IMAGE_MOST)


def limited(target, arena):
    """The target with so many bytes for its arena."""
    profile = json.loads((support.ROOT / "converter" / "target" / "profiles" / f"{target}.json").read_text())
    file = WORK / f"{target}_{arena}.json"
    file.write_text(json.dumps({**profile, "memory": {"pointer": 4, "arena": arena}}))
    return file


def mutated_on_core(test, target, cases, slots=0):
    """Damaged plans, or slots, write to nothing but the arena, and the unit that watches over it is on."""
    reason = firmware_test.tools_missing(target) or support.missing("numpy", "onnx")
    if reason:
        test.skipTest(reason)
    folder = WORK / f"{'slots' if slots else 'mutated'}_{target}"
    shutil.rmtree(folder, ignore_errors=True)
    # In strips, so that segments are damaged too.
    support.vireo("convert", firmware_test.picture_model(12), "--target", limited(target, 2300), "--emit", "firmware", folder)
    about = json.loads((folder / "manifest.json").read_text())["models"][0]
    test.assertLessEqual({"conv", "depthwise", "add"}, set(about["kernels"]))
    test.assertTrue(about["strips"])
    bits = max(8, (about["bytes"]["arena"] - 1).bit_length())
    for escape in (1, 0):
        _, _, qemu = firmware_test.image_of(test, target, support.ROOT / "tests" / "smoke" / "mcu_mutated.c", f"-DCASES={cases}", f"-DESCAPE={escape}",
                                            f"-DSLOTS={slots}", f"-I{folder / 'src'}",
                                            f"-DWINDOW_BITS={bits}", f"-DFRONT={about['bytes']['plan'] - about['bytes']['constants']}", folder=folder)
        ran = run(*qemu, seconds=1200)
        said = ran.stdout + ran.stderr
        test.assertEqual(ran.returncode, 139 if escape else 0, said)
    print(f"{target}: {cases} damaged {'slots' if slots else 'plans'}: {' '.join(said.split())}")


# Models of others: their inputs' sizes.
STRANGERS = {"tabular/fraud_mlp": {"dense_input": (1, 5)}, "rl_policy/orca_congestion_actor": {"state": (1, 7)},
             "rl_policy/godot_airhockey": {"obs": (1, 26), "state_ins": (1,)}, "rl_policy/godot_ships": {"obs": (1, 675), "state_ins": (1,)}}
CORES_OF_STRANGERS = ("cortex-m4", "cortex-m0plus", "cortex-m55", "rv32imc")


def stranger_on_core(test, model, target):
    """The README's commands, as they stand there, build the folder of a model and run it."""
    reason = firmware_test.tools_missing(target) or support.missing("numpy", folder="models")
    if reason:
        test.skipTest(reason)
    import numpy
    source, name = support.SHARED / "models" / f"{model}.onnx", f"{model.split('/')[1]}_{target}"
    given, random, data, options = numpy.load(source.with_suffix(".npz")), numpy.random.default_rng(7), {}, []
    for i, (value, shape) in enumerate(STRANGERS[model].items()):
        one = given[f"c0_in{i}"][:1].reshape(shape)
        data[value] = numpy.concatenate([one * random.uniform(0.3, 1.7, shape).astype(one.dtype) for _ in range(16)])
        options += ["--shape", f"{value}={','.join(map(str, shape))}"]
    numpy.savez(WORK / f"{name}.npz", **data)
    folder = WORK / name
    shutil.rmtree(folder, ignore_errors=True)
    support.vireo("quantize", source, *options, "--data", WORK / f"{name}.npz", "--target", target, "--emit", "firmware", folder)
    commands = re.findall(r"^    (\S.*)$", (folder / "README.md").read_text().split("| model |")[0], re.M)
    test.assertEqual([c.split("#")[0].strip() for c in commands[:2]], ["make", "make test"])
    test.assertEqual(len(commands), 3)
    test.assertTrue(commands[2].startswith("openocd"))  # flashes a board
    for command in commands[:2]:
        ran = run("sh", "-c", command, cwd=folder)
        test.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        test.assertNotIn("warning", ran.stdout + ran.stderr)
    model_of = manifest(folder)["models"][0]
    test.assertIn(f"{model_of['name']} hash {model_of['selftest']['hash']}\n", ran.stdout + ran.stderr)


# In a default run the first, fifth, ninth: each kind of test once at least.
def floor_of_reals(test, target):
    """The float32 keyword spotter in a quarter of the RAM that onnx2c takes for it: no value stands whole, and the average
    behind the last filter gets its rows as they are made. The bits are the same."""
    reason = firmware_test.tools_missing(target)
    if reason:
        test.skipTest(reason)
    hashes = []
    for name, of in ((f"floor_{target}", limited(target, 14900)), (f"floor_whole_{target}", firmware_test.without_strips(target))):
        folder = WORK / name
        shutil.rmtree(folder, ignore_errors=True)
        support.vireo("convert", firmware_test.MODEL, *firmware_test.SHAPE, "--target", of, "--emit", "firmware", folder)
        hashes.append(firmware_test.selftest(folder)["hash"])
    test.assertEqual(*hashes)
    folder = WORK / f"floor_{target}"
    about = manifest(folder)
    layers = about["models"][0]["layers"]
    test.assertEqual([layer["kernel"] for layer in layers if "segment" in layer][-1], "average_rows_reals")
    built = run("make", "-j2", cwd=folder)
    test.assertEqual(built.returncode, 0, built.stdout + built.stderr)
    if target == "cortex-m4":
        test.assertLessEqual(int(re.search(r"^ram +(\d+) of", built.stdout, re.M)[1]), 64048 // 4)
    ran = run("make", "-s", "test", cwd=folder)
    test.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
    test.assertIn(f"kws_dscnn_mfcc hash {hashes[0]}\n", ran.stdout + ran.stderr)
    counted = firmware_test.count_instructions(folder, about) / about["models"][0]["selftest"]["cases"]
    test.assertLess(abs(about["models"][0]["instructions"] / counted - 1), 0.15)
    if target == "cortex-m4":
        test.assertLessEqual(counted, 10.6e6)
    firmware_test.steps_on_core(test, target, folder)


def floor_of_codes(test, target):
    """The int8 keyword spotter without a whole value between its input and the average: the bits of the plan of whole values."""
    reason = firmware_test.tools_missing(target)
    if reason:
        test.skipTest(reason)
    folder = WORK / f"codes_{target}"
    shutil.rmtree(folder, ignore_errors=True)
    support.vireo("convert", firmware_test.MODEL, *firmware_test.QUANTIZE, "--target", limited(target, 7300), "--emit", "firmware", folder)
    test.assertIn("average_rows", manifest(folder)["models"][0]["kernels"])
    test.assertEqual(firmware_test.selftest(folder)["hash"], firmware_test.selftest(firmware_test.emit(target, name=f"codes_whole_{target}"))["hash"])
    built = run("make", "-j2", cwd=folder)
    test.assertEqual(built.returncode, 0, built.stdout + built.stderr)
    ran = run("make", "-s", "test", cwd=folder)
    test.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
    test.assertIn(f"kws_dscnn_mfcc hash {firmware_test.selftest(folder)['hash']}\n", ran.stdout + ran.stderr)
    told = manifest(folder)["models"][0]["instructions"]
    counted = firmware_test.count_instructions(folder, manifest(folder)) / firmware_test.selftest(folder)["cases"]
    test.assertLess(abs(told / counted - 1), 0.15, (told, counted))
    print(f"{target}: {manifest(folder)['models'][0]['bytes']['arena']} bytes of arena, {counted:.0f} instructions")


Limits = support.cases("", {"mutated_on_cortex-m4": lambda test: mutated_on_core(test, "cortex-m4", 100000 if FULL else 10000)} | {
    f"floor_of_codes_on_{target}": lambda test, target=target: floor_of_codes(test, target) for target in ("cortex-m55", "cortex-m4", "cortex-m0plus")} | {
    f"floor_of_reals_on_{target}": lambda test, target=target: floor_of_reals(test, target) for target in ("cortex-m4", "cortex-m55")} | {
    f"requantize_on_{target}": lambda test, target=target: requantize_on_core(test, target) for target in CORES} | {
    f"stranger_{model}_on_{target}": lambda test, model=model, target=target: stranger_on_core(test, model, target)
    for i, model in enumerate(STRANGERS) for target in (CORES_OF_STRANGERS[i:] + CORES_OF_STRANGERS[:i])} | {
    f"sizes_on_{target}": lambda test, target=target: sizes_on_core(test, target) for target in CORES} | {
    f"mutated_on_{target}": lambda test, target=target, cases=cases: mutated_on_core(test, target, cases)
    for target, cases in (("cortex-m3", 20000), ("cortex-m0plus", 5000), ("cortex-m7", 20000))} | {
    f"slots_on_{target}": lambda test, target=target, cases=cases: mutated_on_core(test, target, cases, slots=1)
    for target, cases in (("cortex-m4", 100000 if FULL else 20000), ("cortex-m0plus", 5000), ("cortex-m3", 20000))})


if __name__ == "__main__":
    support.main()
