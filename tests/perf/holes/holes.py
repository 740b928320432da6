"""The search for slow corners: random models of one or two nodes beside ONNX Runtime, by turns in one process, on one thread.

  VIREO_LIBRARY=... VIREO_PROGRAM=... python tests/perf/holes/holes.py --seconds 900 [--seed 1] [--table holes.json] [--least 20]

Prints cases that take over --least microseconds and are slower than ONNX Runtime by more than a tenth (--bar 0.9), reduced: one node
where one is as slow, fixed extents where they are. At the end the worst of each kind, with the kernels that ran. --table keeps the
worst of each kind over several searches. --case SEED... measures these (1 is returned for a wrong answer); --keep FOLDER writes the models of the worst.

The ratio is ONNX Runtime's processor time over ours, the median of several turns. A search passes or fails nothing, but an answer that
differs from ONNX Runtime's is printed as WRONG.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(pathlib.Path(__file__).resolve().parents[3] / "bindings" / "python")]
try:
    import numpy as np
    import onnx
    import onnxruntime
except ImportError as e:
    print(f"skipped: {e.name} is not installed")
    sys.exit(77)
import cases  # noqa: E402
import vireo  # noqa: E402


def processor_time(run, times):
    begin = time.thread_time()
    for _ in range(times):
        run()
    return (time.thread_time() - begin) / times


class Refused(Exception):
    """One of the two does not run the case."""


def agree(want, got):
    if want.dtype.kind != "f":
        return want.shape == got.shape and (np.asarray(want) == got).mean() > 0.99  # a rounding may turn over
    if want.shape != got.shape:
        return False
    finite = np.isfinite(want)
    if not finite.any():
        return True
    return np.abs(want[finite] - got[finite]).max() <= 1e-3 * max(1.0, np.abs(want[finite]).max())


def measure(case, folder, turns, seconds):
    """-> (ratio, our microseconds, kernels, whether answers agree)"""
    model, converted = folder / "case.onnx", folder / "case.vireo"
    onnx.save(case.model, model)
    done = subprocess.run([os.environ.get("VIREO_PROGRAM", "vireo"), "convert", str(model), "-o", str(converted)], capture_output=True, text=True)
    if done.returncode != 0:
        raise Refused("convert: " + done.stderr.strip().split("\n")[0])
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    try:
        theirs = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
        want = theirs.run(None, case.feeds)
    except Exception as e:  # what onnxruntime raises has no common base
        raise Refused("onnxruntime: " + str(e).split("\n")[0]) from e
    bound = theirs.io_binding()
    for name, value in case.feeds.items():
        bound.bind_ortvalue_input(name, onnxruntime.OrtValue.ortvalue_from_numpy(value))
    for output in theirs.get_outputs():
        bound.bind_output(output.name)
    with vireo.Model(str(converted)) as loaded:
        arrays = [case.feeds[v.name] for v in loaded.inputs]
        session = loaded.session(loaded.bounds_for(*arrays), threads=1)
        try:
            ours = session.bind(*arrays)
            same = all(agree(np.asarray(a), np.asarray(b)) for a, b in zip(want, ours.run()))
            runs = (lambda: theirs.run_with_iobinding(bound)), ours.run
            for run in runs:
                run()
            times = [max(1, int(seconds / turns / 2 / max(processor_time(run, 2), 1e-6))) for run in runs]
            pairs = [[processor_time(run, count) for run, count in zip(runs, times)] for _ in range(turns)]
            kernels = sorted({node.kernel for node in session.nodes})
        finally:
            session.close()
    return statistics.median(a / b for a, b in pairs), statistics.median(b for _, b in pairs) * 1e6, kernels, same


def reduced(case, folder, bar):
    """The smallest relative of the case that is as slow: one node, fixed extents."""
    for nodes, opened in ((1, False), (1, None), (None, False)):
        try:
            smaller = cases.case(case.seed, opened=opened, nodes=nodes)
            if smaller.kind == case.kind or not set(smaller.kind.split()) <= set(case.kind.split()):
                continue
            found = measure(smaller, folder, 5, 0.2)
        except (Refused, RuntimeError, vireo.VireoError):
            continue
        if found[0] < bar:
            return smaller, found
    return None


def row_of(case, found):
    ratio, us, kernels, _ = found
    return {"seed": case.seed, "kind": case.kind, "text": case.text, "ratio": round(ratio, 3), "us": round(us, 1), "kernels": kernels}


def show(row):
    print(f"{row['ratio']:6.2f} {row['us']:10.1f} us  seed {row['seed']:<9} {row['kind']:<28} {','.join(row['kernels']):<24} {row['text']}", flush=True)


def search(options, folder):
    worst, refused, counted, wrong = {}, {}, 0, 0
    if options.table is not None and options.table.exists():
        worst = {row["kind"]: row for row in json.loads(options.table.read_text())}
    end, seed = time.monotonic() + options.seconds, options.seed * 1000000
    seeds = iter(options.case or [])
    while options.case or time.monotonic() < end:
        seed = next(seeds, None) if options.case else seed + 1
        if seed is None:
            break
        case = cases.case(seed)
        try:
            found = measure(case, folder, 3, 0.06)
            if found[1] >= options.least and found[0] < options.bar:
                found = measure(case, folder, 9, 0.5)  # was it the machine?
        except (Refused, vireo.VireoError) as e:
            refused.setdefault(f"{case.kind}: {str(e)[:100]}", seed)
            continue
        counted += 1
        if not found[3]:
            wrong += 1
            print(f"WRONG  seed {seed} {case.kind}: {case.text}", flush=True)
        if options.case:
            show(row_of(case, found))
            continue
        if found[1] < options.least or found[0] >= options.bar:
            continue
        smaller = reduced(case, folder, options.bar)
        case, found = smaller if smaller is not None else (case, found)
        row = row_of(case, found)
        if row["kind"] not in worst or row["ratio"] < worst[row["kind"]]["ratio"]:
            worst[row["kind"]] = row
            show(row)
            if options.keep is not None:
                options.keep.mkdir(parents=True, exist_ok=True)
                onnx.save(case.model, options.keep / (case.kind.replace(" ", "_") + ".onnx"))
    rows = sorted(worst.values(), key=lambda row: row["ratio"])
    print(f"\n{counted} cases, {wrong} of them wrong, {len(refused)} kinds refused; the worst of each kind:")
    for row in rows[:options.show]:
        show(row)
    for reason, where in list(refused.items())[:options.show]:
        print(f"refused: seed {where} {reason}")
    if options.table is not None:
        options.table.write_text(json.dumps(rows, indent=1) + "\n")
    return 1 if counted == 0 or (options.case and wrong > 0) else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=900)
    parser.add_argument("--seed", type=int, default=1, help="another search")
    parser.add_argument("--case", type=int, nargs="*", help="measure these cases alone")
    parser.add_argument("--least", type=float, default=20, help="microseconds of ours below which a case does not count")
    parser.add_argument("--bar", type=float, default=0.9)
    parser.add_argument("--show", type=int, default=20)
    parser.add_argument("--table", type=pathlib.Path)
    parser.add_argument("--keep", type=pathlib.Path)
    with tempfile.TemporaryDirectory() as folder:
        return search(parser.parse_args(), pathlib.Path(folder))


if __name__ == "__main__":
    sys.exit(main())
