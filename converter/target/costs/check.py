#!/usr/bin/env python3
"""Compares a table of costs with the benches that its rows name, on this machine.

    check.py BUILD     needs numpy, and in BUILD the benches and layout_times (preset dev)

Prints how the two layouts compare by each bench and by the table, then the rows beside the rates that fit this machine's
figures best, as they would stand in the table. Exit status 1 where the table gains by a layout that is slower here by
more than a quarter, which is what choose_layout's trust leaves room for.
"""
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np

UNIT = 1e6  # one rate by itself, large enough for whole ns


def conv(a):
    """A case of conv_nhwc_bench as a graph; `a`: its arguments."""
    kernel = [min(a["k"], a["h"]), min(a["k"], a["w"])]
    strides = [1 if a[n] == 1 else a["s"] for n in "hw"]
    pads = [0 if k > 8 else k // 2 for k in kernel]
    return (f"input %x f32[1,{a['c']},{a['h']},{a['w']}]\n"
            f"%y = Conv(%x, w[{a['o']},{a['c'] // a['g']},{kernel[0]},{kernel[1]}]) "
            f"{{strides:{strides}, pads:{pads * 2}, group:{a['g']}}}\n").replace(", ", ",")


def conv_codes(a):
    pad = a["k"] // 2
    return (f"input %x u8[1,{a['c']},{a['size']},{a['size']}]\n"
            f"%y = IntConv(%x, w:i8[{a['o']},{a['c'] // a['g']},{a['k']},{a['k']}], m[{a['o']}]) "
            f"{{strides:[{a['s']},{a['s']}], pads:[{pad},{pad},{pad},{pad}], group:{a['g']}, x_zero:120, high:255, output_dtype:2}}\n")


def resize(mode, edge, channels):
    return (f"input %x f32[1,{channels},{edge},{edge}]\n"
            f"%y = Resize(%x, _, f32[4]{{1,1,2,2}}) {{mode:{mode}, axes:[0,1,2,3]}}\n")


def case_of(name):
    """(graph, layout) of a benchmark's name; layout "first", "last" or "tiles"."""
    parts = name.split("/")
    if parts[0] in ("nearest", "linear"):
        return resize(parts[0], parts[2], parts[3]), "first" if parts[1] == "planes" else "last"
    a = {k: int(v) for k, v in (p.split(":") for p in parts[1:])}
    if parts[0] == "conv_codes":
        return conv_codes(a), "last" if a["last"] else "first"
    # Filters of a model are constant, and packed once: not what layout 1 does.
    return conv(a), {0: "first", 2: "last", 3: "tiles", 4: "tiles"}.get(a["layout"])


def measured(program):
    """graph -> layout -> ns, the least of three runs."""
    out = subprocess.run([program, "--benchmark_format=json", "--benchmark_repetitions=3", "--benchmark_min_time=0.02"],
                         check=True, capture_output=True, text=True).stdout
    times = {}
    for run in json.loads(out)["benchmarks"]:
        if run.get("run_type") == "aggregate":
            continue
        assert run["time_unit"] == "ns"
        graph, layout = case_of(re.sub(r"/repeats:\d+", "", run["run_name"]))
        if layout:
            own = times.setdefault(graph, {})
            own[layout] = min(own.get(layout, float("inf")), run["real_time"])
    return {graph: own for graph, own in times.items() if "first" in own and "last" in own}


def predicted(program, graphs, rates=None):
    """[graph, 2]: ns channels first and last; `rates` replace rows."""
    arguments = [f"{name}={value}" for name, value in (rates or {}).items()]
    out = subprocess.run([program, *arguments], check=True, capture_output=True, text=True, input="\n".join(graphs)).stdout
    return np.array([[float(v) for v in line.split()] for line in out.splitlines()])


def compare(times, table):
    """Prints both; how many shapes the table decides wrongly."""
    wrong = 0
    for (graph, own), (first, last) in zip(times.items(), table):
        here = min(own["last"], own.get("tiles", own["last"])) / own["first"]
        against = last < first and here > 1.25
        wrong += against
        print(f"  last / first  {here:6.2f} here  {last / max(first, 1):6.2f} by the table{'  WRONG' if against else ''}  "
              f"{graph.splitlines()[0].split(' ', 2)[2]} {graph.splitlines()[1].split('= ')[1]}")
    return wrong


def fit(times, rows, program):
    """name -> the rate that fits best, by least squares of relative errors. Tiles are left out: they are no sum of rates."""
    none = {name: 0 for name, (_, kind, _) in rows.items() if kind == "rate"} | {"tile_window": 0}
    graphs = list(times)
    goal = np.array([[own["first"], own["last"]] for own in times.values()]).reshape(-1)
    names, columns = [], []
    for name in none:
        column = np.zeros(0) if name == "tile_window" else predicted(program, graphs, none | {name: UNIT}).reshape(-1) / UNIT
        if column.any():
            names.append(name)
            columns.append(column / goal)
    kept = list(range(len(names)))
    while kept:  # a rate below 0 is one that this machine's figures say nothing of
        values = np.linalg.lstsq(np.array(columns).T[:, kept], np.ones(len(goal)), rcond=None)[0]
        if (values > 0).all():
            return {names[k]: v for k, v in zip(kept, values)}
        kept = [k for k, v in zip(kept, values) if v > 0]
    return {}


def main(build):
    program = build / "bench" / "layout_times"
    listed = subprocess.run([program, "--rows"], check=True, capture_output=True, text=True).stdout
    rows = {name: (float(value), kind, bench) for name, value, kind, bench in (l.split("\t") for l in listed.splitlines())}
    wrong = 0
    for bench in dict.fromkeys(bench for _, _, bench in rows.values()):
        if bench == "models":
            continue
        times = measured(build / "bench" / f"{bench}_bench")
        print(f"{bench}_bench")
        wrong += compare(times, predicted(program, list(times)))
        best = fit(times, rows, program)
        print("  row                    table     here")
        for name, (value, kind, own) in rows.items():
            if own == bench and kind == "rate":
                print(f"  {name:20s} {value:8.4f} {best[name]:8.4f}" if name in best else f"  {name:20s} {value:8.4f}        -")
    print(f"{wrong} shapes are decided wrongly for this machine")
    return 1 if wrong else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(Path(sys.argv[1])))
