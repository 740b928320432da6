"""compare.py MODEL.onnx...: Vireo beside ONNX Runtime, one interleaved run: some runs of the one, some of the other, and so on.

Between the turns is a pause in which idle threads fall asleep: ONNX Runtime's watch for work for some 50 ms after a run, and on a
machine with no core to spare they would be measured with us. The first run of a turn wakes them and is not counted.

    VIREO_LIBRARY=build/release/lib/libvireo.so VIREO_PROGRAM=build/release/bin/vireo \
        python tests/perf/compare.py --threads 1 mobilenet_v2.onnx resnet50.onnx

Needs numpy and onnxruntime. Inputs are uniform in 0..1 (integers 0), symbolic dimensions --dim (default 1). Prints for each model the
median and the 10th percentile of both in milliseconds, and the time of ONNX Runtime divided by Vireo's: above 1 Vireo is faster.
Not a test: machines are shared and noisy. Ratios of one run are what counts.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnxruntime

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bindings" / "python"))
import vireo  # noqa: E402


def cpu_name():
    for line in open("/proc/cpuinfo"):
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "unknown CPU"


def sample(info, extent):
    types = {"tensor(float)": np.float32, "tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(uint8)": np.uint8}
    shape = [d if isinstance(d, int) and d > 0 else extent for d in info.shape]
    dtype = types[info.type]
    if dtype is np.float32:
        return np.random.default_rng(1).random(shape, dtype=np.float32)
    return np.zeros(shape, dtype)


def timed(run, times, clock):
    begin = clock()
    run()
    times.append((clock() - begin) * 1e3)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=4.0, help="for each model, both together")
    parser.add_argument("--dim", type=int, default=1)
    parser.add_argument("--turn", type=int, default=5, help="least counted runs in a turn, which lasts 20 ms or more")
    parser.add_argument("--pause", type=float, default=0.1, help="seconds between turns")
    parser.add_argument("--cpu-time", action="store_true",
                        help="time of the thread instead of the clock's, with one thread: other programs then count little")
    args = parser.parse_args()
    if args.cpu_time and args.threads != 1:
        parser.error("--cpu-time sees the calling thread alone: it needs --threads 1")
    clock = time.thread_time if args.cpu_time else time.perf_counter
    program = os.environ.get("VIREO_PROGRAM", "vireo")
    print(f"{cpu_name()}, {args.threads} thread(s), onnxruntime {onnxruntime.__version__}")
    print(f"{'model':<22} {'vireo ms':>18} {'onnxruntime ms':>18} {'ratio':>7}")
    for model in args.models:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = args.threads
        peer = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        feed = {i.name: sample(i, args.dim) for i in peer.get_inputs()}
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "model.vireo")
            shapes = sum((["--shape", f"{n}={','.join(map(str, a.shape))}"] for n, a in feed.items()), [])
            subprocess.run([program, "convert", model, "-o", file, *shapes], check=True, stdout=subprocess.DEVNULL)
            with vireo.Model(file, vireo.Runtime(threads=args.threads)) as ours:
                arrays = [feed[v.name] for v in ours.inputs]
                with ours.session(ours.bounds_for(*arrays)) as session:
                    mine, other = [], []
                    end = time.perf_counter() + args.seconds
                    while time.perf_counter() < end or len(mine) < 3 * args.turn:
                        for run, times in ((lambda: session.run(*arrays), mine), (lambda: peer.run(None, feed), other)):
                            time.sleep(args.pause)
                            run()
                            count, turn_end = 0, time.perf_counter() + 0.02
                            while count < args.turn or time.perf_counter() < turn_end:
                                timed(run, times, clock)
                                count += 1
        name = pathlib.Path(model).stem
        m, o = np.median(mine), np.median(other)
        print(f"{name:<22} {m:9.3f} ({np.percentile(mine, 10):.3f}) {o:9.3f} ({np.percentile(other, 10):.3f}) {o / m:7.2f}", flush=True)


if __name__ == "__main__":
    main()
