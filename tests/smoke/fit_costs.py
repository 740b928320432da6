#!/usr/bin/env python3
"""Writes converter/firmware/costs.def: what the loops of delegates/mcu's kernels take on each core, in instructions.

    fit_costs.py BUILD --check TARGET  writes nothing: whether costs.def still says what this core executes
    fit_costs.py BUILD [--worst]       BUILD: a folder with bin/vireo, test/mcu_cost_cases; compilers and qemu as
                                       tests/e2e/firmware_test.py needs them; --worst: shows the layers furthest off

The layers of cost_cases.cc run in qemu, each with its count. A least-squares fit of the relative errors, without negative
costs, gives each feature its cost. Printed: how far the fit is from the counts, and each kernel of which more than one
layer in ten is off by more than 15 %.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGETS = ("cortex-m0plus", "cortex-m3", "cortex-m4", "cortex-m4-nofp", "cortex-m7", "cortex-m33", "cortex-m33-nofp", "cortex-m55",
           "rv32imc", "rv32imafc")
BOUND = 0.15  # of each kernel's layers, nine of ten are within it
FEATURES_OF = {"cortex-m4-nofp": "cortex-m4", "cortex-m7": "cortex-m4", "cortex-m33": "cortex-m4", "cortex-m33-nofp": "cortex-m4",
               "rv32imc": "cortex-m3", "rv32imafc": "cortex-m3"}
WITHOUT_REALS = ("cortex-m0plus", "cortex-m3", "cortex-m4-nofp", "cortex-m33-nofp", "rv32imc")
SMALL = {"cortex-m0plus": {"pool.c", "codes.c", "requantize.c"}, "cortex-m3": {"requantize.c"}}  # as the Makefile of a folder compiles them


def run(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(str(c) for c in command)}: {done.stdout}{done.stderr}")
    return done.stdout


def counts_of(target, build, work):
    """Instructions of each case on the emulated core."""
    folder = work / target
    model = ROOT / "samples" / "models" / "kws_dscnn_mfcc.onnx"
    run(build / "bin" / "vireo", "convert", model, "--shape", "features=1,1,49,10", "--quantize", "int8", "--calibrate",
        ROOT / "tests" / "smoke" / "kws_dscnn_mfcc.npz", "-i", "features=c0_in0", "--target", target, "--emit", "firmware", folder)
    about = json.loads((folder / "manifest.json").read_text())["target"]
    compiler, board = about["compiler"], folder / "board" / about["board"]
    flags = [*about["flags"].split(), "-std=c99", "-ffreestanding", "-fbuiltin", "-ffp-contract=off", "-fno-tree-loop-distribute-patterns",
             "-ffunction-sections", "-fdata-sections", f"-I{ROOT}", f"-I{work}", f"-I{folder / 'board'}", f"-I{folder / 'board' / 'libc'}"]
    sources = [*(ROOT / "delegates/mcu/kernels").glob("*.c"), *(ROOT / "delegates/mcu/plan").glob("call_*.c"), ROOT / "delegates/mcu/plan/linked.c",
               *(ROOT / "delegates/mcu/plan").glob("*bounds.c"), ROOT / "tests/smoke/mcu_costs.c", board / "startup.c", folder / "board/libc/memory.c"]
    objects = []
    for source in sources:
        small = source.parent.name == "plan" or source.name in SMALL.get(target, ())
        objects.append(folder / f"{source.stem}.o")
        run(compiler, *flags, "-Os" if small else "-O2", "-c", source, "-o", objects[-1])
    image = folder / "costs.elf"
    run(compiler, *about["flags"].split(), "-nostdlib", "-Wl,--gc-sections", f"-T{board / 'link.ld'}", *objects, "-lgcc", "-o", image)
    marks = re.search(r"^(\w+) \w count_mark$", run(compiler.removesuffix("gcc") + "nm", image), re.M)[1]
    qemu = re.search(r"(qemu-system.*native)", (folder / "Makefile").read_text())[1].split()
    run(*qemu, "-kernel", image, "-plugin", f"{work / 'counter.so'},mark={marks},out={work / 'marks'}")
    lines = [int(line.split()[0]) for line in (work / "marks").read_text().splitlines() if line.endswith(" mark")]
    return lines[1::2]


def fit(rows, counts):
    """Costs of the features: least squares of (fit - count) / count by coordinate descent, none below 0."""
    columns = [[(i, row[j] / counts[i]) for i, row in enumerate(rows) if row[j]] for j in range(len(rows[0]))]
    squares = [sum(v * v for _, v in column) for column in columns]
    costs, rest = [0.0] * len(columns), [1.0] * len(rows)
    moved = True
    while moved:
        moved = False
        for j, column in enumerate(columns):
            if squares[j] == 0:
                continue
            change = max(sum(v * rest[i] for i, v in column) / squares[j], -costs[j])
            if abs(change) * squares[j] ** 0.5 < 1e-5:
                continue
            moved = True
            costs[j] += change
            for i, v in column:
                rest[i] -= change * v
    return costs, rest


def rows_of(target, names, features):
    """Kernels and features of the cases that run on a core."""
    rows = features[FEATURES_OF.get(target, target)]
    reals = [i for i, name in enumerate(names) if name.startswith("kReal")]
    return [(kernel, row) for kernel, row in rows if target not in WITHOUT_REALS or not any(row[i] for i in reals)]


def judged(target, kernels, off):
    """Prints how far costs are from counts; the kernels of which more than one layer in ten is further off than BOUND."""
    by_kernel = {}
    for kernel, o in zip(kernels, off):
        by_kernel.setdefault(kernel, []).append(abs(o))
    bad = []
    for kernel, some in by_kernel.items():
        some.sort()
        if some[len(some) * 9 // 10] > BOUND:
            bad.append(f"{kernel}: {100 * some[len(some) * 9 // 10]:.0f} % at nine of ten, {100 * some[len(some) // 2]:.0f} % at half of {len(some)}")
    every = sorted(abs(o) for o in off)
    print(f"{target}: half of {len(every)} layers within {100 * every[len(every) // 2]:.1f} %, nine of ten within "
          f"{100 * every[len(every) * 9 // 10]:.1f} %, {sum(o <= BOUND for o in every)} within {100 * BOUND:.0f} %, the worst {100 * every[-1]:.1f} %")
    for line in bad:
        print(f"  {line}")
    return bad


def check(target, names, features, build, work):
    lines = (ROOT / "converter/firmware/costs.def").read_text()
    costs = {name: [float(v) for v in row.split(",")] for name, row in re.findall(r"^VIREO_MCU_COST\((\w+), (.*)\)$", lines, re.M)}
    column = [costs[name][TARGETS.index(target)] for name in names]
    counts = counts_of(target, build, work)
    rows = rows_of(target, names, features)
    off = [sum(c * f for c, f in zip(column, row)) / count - 1 for (_, row), count in zip(rows, counts)]
    if judged(target, [kernel for kernel, _ in rows], off):
        sys.exit("the kernels take other counts than converter/firmware/costs.def says: run tests/smoke/fit_costs.py BUILD")


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    header = (ROOT / "converter/firmware/cost.h").read_text()
    names = re.findall(r"^  (k\w+),", header[header.index("enum Feature {"):header.index("kFeatures")], re.M)
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        run("cc", "-O2", "-shared", "-fPIC", "-o", work / "counter.so", ROOT / "tests/smoke/counter.c")
        run(build / "test" / "mcu_cost_cases", work / "cost_cases.h", work / "features.txt")
        features = {}
        for line in (work / "features.txt").read_text().splitlines():
            core, kernel, *numbers = line.split()
            features.setdefault(core, []).append((kernel, [float(v) for v in numbers]))
        columns = []
        if "--check" in sys.argv:
            check(sys.argv[sys.argv.index("--check") + 1], names, features, build, work)
            return
        for target in TARGETS:
            counts = counts_of(target, build, work)
            rows = rows_of(target, names, features)
            if len(counts) != len(rows):
                sys.exit(f"{target}: {len(counts)} counts of {len(rows)} layers")
            costs, rest = fit([row for _, row in rows], counts)
            columns.append(costs)
            for i in sorted(range(len(rest)), key=lambda i: -abs(rest[i]))[:12 if "--worst" in sys.argv else 0]:
                print(f"  {100 * -rest[i]:+.0f} % of {counts[i]}: {rows[i][0]} { {n: round(f) for n, f in zip(names, rows[i][1]) if f} }")
            judged(target, [kernel for kernel, _ in rows], rest)
    lines = ["// Written by tests/smoke/fit_costs.py: instructions of one of a feature (cost.h), on the cores of cost.cc in their order."]
    for j, feature in enumerate(names):
        lines.append(f"VIREO_MCU_COST({feature}, " + ", ".join(f"{column[j]:.3g}" for column in columns) + ")")
    (ROOT / "converter/firmware/costs.def").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
