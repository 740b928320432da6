"""Instructions that a run of each small model of cases.py takes, beside what counts.txt says: a loss of speed that no noisy clock is
needed to see. Counted by callgrind, which shows a core without AVX-512: the kernels run at the level of AVX2.

    counts_test.py            compares; a count that is above its bound (3 % and 2,000 instructions) fails, as one that is as much below:
                              then `--update` keeps what was won
    counts_test.py --update   writes counts.txt anew

Counts belong to a compiler: another one than counts.txt names is a reason to skip, printed.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
STORED = HERE / "counts.txt"
PROGRAM = os.environ.get("VIREO_PROGRAM", "vireo")
COUNT_RUN = os.environ.get("VIREO_COUNT_RUN", "count_run")
COMPILER = os.environ.get("VIREO_COMPILER", "unknown")
FIXED = 2000  # what an unlike C library or alignment of the stack moves


def measured(folder):
    import cases
    import onnx

    files = []
    for name, model in cases.cases().items():
        source, file = folder / f"{name}.onnx", folder / f"{name}.vireo"
        onnx.save(model, source)
        subprocess.run([PROGRAM, "convert", str(source), "-o", str(file)], check=True, stdout=subprocess.DEVNULL)
        files.append(file)
    out = folder / "callgrind.out"
    done = subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", "--collect-atstart=no", "-q", COUNT_RUN, *map(str, files)],
                          capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"counts_test: {done.stderr.strip() or done.returncode}")
    counts = {}
    for dump in folder.glob("callgrind.out.*"):
        text = dump.read_text()
        name = re.search(r"desc: Trigger: Client Request: (.*)\.vireo", text)
        total = re.search(r"^(?:summary|totals): (\d+)", text, re.M)
        if name and total:
            counts[pathlib.Path(name[1]).name] = int(total[1])
    return counts


def stored():
    lines = [line.split() for line in STORED.read_text().splitlines() if line and not line.startswith("#")]
    return lines[0][1], {name: int(count.replace(",", "")) for name, count in lines[1:]}


def write(counts):
    width = max(map(len, counts))
    STORED.write_text("# Instructions of one run, AVX2; written by counts_test.py --update.\n" + f"compiler {COMPILER}\n" +
                      "".join(f"{name:<{width}} {count:>12,}\n" for name, count in sorted(counts.items())))


def main():
    for module, why in (("onnx", "it writes the models"), ("numpy", "so do its arrays")):
        try:
            __import__(module)
        except ImportError:
            print(f"{module} is not installed: {why} (toolchains/bootstrap --for tests)")
            return 77
    if shutil.which("valgrind") is None:
        print("valgrind is not installed: it counts the instructions (toolchains/bootstrap --for tests)")
        return 77
    update = "--update" in sys.argv
    if update and COMPILER == "unknown":
        raise SystemExit("--update: VIREO_COMPILER must name the compiler, as the test's own environment does (ctest -V shows it)")
    if not update and stored()[0] != COMPILER:
        print(f"counts.txt is of compiler {stored()[0]}, this build of {COMPILER}")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        counts = measured(pathlib.Path(folder))
    if update:
        write(counts)
        return 0
    known, failed = stored()[1], 0
    for name in sorted({*known, *counts}):
        was, now = known.get(name), counts.get(name)
        good = was is not None and now is not None and abs(now - was) <= 0.03 * was + FIXED
        failed += not good
        change = f"{100 * (now / was - 1):+.1f} %" if was and now else "only one of both has it"
        print(f"{'ok  ' if good else 'FAIL'} {name:<32} {was or 0:>12,} {now or 0:>12,} {change}")
    if failed:
        print(f"{failed} counts moved. Wanted? {pathlib.Path(__file__).name} --update writes counts.txt anew.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
