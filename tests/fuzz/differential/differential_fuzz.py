#!/usr/bin/env python3
"""Random graphs of one or a few operators through ONNX Runtime and Vireo: no difference without an explanation.

    differential_fuzz.py VIREO [--count N | --graphs N] [--first SEED] [--operator NAME]... [--jobs N] [--keep DIR] [--report FILE]
                         [-- OPTIONS OF vireo conformance]

Prints unexplained differences, explained ones by their row in explained.py, and what ONNX Runtime refused or crashed on.
The last line, to stderr: passed, failed, skipped. A seed is a graph: --first S --count 1 makes the one that is named.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import traceback

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))]
BATCH = 500


def write_case(folder, case, model, answers):
    import numpy
    from onnx import numpy_helper

    data = os.path.join(folder, "test_data_set_0")
    os.makedirs(data)

    def put(path, value):
        encoded = numpy_helper.from_list(value) if isinstance(value, list) else numpy_helper.from_array(numpy.asarray(value))
        with open(os.path.join(data, path), "wb") as file:
            file.write(encoded.SerializeToString())

    for i, info in enumerate(model.graph.input):
        put(f"input_{i}.pb", case.feed[info.name])
    for i, value in enumerate(answers):
        put(f"output_{i}.pb", value)
    with open(os.path.join(folder, "model.onnx"), "wb") as file:
        file.write(model.SerializeToString())
    floats = any(numpy.asarray(a).dtype.kind in "fcV" for value in answers for a in (value if isinstance(value, list) else [value]))
    tolerance = {"atol": case.atol, "rtol": case.rtol if floats else 0}
    if case.narrow:
        tolerance = {"atol": 1e-2 if case.atol > 1e-6 else 2e-3, "rtol": max(case.rtol, 2.0**-7)}  # 1e-2: where its maker says that it sums
    # |sin a - sin b| <= |a - b|: by as much as a and b may differ themselves, however large they are beside their sines.
    tolerance["atol"] += tolerance["rtol"] * case.phase
    with open(os.path.join(folder, "case.json"), "w", encoding="utf-8") as file:
        json.dump(tolerance, file)


def write_batch(folder, first, count, only, log):
    """Runs in a process of its own: what ONNX Runtime crashes on ends it, and the log's last line says where."""
    import graphs

    for seed in range(first, first + count):
        log.write(f"{seed}\n")
        log.flush()
        try:
            case, model, answers, refusals = graphs.draw_case(seed, only)
        except Exception as error:  # a fault of a maker: told with the seed, and counted as failed
            place = traceback.extract_tb(error.__traceback__)[-1]
            log.write(f"raised {seed} {place.name}:{place.lineno} {error!r}\n".replace("\n", " ") + "\n")
            continue
        for operator, why in refusals:
            log.write(f"refused {operator} {' '.join(why.split())[:300]}\n")
        if case is not None:
            name = "+".join(f"{op}-{version}" for _, op, version, _, _ in case.operators)
            write_case(os.path.join(folder, f"{seed}.{name}"[:200]), case, model, answers)
    log.write("done\n")


def run_batch(program, first, count, only, extra, keep):
    """The outcomes of some seeds: {passed, refusals, crashes, differences}."""
    folder = tempfile.mkdtemp(prefix="vireo-differential-", dir=os.environ.get("TMPDIR") or ("/dev/shm" if os.path.isdir("/dev/shm") else None))
    out = {"operators": collections.Counter(), "refusals": collections.Counter(), "crashes": [], "faults": [], "bad": [], "passed": 0, "drawn": 0}
    seed, end = first, first + count
    while seed < end:
        path = os.path.join(folder, "log")
        child = os.fork()
        if child == 0:
            status = 1
            try:
                devnull = os.open(os.devnull, os.O_WRONLY)
                os.dup2(devnull, 2)
                with open(path, "w", encoding="utf-8") as log:
                    write_batch(folder, seed, end - seed, only, log)
                status = 0
            finally:
                os._exit(status)
        _, status = os.waitpid(child, 0)
        with open(path, encoding="utf-8") as log:
            lines = log.read().splitlines()
        for line in lines:
            if line.startswith("refused "):
                _, operator, why = line.split(" ", 2)
                out["refusals"][operator, re.sub(r"[0-9xy_s]+|'[^']*'|\{[^}]*\}", "#", why)[:160]] += 1
            if line.startswith("raised "):
                out["faults"].append(line[len("raised "):])
        if lines and lines[-1] == "done":
            break
        seed = int([line for line in lines if line.isdigit()][-1])
        out["crashes"].append(seed)
        for left in os.listdir(folder):
            if left.startswith(f"{seed}."):
                shutil.rmtree(os.path.join(folder, left))
        seed += 1
    os.remove(os.path.join(folder, "log"))
    names = os.listdir(folder)
    out["drawn"] = len(names)
    if names:
        run = subprocess.run([program, "conformance", folder, "--json", "-j", "1", "--timeout", "20", *extra], capture_output=True, text=True, check=False)
        for case in json.loads(run.stdout)["cases"]:
            for operator in case["name"].split(".", 1)[1].split("+"):
                out["operators"][operator] += 1
            if case["result"] == "pass":
                out["passed"] += 1
                continue
            out["bad"].append(case)
            if keep:
                shutil.copytree(os.path.join(folder, case["name"]), os.path.join(keep, case["name"]), dirs_exist_ok=True)
    shutil.rmtree(folder)
    return out


