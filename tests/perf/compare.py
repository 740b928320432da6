"""compare.py MODEL.onnx...: Vireo beside other runtimes, one interleaved run.

Each runtime works in a process of its own. They take turns of 20 ms and more; who is not at work is stopped (SIGSTOP), so that idle
threads which watch for work do not take the core of another. The first run of a turn fetches weights and wakes threads and is not
counted. Of each round a ratio is taken (the peer's median of the turn over ours), and the median of the rounds is printed: above 1 Vireo
is faster, and from 0.97 on it counts as even.

    VIREO_LIBRARY=build/release/lib/libvireo.so VIREO_PROGRAM=build/release/bin/vireo \
        python tests/perf/compare.py --threads 1 --peers onnxruntime,openvino mobilenet_v2.onnx resnet50.onnx

Needs numpy and onnx, and of the peers (PyPI: onnxruntime, openvino, MNN, ncnn and pnnx) those that are asked for; one that is missing or
refuses a model is named with its reason. "openvino+bf16" computes in bfloat16, "vireo+bf16" converts with --quantize bf16. "+x" marks
an output that differs from ONNX Runtime's by more than 2 % of its deviation. Inputs are uniform in 0..1 (integers 0) or of --inputs
FOLDER/MODEL.INPUT.npy, symbolic dimensions --dim. Not a test: machines are shared and noisy, what counts are ratios of one run.
"""
import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

import numpy as np
import onnx

import peers


def cpu_name():
    fields = {}
    for line in open("/proc/cpuinfo"):
        if ":" in line:
            key, value = line.split(":", 1)
            fields.setdefault(key.strip(), value.strip())
    wanted = ("avx2", "avx512f", "avx512_vnni", "avx512_bf16", "amx_int8", "asimddp", "i8mm", "bf16")
    flags = set((fields.get("flags") or fields.get("Features") or "").split())
    return (f"{fields.get('model name', 'unknown CPU')}, family {fields.get('cpu family', '?')} model {fields.get('model', '?')}"
            f" ({' '.join(flag for flag in wanted if flag in flags)})")


def feed_of(model, extent, folder):
    graph = onnx.load(model, load_external_data=False).graph
    constants = {c.name for c in graph.initializer}
    feed, random = {}, np.random.default_rng(1)
    for value in graph.input:
        if value.name in constants:
            continue
        stored = folder and folder / f"{pathlib.Path(model).stem}.{value.name}.npy"
        if stored and stored.exists():
            feed[value.name] = np.ascontiguousarray(np.load(stored))  # bind() takes no other
            continue
        tensor = value.type.tensor_type
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        shape = [d.dim_value if d.dim_value > 0 else extent for d in tensor.shape.dim]
        uniform = np.issubdtype(dtype, np.floating)
        feed[value.name] = random.random(shape, dtype=np.float32).astype(dtype) if uniform else np.zeros(shape, dtype)
    return feed


