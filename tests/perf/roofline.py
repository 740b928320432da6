"""roofline.py: what share of the machine's limit models and kernels reach.

    VIREO_LIBRARY=build/release/lib/libvireo.so VIREO_PROGRAM=build/release/bin/vireo python tests/perf/roofline.py \\
        --limits build/release/bench/machine_limits models MODEL.onnx...
    python tests/perf/roofline.py --limits build/release/bench/machine_limits kernels build/release/bench/*_bench

A node cannot take less than its multiplications at the rate of registers alone, nor less than its operands and results at the rate of
the second-level cache: its limit is the larger of both, and the share is the limit over what it took. Sums over nodes give the share of
an operator class; the model's limit is no less than its weights from memory, where they are larger than the last cache (what only
a Gather reads is not counted). Operations are those of the formula: Winograd's kernels need fewer, and may pass 100. A node's time is
the shortest of --runs runs, because machines are shared; what is between the nodes is not counted.
`kernels` runs benchmarks that count GFLOP/s, Gmac/s or GB/s and divides each size by the limit of one thread.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile


def rate_key(kernel):
    """Which of the limits' rates a kernel could reach: by its name, which tells what it multiplies."""
    words = kernel.split("_")
    if "bf16" in words:
        return "bf16"
    if words[0] == "int" or "i8" in words or "codes" in words:
        return "i8"
    return "f32"


def compute_rate(limits, key):
    """Operations a nanosecond; the core's tiles where it has them, and what float32 does where it has no instruction of its own."""
    return max(limits.get(key, 0), limits.get(f"amx_{key}", 0), limits["f32"])


def limit_ns(limits, operations, moved, key):
    """Of a node, with its operands as near as they can be: in the second-level cache."""
    return max(operations / compute_rate(limits, key), moved / limits["read_256k"])


def stream_ns(limits, weights, last_level):
    """What a run cannot take less than because its weights, larger than the last cache, come from memory each time."""
    return weights / limits["read_memory"] if weights > last_level else 0


def class_of(op, operations):
    lower = op.lower()
    if "attention" in lower:
        return "attention"
    if lower in ("lstm", "gru", "rnn"):
        return "recurrent"
    if "conv" in lower:
        return "convolution"
    if operations:
        return "product"
    return "other"


def measure_limits(program, threads):
    done = subprocess.run([program, str(threads)], capture_output=True, text=True, check=True)
    return {row["threads"]: row for row in json.loads(done.stdout)}


def node_times(session, run, runs):
    """The shortest time of each node, and the shortest sum over a run."""
    run()
    before = [n.total_ns for n in session.nodes]
    best, whole = [float("inf")] * len(before), float("inf")
    for _ in range(runs):
        run()
        after = [n.total_ns for n in session.nodes]
        times = [b - a for a, b in zip(before, after)]
        best = [min(old, new) for old, new in zip(best, times)]
        whole = min(whole, sum(times))
        before = after
    return best, whole


def shares(nodes, times, limits):
    """{class: (limit, time)} over nodes that run, in nanoseconds."""
    sums = {}
    for node, took in zip(nodes, times):
        if took <= 0:
            continue
        least = limit_ns(limits, node.operations, node.bytes, rate_key(node.kernel))
        limit, time = sums.get(class_of(node.op, node.operations), (0, 0))
        sums[class_of(node.op, node.operations)] = (limit + least, time + took)
    return sums


def models(args, limits):
    import compare
    from peers import vireo_peer  # finds the binding
    import vireo
    print(f"{compare.cpu_name()}; per cent of the limit, in brackets the class's share of the time\n")
    names = ["convolution", "product", "attention", "recurrent", "other"]
    print("| model | threads | ms | share | " + " | ".join(names) + " |\n| --- | ---: | ---: | ---: |" + " ---: |" * len(names))
    for model in args.files:
        feed = compare.feed_of(model, args.dim, args.inputs)
        with tempfile.TemporaryDirectory() as folder:
            file = vireo_peer.prepare(model, folder, {}, set())
            for threads in args.threads:
                held = vireo.Model(file, vireo.Runtime(threads=threads))
                arrays = [feed[value.name] for value in held.inputs]
                session = held.session(held.bounds_for(*arrays), profile=True)
                times, whole = node_times(session, session.bind(*arrays).run, args.runs)
                sums = shares(session.nodes, times, limits[threads])
                total = sum(time for _, time in sums.values())
                cells = [f"{100 * sums[n][0] / sums[n][1]:.0f} ({100 * sums[n][1] / total:.0f})" if n in sums else "" for n in names]
                streams = stream_ns(limits[threads], streamed_bytes(model), last_level_bytes())
                share = max(sum(limit for limit, _ in sums.values()) / total, streams / whole)
                print(f"| {pathlib.Path(model).stem} | {threads} | {whole / 1e6:.3g} | {100 * share:.0f} | " + " | ".join(cells) + " |", flush=True)


