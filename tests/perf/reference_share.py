"""reference_share.py MODEL.onnx...: which operators still run on reference kernels, and what share of each model's time they take.

    VIREO_PROGRAM=build/release/bin/vireo python tests/perf/reference_share.py MODEL.onnx...

Profiles each model for a quarter of a second on one thread. Prints the models by the share of their time that reference kernels take,
with the operators that take it, then the operators by their shares summed over all models: what is worth a tuned kernel next.
"""
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile


def profile(program, model):
    """Time by (operator, kernel); None when the model needs inputs or shapes that a sample does not have."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "profile.json")
        words = [program, "bench", model, "--threads", "1", "--seconds", "0.25", "--profile", out]
        if subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode != 0:
            return None
        times = collections.Counter()
        for node in json.load(open(out))["nodes"]:
            times[node["op"], node["kernel"]] += node["p50_us"]
        return times


def main():
    program = os.environ.get("VIREO_PROGRAM", "vireo")
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    rows, shares = [], collections.defaultdict(list)
    for model in sys.argv[1:]:
        name, times = pathlib.Path(model).stem, profile(program, model)
        if not times:
            print(f"{name}: did not run, left out")
            continue
        total = sum(times.values())
        slow = {op: t / total for (op, kernel), t in times.items() if kernel == "reference"}
        rows.append((sum(slow.values()), name, total / 1e3, slow))
        for op, share in slow.items():
            shares[op].append((share, name))
    for share, name, ms, slow in sorted(rows, reverse=True):
        most = sorted(slow.items(), key=lambda item: -item[1])[:5]
        print(f"{name:<34} {ms:9.3f} ms  {100 * share:5.1f} %  " + ", ".join(f"{op} {100 * s:.1f}" for op, s in most))
    print()
    for op, found in sorted(shares.items(), key=lambda item: -sum(s for s, _ in item[1])):
        print(f"{op:<26} {sum(s for s, _ in found):7.3f} in {len(found):2} models, most in {max(found)[1]}")


if __name__ == "__main__":
    main()
