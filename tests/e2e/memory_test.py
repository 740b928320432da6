"""The memory contract over whole models: each is converted and run by tests/alloc/memory_contract, which counts allocations,
guards and paints the arena, and tries one byte less. Prints a table: arena bytes against the lower bound (the largest set of
bytes alive at once).

    memory_test.py                          a test case for every model of the samples, models and trained folders
    memory_test.py --table FILE.onnx...     the table of these files alone, as Markdown

Inputs are those of the largest stored case (FILE.npz), whose extents also bound open dimensions.
"""
import json
import os
import pathlib
import re
import subprocess
import sys

import support

CONTRACT = os.environ.get("VIREO_MEMORY_CONTRACT", str(support.BUILD / "test" / "memory_contract"))


def largest_case(reference):
    """Of the stored cases, the inputs of the one with the most elements: [array], in the order of the inputs."""
    import numpy as np
    if not reference.exists():
        return []
    found = {}
    with np.load(reference, allow_pickle=False) as arrays:
        for key in arrays.files:
            place = re.fullmatch(r"c(\d+)_in(\d+)", key)
            if place:
                found.setdefault(int(place[1]), {})[int(place[2])] = arrays[key]
    if not found:
        return []
    case = max(found.values(), key=lambda inputs: sum(a.size for a in inputs.values()))
    return [case[i] for i in sorted(case)]


def contract(file, inputs):
    """Runs memory_contract over a .vireo file at the bounds of `inputs`, arrays in the file's order; [] when unknown."""
    # Extents that the data decide: what the command line assumes too.
    arguments, written = ["--default", "256"] if inputs else [], []
    for i, (io, value) in enumerate(zip(json.loads(support.vireo("inspect", file, "--json").stdout)["inputs"], inputs)):
        for dim, extent in zip(io["shape"], value.shape):
            if isinstance(dim, dict) and dim["max"] is None:
                arguments += ["--bound", f"{dim['name']}={extent}"]
        if value.dtype.kind in "biuf":
            written.append(file.with_suffix(f".in{i}"))
            value.tofile(written[-1])
            arguments += ["--input", f"{i}={written[-1]}"]
    done = subprocess.run([CONTRACT, "--json", *arguments, str(file)], capture_output=True, text=True, check=False)
    for path in written:
        path.unlink()
    return done


def measure(model):
    file = support.convert(model, "memory_" + model.stem)
    done = contract(file, largest_case(model.with_suffix(".npz")))
    file.unlink()
    return done


def row(name, done):
    r = json.loads(done.stdout)
    ratio = r["arena_bytes"] / r["lower_bound"] if r["lower_bound"] else 1.0
    return (f"| {name} | {r['arena_bytes']:,} | {r['lower_bound']:,} | {ratio:.3f} | {r['high_water']:,} | "
            f"{r['scratch_bytes']:,} | {r['total_bytes']:,} | {r['packed_bytes']:,} | {'equal' if r['exact'] else 'at most'} |")


def check(model):
    def run(test):
        done = measure(model)
        test.assertEqual(done.returncode, 0, done.stderr)
        print("\n" + row(model.stem, done))
    return run


def models():
    found = list((support.ROOT / "samples" / "models").glob("*.onnx"))
    for folder in ("models", "trained"):
        found += (support.SHARED / folder).glob("*/*.onnx")
    return {f"{m.parent.name}/{m.stem}": m for m in sorted(found)}


def table(files):
    print("| model | arena bytes | lower bound | ratio | high water | scratch bytes | session bytes | packed weights | high water must be |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |")
    failures = 0
    for file in files:
        done = measure(pathlib.Path(file))
        if done.stdout:
            print(row(pathlib.Path(file).stem, done), flush=True)
        if done.returncode != 0:
            failures += 1
            print(done.stderr, file=sys.stderr)
    return 1 if failures else 0


reason = support.missing("numpy")
if not reason and not pathlib.Path(CONTRACT).exists():
    reason = f"{CONTRACT} is not built (sanitizers bring allocators of their own)"
Memory = support.cases(reason, {} if reason else {name: check(model) for name, model in models().items()})

if __name__ == "__main__":
    if sys.argv[1:2] == ["--table"]:
        sys.exit(table(sys.argv[2:]))
    support.main()