def explain(case, only):
    """The row of explained.py that tells of this difference; None where none does."""
    import explained
    import graphs

    drawn, model, answers, _ = graphs.draw_case(int(case["name"].split(".")[0]), only)
    return explained.find(drawn, model, answers, case)


def main():
    words = sys.argv[1:]
    extra = words[words.index("--") + 1:] if "--" in words else []
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("vireo")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--graphs", type=int, help="draw until ONNX Runtime has taken so many, which is more draws than graphs")
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--operator", action="append")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--keep", help="where the cases that differ are kept, as vireo conformance reads them")
    parser.add_argument("--report", help="JSON: graphs by operator, refusals, differences")
    parser.add_argument("--seconds", type=float, help="start no batch after this long")
    options = parser.parse_args(words[:words.index("--")] if "--" in words else words)
    try:
        import graphs  # once, for all the processes to come
    except ImportError as missing:
        print(f"SKIPPED: differential fuzzing: {missing} (toolchains/bootstrap --for tests installs it)")
        print("0 0 1", file=sys.stderr)
        return 77  # what CTest is told to take for a skip
    known = {**{name: name for name in graphs.SHAPED}, **{key: key[1] for key in graphs.OPERATORS}}
    only = [key for key, name in known.items() if name in options.operator] if options.operator else None
    if options.operator and len(only) < len(set(options.operator)):
        print(f"no maker for some of {options.operator}", file=sys.stderr)
        return 2
    start = time.time()
    if options.graphs:
        options.count = 2 * options.graphs  # an end even where nothing is taken
    batches = [(first, min(BATCH, options.first + options.count - first)) for first in range(options.first, options.first + options.count, BATCH)]
    total = {"operators": collections.Counter(), "refusals": collections.Counter(), "crashes": [], "faults": [], "bad": [], "passed": 0, "drawn": 0}

    def work(batch):
        if options.seconds and time.time() - start > options.seconds or options.graphs and total["drawn"] >= options.graphs:
            return None
        return run_batch(options.vireo, *batch, only, extra, options.keep)

    # A thread for each batch in work; each forks before it makes any session, and waits for its processes.
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for result in pool.map(work, batches):
            for key in total if result else ():
                total[key] += result[key]
    explained_by, unexplained = collections.defaultdict(list), []
    for case in total["bad"]:
        row = explain(case, only)
        if row is None:
            unexplained.append(case)
            print(f"FAILED: {case['name']}: {case['result']} {case['code']} {case['reason']}")
        else:
            explained_by[row].append(case["name"])
    for fault in total["faults"]:
        print(f"FAILED: a maker raised: {fault}")
    for row, names in sorted(explained_by.items()):
        print(f"EXPLAINED: {len(names)} by {row} (first: {names[0]})")
    print(f"{total['drawn']} graphs, {total['passed']} alike, {len(total['bad']) - len(unexplained)} explained, {len(unexplained)} unexplained; "
          f"ONNX Runtime refused {sum(total['refusals'].values())} other draws and crashed on {len(total['crashes'])}: "
          f"{total['crashes'][:5]}; {time.time() - start:.0f} s")
    short = bool(options.graphs) and total["drawn"] < options.graphs
    if short:
        print(f"FAILED: {total['drawn']} graphs where {options.graphs} were asked for")
    if options.report:
        with open(options.report, "w", encoding="utf-8") as file:
            json.dump({"operators": dict(sorted(total["operators"].items())), "drawn": total["drawn"], "passed": total["passed"],
                       "refusals": [[*key, n] for key, n in total["refusals"].most_common()], "crashes": total["crashes"],
                       "unexplained": unexplained, "explained": dict(explained_by)}, file, indent=1)
    print(total["passed"], len(unexplained) + len(total["faults"]) + (0 if total["drawn"] and not short else 1), len(total["bad"]) - len(unexplained), file=sys.stderr)
    return 1 if unexplained or total["faults"] or not total["drawn"] or short else 0


if __name__ == "__main__":
    sys.exit(main())
