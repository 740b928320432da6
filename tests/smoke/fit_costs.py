#!/usr/bin/env python3
"""Writes converter/firmware/costs.def: what the loops of delegates/mcu's kernels take on each core, in instructions.

    fit_costs.py BUILD --check TARGET  writes nothing: whether costs.def still says what this core executes
    fit_costs.py BUILD [--worst]       BUILD: a folder with bin/vireo and mcu_cost_cases; compilers and qemu as
                                       tests/e2e/firmware_test.py needs them; --worst: shows the layers furthest off

The layers of cost_cases.cc run in qemu, each with its count. A least-squares fit of the relative errors, without negative
costs, gives each feature its cost. Printed: how far the fit is from the counts.
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
# One number for what takes several: different functions, and elements of 16-bit windows, which are gathered one by one or in words.
COARSE = ("kRealMore", "kIntegers", "kCast", "kWideElements")
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
    n = len(rows[0])
    scaled = [[f / count for f in row] for row, count in zip(rows, counts)]
    squares = [sum(row[j] * row[j] for row in scaled) for j in range(n)]
    costs, rest = [0.0] * n, [1.0] * len(rows)
    moved = True
    while moved:
        moved = False
        for j in range(n):
            if squares[j] == 0:
                continue
            change = sum(row[j] * r for row, r in zip(scaled, rest) if row[j]) / squares[j]
            change = max(change, -costs[j])
            if abs(change) * squares[j] ** 0.5 < 1e-5:
                continue
            moved = True
            costs[j] += change
            for i, row in enumerate(scaled):
                if row[j]:
                    rest[i] -= change * row[j]
    return costs, rest


def rows_of(target, names, features):
    """Features of the cases that run on a core."""
    rows = features[FEATURES_OF.get(target, target)]
    reals = [i for i, name in enumerate(names) if name.startswith("kReal")]
    return [row for row in rows if target not in WITHOUT_REALS or not any(row[i] for i in reals)]


def check(target, names, features, build, work):
    lines = (ROOT / "converter/firmware/costs.def").read_text()
    costs = {name: [float(v) for v in row.split(",")] for name, row in re.findall(r"^VIREO_MCU_COST\((\w+), (.*)\)$", lines, re.M)}
    column = [costs[name][TARGETS.index(target)] for name in names]
    counts = counts_of(target, build, work)
    rows = rows_of(target, names, features)
    off = [abs(sum(c * f for c, f in zip(column, row)) / count - 1) for row, count in zip(rows, counts)]
    coarse = [i for i, name in enumerate(names) if name in COARSE]
    good = True
    for what, some, bound in (("layers", [o for o, row in zip(off, rows) if not any(row[i] for i in coarse)], 0.1), ("layers, with those of coarse features", off, 0.15)):
        some.sort()
        half, most = some[len(some) // 2], some[len(some) * 9 // 10]
        print(f"{target}: half of {len(some)} {what} within {100 * half:.1f} %, nine of ten within {100 * most:.1f} %")
        good = good and half <= 0.03 and most <= bound
    if not good:
        sys.exit("the kernels take other counts than converter/firmware/costs.def says: run tests/smoke/fit_costs.py BUILD")


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    header = (ROOT / "converter/firmware/cost.h").read_text()
    names = re.findall(r"^  (k\w+),", header[header.index("enum Feature {"):header.index("kFeatures")], re.M)
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        run("cc", "-O2", "-shared", "-fPIC", "-o", work / "counter.so", ROOT / "tests/smoke/counter.c")
        run(next(build.rglob("mcu_cost_cases")), work / "cost_cases.h", work / "features.txt")
        features = {}
        for line in (work / "features.txt").read_text().splitlines():
            core, *numbers = line.split()
            features.setdefault(core, []).append([float(v) for v in numbers])
        columns = []
        if "--check" in sys.argv:
            check(sys.argv[sys.argv.index("--check") + 1], names, features, build, work)
            return
        for target in TARGETS:
            counts = counts_of(target, build, work)
            rows = rows_of(target, names, features)
            if len(counts) != len(rows):
                sys.exit(f"{target}: {len(counts)} counts of {len(rows)} layers")
            costs, rest = fit(rows, counts)
            columns.append(costs)
            if "--worst" in sys.argv:
                for i in sorted(range(len(rest)), key=lambda i: -abs(rest[i]))[:12]:
                    told = {n: round(f) for n, f in zip(names, rows[i]) if f}
                    print(f"  {100 * -rest[i]:+.0f} % of {counts[i]}: {told}")
            off = sorted(abs(r) for r in rest)
            print(f"{target}: half of {len(off)} layers within {100 * off[len(off) // 2]:.1f} %, nine of ten within "
                  f"{100 * off[len(off) * 9 // 10]:.1f} %, the worst {100 * off[-1]:.1f} %")
    lines = ["// Written by tests/smoke/fit_costs.py: instructions of one of a feature (cost.h), on the cores of cost.cc in their order."]
    for j, feature in enumerate(names):
        lines.append(f"VIREO_MCU_COST({feature}, " + ", ".join(f"{column[j]:.3g}" for column in columns) + ")")
    (ROOT / "converter/firmware/costs.def").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
