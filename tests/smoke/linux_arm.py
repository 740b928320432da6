#!/usr/bin/env python3
"""samples/linux-arm as a product builds it: of an installed Vireo, with the toolchain file, for the cross build's target.

  linux_arm.py BUILD SOURCE_ROOT TOOLCHAIN_FILE MODEL.vireo VECTORS.npz [EMULATOR...]
"""
import pathlib
import shutil
import struct
import subprocess
import sys
import zipfile

build, root, toolchain, model, vectors = map(pathlib.Path, sys.argv[1:6])
emulator = sys.argv[6:]
MACHINES = {"aarch64": 183, "arm": 40, "riscv64": 243}  # of ELF


def run(*command, **more):
    done = subprocess.run([str(c) for c in command], capture_output=True, check=False, timeout=300, **more)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: {done.returncode}\n{done.stdout.decode()}{done.stderr.decode()}")
    return done


def floats(name):
    """The bytes of an array of float32 of an .npz, without numpy."""
    data = zipfile.ZipFile(vectors).read(name)
    header = data[10:10 + struct.unpack("<H", data[8:10])[0]].decode()
    assert "'<f4'" in header and "'fortran_order': False" in header, header
    return data[10 + len(header):]


work = build / "test" / "linux_arm"
shutil.rmtree(work, ignore_errors=True)
for component in ("runtime", "development"):
    run("cmake", "--install", build, "--prefix", work / "installed", "--component", component)
run("cmake", "-S", root / "samples" / "linux-arm", "-B", work / "build", f"-DCMAKE_TOOLCHAIN_FILE={toolchain}", f"-DCMAKE_PREFIX_PATH={work / 'installed'}")
run("cmake", "--build", work / "build")
program = work / "build" / "frames"
machine = struct.unpack("<H", program.read_bytes()[18:20])[0]
if machine != MACHINES[toolchain.name.split("-")[0]]:
    sys.exit(f"{program} is for machine {machine}")
frame, logits = floats("c0_in0.npy"), floats("c0_out0.npy")
values = struct.unpack(f"<{len(logits) // 4}f", logits)
right = values.index(max(values))
said = run(*emulator, program, model, input=3 * frame).stdout.decode()
if said != 3 * f"{right}\n":
    sys.exit(f"it says {said!r}, not {right} three times")
# What is wrong is said.
for arguments, given, wanted in (([model], frame[:-1], "the last frame is not whole"), ([work / "no.vireo"], b"", "no.vireo"), ([], b"", "usage")):
    done = subprocess.run([str(c) for c in (*emulator, program, *arguments)], input=given, capture_output=True, check=False, timeout=300)
    if done.returncode != 1 or wanted not in done.stderr.decode():
        sys.exit(f"{arguments}: {done.returncode} {done.stderr.decode()}")
print(f"frames for {toolchain.stem}: {right} of three frames")