class Worker:
    """A peer at work on one model."""

    def __init__(self, name, model, folder, feed, threads):
        self.name, self.process, self.error, self.wall, self.cpu = name, None, None, [], []
        module, options = peers.find(name)
        self.error = module.why_not()
        if self.error:
            return
        try:
            file = module.prepare(model, folder, {k: v.shape for k, v in feed.items()}, options)
        except (peers.PeerError, subprocess.TimeoutExpired, KeyError) as error:
            self.error = str(error)
            return
        command = [sys.executable, "-m", "peers.worker", name, file, str(pathlib.Path(folder) / "feed.npz"), str(threads)]
        self.process = subprocess.Popen(command, cwd=pathlib.Path(__file__).parent, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)
        self.start = self.answer()
        self.stop()

    def answer(self):
        line = self.process.stdout.readline()
        said = json.loads(line) if line.strip() else {"error": f"ended with {self.process.wait()}"}
        if "error" in said:
            self.error = said["error"]
            self.end()
        return said

    def ask(self, *words):
        if self.process is None:
            return None
        self.process.send_signal(signal.SIGCONT)
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        said = self.answer()
        self.stop()
        return None if self.error else said

    def stop(self):
        if self.process:
            self.process.send_signal(signal.SIGSTOP)

    def end(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None


def differs(outputs, reference):
    for mine, theirs in zip(outputs, reference):
        if theirs.dtype.kind == "U":
            if mine.tolist() != theirs.tolist():
                return True
            continue
        mine, theirs = np.asarray(mine, np.float64), np.asarray(theirs, np.float64)
        if mine.size != theirs.size or not np.allclose(mine.ravel(), theirs.ravel(), rtol=0.02, atol=0.02 * (theirs.std() + 1e-9)):
            return True
    return False


def outputs_of(worker, folder):
    file = pathlib.Path(folder) / f"out_{worker.name}.npz"
    if worker.ask("save", file) is None:
        return None
    with np.load(file) as stored:
        return [stored[name] for name in stored.files]


def measure(model, args):
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        feed = feed_of(model, args.dim, args.inputs)
        np.savez(pathlib.Path(folder) / "feed.npz", **feed)
        workers = [Worker(name, str(pathlib.Path(model).resolve()), folder, feed, args.threads) for name in args.peers]
        try:
            for _ in range(args.rounds):
                for worker in workers:
                    said = worker.ask("run", args.turn_ms, args.turn)
                    if said:
                        worker.wall.append(np.median(said["wall_ms"]))
                        worker.cpu.append(np.median(said["cpu_ms"]))
            outputs = {worker.name: outputs_of(worker, folder) for worker in workers}
            for worker in workers:
                row = {"peer": worker.name, "error": worker.error}
                if not worker.error:
                    times = np.array(worker.cpu if args.cpu_time else worker.wall)
                    base = workers[0]
                    ours = np.array(base.cpu if args.cpu_time else base.wall)
                    row.update(ms=float(np.median(times)), p10=float(np.percentile(times, 10)), **worker.start,
                               ratio=float(np.median(times / ours)) if not base.error else None,
                               differs=bool(outputs.get("onnxruntime") and differs(outputs[worker.name], outputs["onnxruntime"])))
                rows.append(row)
        finally:
            for worker in workers:
                worker.end()
    return rows


def cell(row, base):
    if row["error"]:
        return "-"
    mark = " +x" if row["differs"] else ""
    ratio = "" if row is base or row["ratio"] is None else f" {row['ratio']:.2f}"
    return f"{row['ms']:.3g} ({row['p10']:.3g}){ratio}{mark}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--peers", default="vireo,onnxruntime,openvino", type=lambda text: text.split(","),
                        help="the first one is what the others are divided by (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=9, help="turns of each peer (default: %(default)s)")
    parser.add_argument("--turn", type=int, default=3, help="least counted runs in a turn")
    parser.add_argument("--turn-ms", type=float, default=20, help="least length of a turn")
    parser.add_argument("--dim", type=int, default=1)
    parser.add_argument("--inputs", type=pathlib.Path, help="folder of MODEL.INPUT.npy")
    parser.add_argument("--cpu-time", action="store_true", help="time of the process's threads instead of the clock's")
    parser.add_argument("--json", type=pathlib.Path, help="all figures go there too")
    args = parser.parse_args()
    for name in ("VIREO_LIBRARY", "VIREO_PROGRAM"):
        if name in os.environ:
            os.environ[name] = str(pathlib.Path(os.environ[name]).resolve())
    print(f"{cpu_name()}; {args.threads} thread(s); {'CPU time' if args.cpu_time else 'wall time'}, median (10th percentile) in ms, ratio\n")
    print("| model | " + " | ".join(args.peers) + " | best peer / " + args.peers[0] + " |")
    print("| --- |" + " ---: |" * (len(args.peers) + 1))
    found, best = {}, []
    for model in args.models:
        name = pathlib.Path(model).stem
        rows = found[name] = measure(model, args)
        ratios = [row["ratio"] for row in rows[1:] if not row["error"] and row["ratio"] is not None]
        if ratios:
            best.append(min(ratios))
        print(f"| {name} | " + " | ".join(cell(row, rows[0]) for row in rows) + (f" | {min(ratios):.2f} |" if ratios else " | - |"), flush=True)
        for row in rows:
            if row["error"]:
                print(f"compare: {name}: {row['peer']}: {row['error']}", file=sys.stderr)
    if best:
        print(f"\nGeometric mean of the last column: {np.exp(np.mean(np.log(best))):.2f} ({sum(b >= 0.97 for b in best)} of {len(best)} at least even)")
    if args.json:
        args.json.write_text(json.dumps({"cpu": cpu_name(), "threads": args.threads, "models": found}, indent=1))


if __name__ == "__main__":
    main()
