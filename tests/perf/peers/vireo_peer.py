"""Vireo itself: converts with $VIREO_PROGRAM, runs $VIREO_LIBRARY. Options: bf16 converts with --quantize bf16. For load times:
cached maps weights that an earlier process packed, packed those in the file (vireo pack), unchecked compares no hashes when it loads, as others do not.
alone has one thread whatever the others have: what the second thread is worth."""
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
    vireo = os.environ.get("VIREO_PROGRAM", "vireo")
    if "packed" in options:
        subprocess.run([vireo, "pack", file, "-o", file], check=True, capture_output=True)
    if "cached" in options:
        subprocess.run([vireo, "bench", file, "--threads", "1", "--seconds", "0", "--cache", file + ".cache"], check=True, capture_output=True)
    return file


def load(file, threads, feed, options):
    import vireo

    model = vireo.Model(file, vireo.Runtime(threads=1 if "alone" in options else threads), check_hashes="unchecked" not in options)
    arrays = [feed[value.name] for value in model.inputs]
    session = model.session(model.bounds_for(*arrays), cache=file + ".cache" if "cached" in options else None)
    return session.bind(*arrays).run
