#!/usr/bin/env python3
"""A model in int8, with the answers of this machine inside.

    quantized.py VIREO MODEL.onnx VECTORS.npz OUT.vireo

VECTORS.npz has one input a case (c0_in0, c1_in0, ...); the first one calibrates. Channels stay first, as kernels for
microcontrollers want them. Without numpy: an .npz is a zip of arrays, and arrays are copied as they are.
"""
import os
import subprocess
import sys
import tempfile
import zipfile

vireo, model, vectors, out = sys.argv[1:]
convert = [vireo, "convert", model, "--shape", "features=1,1,49,10", "--skip", "choose_layout", "--quantize", "int8",
           "--calibrate", vectors, "-i", "features=c0_in0", "-o", out]


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")


with tempfile.TemporaryDirectory() as folder:
    run(convert)
    recorded = os.path.join(folder, "recorded.npz")
    with zipfile.ZipFile(vectors) as given, zipfile.ZipFile(recorded, "w") as record:
        for name in [n for n in given.namelist() if n.endswith("_in0.npy")]:
            features, answers = os.path.join(folder, "features.npy"), os.path.join(folder, "answers.npz")
            with open(features, "wb") as file:
                file.write(given.read(name))
            run([vireo, "run", out, "-i", f"features={features}", "-o", answers])
            record.writestr(name, given.read(name))
            with zipfile.ZipFile(answers) as answer:
                record.writestr(name.replace("_in0", "_out0"), answer.read(answer.namelist()[0]))
    run([*convert, "--embed-tests", recorded])
