"""The inner loops of the AVX-512 kernels, counted in the disassembly: callgrind knows no AVX-512, and few machines let a program count
its instructions. Of each kernel family it takes the loop with the most multiply-accumulate instructions and compares how many
instructions it has and how many of them multiply with what loops.txt says.

    inner_loops_test.py OBJECTS            compares: fewer products in a loop, or more instructions to a product, fails
    inner_loops_test.py OBJECTS --update   writes loops.txt anew

OBJECTS is the folder of the kernels' object files. Another compiler than loops.txt names is a reason to skip, printed.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

STORED = pathlib.Path(__file__).resolve().parent / "loops.txt"
COMPILER = os.environ.get("VIREO_COMPILER", "unknown")
PRODUCT = re.compile(r"^(vfn?m(add|sub)\d+p[sd]|vpdp\w+|vpmadd\w+|vdpbf16ps|tdp\w+)$")
LINE = re.compile(r"^\s*([0-9a-f]+):\t(\S+)(?:\s+([0-9a-f]+)(?= <))?")
# Which functions are AVX-512's: Highway's namespaces.
LEVELS = ("N_AVX3::", "N_AVX3_DL::", "N_AVX3_ZEN4::", "amx")


def functions(text):
    name, lines = None, []
    for line in text.splitlines():
        head = re.match(r"^[0-9a-f]+ <(.*)>:$", line)
        if head:
            if name:
                yield name, lines
            name, lines = head[1], []
        else:
            found = LINE.match(line)
            if found:
                lines.append((int(found[1], 16), found[2], found[3]))
    if name:
        yield name, lines


def best_loop(lines):
    """(products, instructions) of the innermost loop with the most products."""
    place = {address: i for i, (address, _, _) in enumerate(lines)}
    spans = [(place[int(to, 16)], i) for i, (_, op, to) in enumerate(lines)
             if op.startswith("j") and to and int(to, 16) in place and place[int(to, 16)] <= i]
    best = (0, 0)
    for begin, end in spans:
        if any(b >= begin and e <= end and (b, e) != (begin, end) for b, e in spans):
            continue
        body = lines[begin:end + 1]
        products = sum(bool(PRODUCT.match(op)) for _, op, _ in body)
        if (products, -len(body)) > (best[0], -best[1]):
            best = (products, len(body))
    return best


def measured(objects):
    found = {}
    for file in sorted(objects.rglob("*.o")):
        if file.stem.replace(".cc", "").endswith(("_test", "_bench")):
            continue
        text = subprocess.run(["objdump", "-d", "-C", "--no-show-raw-insn", str(file)], capture_output=True, text=True, check=True).stdout
        best = (0, 0)
        for name, lines in functions(text):
            if any(level in name for level in LEVELS):
                loop = best_loop(lines)
                best = max(best, loop, key=lambda l: (l[0], -l[1]))
        if best[0] >= 4:
            found[f"{file.parent.name}/{file.name.split('.')[0]}"] = best
    return found


def stored():
    lines = [line.split() for line in STORED.read_text().splitlines() if line and not line.startswith("#")]
    return lines[0][1], {name: (int(products), int(total)) for name, products, total in lines[1:]}


def main():
    objects, update = pathlib.Path(sys.argv[1]), "--update" in sys.argv
    if update and COMPILER == "unknown":
        raise SystemExit("--update: VIREO_COMPILER must name the compiler, as the test's own environment does (ctest -V shows it)")
    if shutil.which("objdump") is None:
        print("objdump is not installed (Debian package binutils)")
        return 77
    if not update and stored()[0] != COMPILER:
        print(f"loops.txt is of compiler {stored()[0]}, this build of {COMPILER}")
        return 77
    loops = measured(objects)
    if update:
        STORED.write_text("# Family, products and instructions of its largest AVX-512 inner loop; written by inner_loops_test.py --update.\n"
                          f"compiler {COMPILER}\n" + "".join(f"{name} {p} {n}\n" for name, (p, n) in loops.items()))
        return 0
    known, failed = stored()[1], 0
    for name in sorted({*known, *loops}):
        was, now = known.get(name), loops.get(name)
        good = bool(was and now) and now[0] >= was[0] and now[1] * was[0] <= 1.05 * was[1] * now[0]
        failed += not good
        show = lambda loop: f"{loop[0]:>3} of {loop[1]:>3}" if loop else "      none"
        print(f"{'ok  ' if good else 'FAIL'} {name:<28} {show(was)} now {show(now)}")
    if failed:
        print(f"{failed} inner loops changed. Wanted? inner_loops_test.py --update writes loops.txt anew.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
