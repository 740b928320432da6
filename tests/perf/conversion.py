"""conversion.py [--least MB] FILE-OR-FOLDER...: what converting each model costs: processor seconds and peak memory.

    VIREO_PROGRAM=build/release/bin/vireo python3 tests/perf/conversion.py ../shared/models ../shared/trained

Of folders, every .onnx below them. `peak` is the largest resident set of `vireo convert`; `ratio` what of it lies above that of
`vireo --version`, over the bytes of the ONNX file and its external data. Seconds are of all its threads. Needs GNU time. Rows
are Markdown, largest model first; a model that does not convert shows its first error instead. --least leaves smaller models out.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile


def measure(words):
    """(exit status, processor seconds, peak resident bytes, what it said). Through GNU time, which is small: a process counts
    what its parent held when it began, and this one holds more than `vireo --version` does."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "time")
        run = subprocess.run(["/usr/bin/time", "-q", "-o", out, "-f", "%U %S %M", *words], capture_output=True, text=True, check=False)
        with open(out, encoding="utf-8") as file:
            user, system, peak = file.read().split()
        return run.returncode, float(user) + float(system), int(peak) * 1024, run.stdout + run.stderr


def model_bytes(path):
    """The file and what it names beside it: external data lies in files whose names the model holds as text."""
    beside = {p.name.encode(): p.stat().st_size for p in path.parent.iterdir() if p.is_file() and p.suffix not in (".onnx", ".md")}
    size, block = path.stat().st_size, 1 << 16
    with open(path, "rb") as file:
        tail = b""
        while beside and (data := file.read(block)):
            for name in [name for name in beside if name in tail + data]:
                size += beside.pop(name)
            tail = data[-256:]
    return size


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+", type=pathlib.Path)
    parser.add_argument("--least", type=float, default=0)
    options = parser.parse_args()
    program = os.environ.get("VIREO_PROGRAM", "vireo")
    paths = []
    for path in options.paths:
        paths += sorted(path.rglob("*.onnx")) if path.is_dir() else [path]
    sized = sorted(((model_bytes(path), path) for path in paths), key=lambda row: (-row[0], row[1]))
    _, _, base, _ = measure([program, "--version"])
    print("| model | MB | seconds | MB/s | peak MB | ratio |\n| --- | ---: | ---: | ---: | ---: | ---: |")
    refused = 0
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "model.vireo")
        for size, path in sized:
            if size < options.least * 1e6:
                continue
            status, seconds, peak, said = measure([program, "convert", str(path), "-o", out])
            if status != 0:
                refused += 1
                errors = [line for line in said.splitlines() if "error" in line] or [f"exit status {status}"]
                print(f"| {path.stem} | {size / 1e6:.2f} | not converted: {errors[0]} | | | |", flush=True)
                continue
            print(f"| {path.stem} | {size / 1e6:.2f} | {seconds:.2f} | {size / 1e6 / max(seconds, 1e-3):.0f} | {peak / 1e6:.0f} |"
                  f" {(peak - base) / size:.2f} |", flush=True)
    print(f"{len(sized)} models, {refused} not converted; `vireo --version` takes {base / 1e6:.0f} MB", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
