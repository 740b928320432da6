"""Vireo itself: converts with $VIREO_PROGRAM, runs $VIREO_LIBRARY. Options go to `vireo convert`: bf16 as --quantize bf16."""
import os
import pathlib
import subprocess
import sys

from . import PeerError

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "bindings" / "python"))


def why_not():
    return None if os.environ.get("VIREO_LIBRARY") else "VIREO_LIBRARY does not name libvireo.so"


def prepare(model, folder, shapes, options):
    file = str(pathlib.Path(folder) / ("_".join(["model", *sorted(options)]) + ".vireo"))
    command = [os.environ.get("VIREO_PROGRAM", "vireo"), "convert", model, "-o", file]
    for name, dims in shapes.items():
        command += ["--shape", f"{name}={','.join(map(str, dims))}"]
    if "bf16" in options:
        command += ["--quantize", "bf16"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise PeerError(done.stderr.strip().splitlines()[0] if done.stderr.strip() else f"convert ended with {done.returncode}")
    return file


def load(file, threads, feed, options):
    import vireo

    model = vireo.Model(file, vireo.Runtime(threads=threads))
    arrays = [feed[value.name] for value in model.inputs]
    session = model.session(model.bounds_for(*arrays))
    return session.bind(*arrays).run
