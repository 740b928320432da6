"""Whether "auto" is as fast as the best single device: each model runs on "auto" and on each device alone (with the CPU behind it for
what it does not run) by turns in one process.

  VIREO_LIBRARY=build/release/lib/libvireo.so python tests/perf/never_slower.py [--threads N] [--pairs 9] MODEL.vireo...

One line a model: median milliseconds of each, and the median over the pairs of auto's time over the best single device's (that device is
chosen by its median). Above 1.05 a line is marked. Models with open dimensions run with 1 for each.
"""
import argparse
import pathlib
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bindings" / "python"))
import numpy as np  # noqa: E402
import vireo  # noqa: E402


def inputs_of(model):
    rng = np.random.default_rng(1)
    arrays = []
    for value in model.inputs:
        shape = [int(d) if isinstance(d, int) and d > 0 else 1 for d in value.shape]
        dtype = np.dtype(value.dtype)
        arrays.append(rng.random(shape).astype(dtype) if dtype.kind == "f" else np.zeros(shape, dtype))
    return arrays


def timed(session, arrays, times):
    begin = time.perf_counter()
    for _ in range(times):
        session.run(*arrays)
    return (time.perf_counter() - begin) / times * 1000


def measure(path, devices, options):
    with vireo.Model(path, vireo.Runtime(options.threads)) as model:
        arrays = inputs_of(model)
        bounds = model.bounds_for(*arrays)
        sessions = {name: model.session(bounds, device=name) for name in devices}
        try:
            for session in sessions.values():
                session.run(*arrays)
            times = max(1, int(20 / max(0.02, timed(sessions["auto"], arrays, 1))))
            rounds = []
            for k in range(options.pairs):
                order = list(sessions.items())
                order = order[k % len(order):] + order[:k % len(order)]
                rounds.append({name: timed(session, arrays, times) for name, session in order})
        finally:
            for session in sessions.values():
                session.close()
    medians = {name: statistics.median(r[name] for r in rounds) for name in devices}
    best = min((n for n in devices if n != "auto"), key=medians.get)
    return medians, best, statistics.median(r["auto"] / r[best] for r in rounds)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--devices", default="cpu;xnnpack,cpu", help="single devices, with semicolons between them")
    options = parser.parse_args()
    devices = ["auto", *options.devices.split(";")]
    slower = 0
    for path in options.models:
        try:
            medians, best, ratio = measure(path, devices, options)
        except (vireo.VireoError, ValueError, TypeError) as error:
            print(f"{pathlib.Path(path).stem}: left out: {error}")
            continue
        slower += ratio > 1.05
        print(f"{pathlib.Path(path).stem:36}" + "".join(f" {name} {ms:9.3f} ms" for name, ms in medians.items()) +
              f"  auto over {best}: {ratio:.3f}{'  SLOWER' if ratio > 1.05 else ''}", flush=True)
    print(f"{slower} above 1.05")


if __name__ == "__main__":
    main()