def streamed_bytes(model):
    """Of constants that are read whole."""
    import onnx
    from onnx import numpy_helper
    graph = onnx.load(model).graph
    read = {name for node in graph.node if node.op_type != "Gather" for name in node.input}
    return sum(numpy_helper.to_array(t).nbytes for t in graph.initializer if t.name in read)


def last_level_bytes():
    sizes = [path.read_text().strip() for path in pathlib.Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size")]
    return max([int(text[:-1]) * {"K": 1 << 10, "M": 1 << 20}[text[-1]] for text in sizes] or [32 << 20])


def kernel_rows(report, limits, family):
    """(size, rate, unit, share) of each benchmark of a report in Google Benchmark's JSON."""
    key = rate_key(family)
    rows = []
    for bench in report["benchmarks"]:
        if bench.get("run_type") == "aggregate":
            continue
        for unit, operations in (("GFLOP/s", 1), ("Gmac/s", 2)):
            if unit in bench:
                rows.append((bench["name"], bench[unit], unit, operations * bench[unit] / compute_rate(limits, key)))
                break
        else:
            if "GB/s" in bench:
                rows.append((bench["name"], bench["GB/s"], "GB/s", bench["GB/s"] / limits["read_256k"]))
    return rows


def kernels(args, limits):
    print("| kernel family | sizes | least | median | most | weakest | strongest |\n| --- | ---: | ---: | ---: | ---: | --- | --- |")
    details = []
    for program in args.files:
        family = pathlib.Path(program).name.removesuffix("_bench")
        family = {"intgemm": "intgemm_i8"}.get(family, family)
        done = subprocess.run([os.path.abspath(program), "--benchmark_format=json", f"--benchmark_min_time={args.seconds}s"], capture_output=True, text=True)
        if done.returncode:  # older releases of Google Benchmark want no unit
            done = subprocess.run([os.path.abspath(program), "--benchmark_format=json", f"--benchmark_min_time={args.seconds}"], capture_output=True, text=True, check=True)
        rows = sorted(kernel_rows(json.loads(done.stdout), limits[1], family), key=lambda row: row[3])
        if not rows:
            print(f"{family}: no rates, left out", file=sys.stderr)
            continue
        middle = rows[len(rows) // 2][3]
        print(f"| {family} | {len(rows)} | {100 * rows[0][3]:.0f} % | {100 * middle:.0f} % | {100 * rows[-1][3]:.0f} % | {rows[0][0]} | {rows[-1][0]} |", flush=True)
        details += [(family, *row) for row in rows]
    if args.all:
        print("\n| kernel family | size | rate | share |\n| --- | --- | ---: | ---: |")
        for family, name, rate, unit, share in details:
            print(f"| {family} | {name} | {rate:.3g} {unit} | {100 * share:.0f} % |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("models", "kernels"))
    parser.add_argument("files", nargs="+")
    parser.add_argument("--limits", required=True, help="the program machine_limits, or a file with what it printed")
    parser.add_argument("--threads", type=lambda text: [int(n) for n in text.split(",")], default=[1, 2])
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=0.05, help="kernels: of each size")
    parser.add_argument("--all", action="store_true", help="kernels: every size")
    parser.add_argument("--dim", type=int, default=1)
    parser.add_argument("--inputs", type=pathlib.Path)
    args = parser.parse_args()
    if args.limits.endswith(".json"):
        limits = {row["threads"]: row for row in json.load(open(args.limits))}
    else:
        limits = measure_limits(os.path.abspath(args.limits), max(args.threads))
    for row in limits.values():
        print("limits, " + ", ".join(f"{k} {v:g}" for k, v in row.items()))
    (models if args.what == "models" else kernels)(args, limits)


if __name__ == "__main__":
    main()
