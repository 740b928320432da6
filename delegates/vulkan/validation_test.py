#!/usr/bin/env python3
"""validation_test.py BUILD: what Vulkan's validation layers, with the check of synchronisation, say of the runner's tests and of a model.

It needs a device and the layers (Debian: vulkan-validationlayers); without one of them it is skipped (exit status 77) with the reason.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

MODEL = pathlib.Path(__file__).resolve().parents[2] / "samples" / "models" / "digit_mobile.onnx"
LAYER = "VK_LAYER_KHRONOS_validation"
ENVIRONMENT = {**os.environ, "VK_INSTANCE_LAYERS": LAYER, "VK_LOADER_DEBUG": "layer", "VIREO_PROBE": "off",
               "VK_LAYER_ENABLES": "VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT"}


def run(*command):
    done = subprocess.run([str(c) for c in command], env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", timeout=300, check=False)
    return done.returncode, done.stdout


def complaints(text):
    return [row for row in text.splitlines() if any(word in row for word in ("Validation", "VUID-", "SYNC-HAZARD", "UNASSIGNED"))]


def main(build):
    runner = build / "test" / "vireo_vulkan_test"
    status, text = run(runner, "--gtest_brief=0")
    if "SKIPPED" in text:
        print("skipped:", next(row for row in text.splitlines() if "Skipped" in row or "ulkan" in row))
        return 77
    if f'Inserted device layer "{LAYER}"' not in text:
        print(f"skipped: {LAYER} is not installed (toolchains/bootstrap --for tests)")
        return 77
    failures = []
    if status != 0 or complaints(text):
        failures.append(f"the runner's tests: exit status {status}\n{text}")
    status, text = run(runner, "--gtest_also_run_disabled_tests", "--gtest_filter=*BarrierIsMissing")
    if not complaints(text):
        failures.append(f"a missing barrier was not noticed\n{text}")
    with tempfile.TemporaryDirectory() as room:
        model, vireo = pathlib.Path(room) / "model.vireo", build / "bin" / "vireo"
        subprocess.run([vireo, "convert", MODEL, "--shape", "image=1,1,32,32", "-o", model], check=True, stdout=subprocess.DEVNULL)
        status, text = run(vireo, "verify", model, "--placements", "2", "--device", "vulkan,cpu", "--plugins", build / "plugins" / "libvireo_vulkan.so")
    if status != 0 or complaints(text):
        failures.append(f"{MODEL.name}: exit status {status}\n{text}")
    print("\n".join(failures) if failures else "no complaint")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve()))
