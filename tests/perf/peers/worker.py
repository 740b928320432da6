"""One peer in a process of its own, led by compare.py through lines of JSON: python -m peers.worker NAME FILE FEED.npz THREADS.

    (start)   -> {"load_ms", "first_ms", "first_cpu_ms", "rss_mib"}    read and prepared; with the first result, of clock and process; peak
                                                       above what importing it took
    run MS N  -> {"wall_ms": [...], "cpu_ms": [...]}   at least MS milliseconds and N runs, the first one not counted
    save FILE -> {}                                    outputs as .npz
    anything else ends it. {"error"} says what went wrong.
"""
import json
import sys
import time

import numpy as np

from . import PeerError, find


def memory_mib(line):
    """VmRSS or VmHWM of this process. (ru_maxrss would be that of the process before exec, too.)"""
    with open("/proc/self/status") as status:
        return next(int(row.split()[1]) for row in status if row.startswith(line)) / 1024


def say(**what):
    print(json.dumps(what), flush=True)


def turn(run, least_ms, least_runs):
    run()  # wakes threads, fetches the weights that another process pushed out of the cache
    wall, cpu = [], []
    end = time.perf_counter() + least_ms / 1e3
    while len(wall) < least_runs or time.perf_counter() < end:
        begin, begin_cpu = time.perf_counter(), time.process_time()
        run()
        wall.append((time.perf_counter() - begin) * 1e3)
        cpu.append((time.process_time() - begin_cpu) * 1e3)
    return wall, cpu


def main():
    name, file, feed_file, threads = sys.argv[1:5]
    module, options = find(name)
    with np.load(feed_file) as stored:
        feed = {key: stored[key] for key in stored.files}
    __import__(name.split("+")[0].replace("mnn", "MNN"))
    before = memory_mib("VmRSS")
    begin, begin_cpu = time.perf_counter(), time.process_time()
    run = module.load(file, int(threads), feed, options)
    loaded = time.perf_counter()
    run()
    first, first_cpu = time.perf_counter(), time.process_time()
    run()
    peak = memory_mib("VmHWM")
    say(load_ms=(loaded - begin) * 1e3, first_ms=(first - begin) * 1e3, first_cpu_ms=(first_cpu - begin_cpu) * 1e3, rss_mib=peak - before)
    for line in sys.stdin:
        words = line.split()
        if words[0] == "run":
            wall, cpu = turn(run, float(words[1]), int(words[2]))
            say(wall_ms=wall, cpu_ms=cpu)
        elif words[0] == "save":
            outputs = [np.asarray(output) for output in run()]
            np.savez(words[1], *[o.astype(np.str_) if o.dtype.kind == "O" else o for o in outputs])  # strings, without pickles
            say()
        else:
            break


if __name__ == "__main__":
    # What a peer's library prints must not come between our lines.
    import os

    lines = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    sys.stdout = lines
    if sys.argv[1].startswith("vireo"):
        from . import vireo_peer  # noqa: F401  its binding's path
    try:
        main()
    except PeerError as error:
        say(error=str(error))
    except Exception as error:
        say(error=f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}")
