"""samples/firmware on emulated boards: the word of each recording on the serial port, and two models that share a core."""
import re
import shutil

import firmware_test
import support
from firmware_test import run

WORK = support.room("firmware_samples")
SAMPLES = support.ROOT / "samples"
CORES = ("cortex-m4", "cortex-m3", "cortex-m7", "cortex-m0plus")  # of boards whose serial port uart.h knows


def built_and_run(test, folder, main):
    ran = run("make", "-s", "run", f"MAIN={main}", cwd=folder)
    said = ran.stdout + ran.stderr
    test.assertEqual(ran.returncode, 0, said)
    test.assertNotIn("warning", said)
    return said


def words_on_core(test, target):
    reason = firmware_test.tools_missing(target) or support.missing("numpy")
    if reason:
        test.skipTest(reason)
    import numpy
    folder, features = WORK / f"words_{target}", WORK / f"features_{target}.npz"
    shutil.rmtree(folder, ignore_errors=True)
    (WORK / target).mkdir(exist_ok=True)
    model = WORK / target / "words.onnx"
    shutil.copy(SAMPLES / "models" / "kws_dscnn.onnx", model)
    support.vireo("quantize", model, "--data", SAMPLES / "models" / "kws_dscnn.npz", "-i", "features=c0_in0", "--shape", "features=1,1,49,40",
                  "--target", target, "--emit", "firmware", folder)
    for name in ("word.c", "uart.h"):
        shutil.copy(SAMPLES / "firmware" / name, WORK / target)
    for word in ("yes", "stop", "left"):
        support.vireo("run", SAMPLES / "models" / "kws_frontend.onnx", "--shape", "audio=1,16000", "--input", f"audio={SAMPLES / 'media' / word}_1.wav", "-o", features)
        values = numpy.load(features)["features"].reshape(-1)
        (WORK / target / "features.h").write_text("static const float kFeatures[] = {" + ", ".join(f"{v:.9e}f" for v in values) + "};\n")
        test.assertEqual(built_and_run(test, folder, WORK / target / "word.c"), f"{word}\n")


def cooperative_on_core(test, target):
    reason = firmware_test.tools_missing(target) or support.missing("numpy")
    if reason:
        test.skipTest(reason)
    import numpy
    folder = WORK / f"cooperative_{target}"
    shutil.rmtree(folder, ignore_errors=True)
    right = {}
    for name, source, value, shape, add in (("words", "kws_dscnn_mfcc", "features", "1,1,49,10", []), ("digits", "digit_mobile", "image", "1,1,32,32", ["--add"])):
        model, cases = WORK / f"{name}.onnx", SAMPLES / "models" / f"{source}.npz"
        shutil.copy(SAMPLES / "models" / f"{source}.onnx", model)
        support.vireo("convert", model, "--shape", f"{value}={shape}", "--quantize", "int8", "-i", f"{value}=c0_in0", "--calibrate", cases, "--embed-tests", cases,
                      "--target", target, "--emit", "firmware", folder, *add)
        right[name] = int(numpy.load(cases)["c1_out0"].argmax())
    said = built_and_run(test, folder, SAMPLES / "firmware" / "cooperative.c")
    found = re.findall(r"^(\w+): output (\d+) is the largest, after (\d+) slices$", said, re.M)
    test.assertEqual(sorted(name for name, _, _ in found), ["digits", "words", "words"], said)
    for name, answer in right.items():
        test.assertEqual(next(int(a) for n, a, _ in found if n == name), answer, said)
    test.assertGreater(int(re.search(r"the loop had (\d+) turns", said)[1]), 500, said)


Samples = support.cases("", {f"{what.__name__}_{target}": lambda test, what=what, target=target: what(test, target)
                             for what in (words_on_core, cooperative_on_core) for target in CORES})


if __name__ == "__main__":
    support.main()
