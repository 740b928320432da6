#!/usr/bin/env python3
"""totals.py [--check]: the table of totals in tests/fuzz/README.md, from totals.tsv (day, target, executions, seconds, edges,
findings; a row a run). --check: fails where the table is not the file's."""
import collections
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
BEGIN, END = "<!-- totals -->\n", "<!-- end of totals -->\n"


def table():
    sums = collections.OrderedDict()
    for line in (HERE / "totals.tsv").read_text().splitlines():
        _, target, executions, seconds, edges, findings = line.split("\t")
        row = sums.setdefault(target, [0, 0, 0, 0])
        row[0] += int(executions)
        row[1] += int(seconds)
        row[2] = max(row[2], int(edges))
        row[3] += int(findings)
    rows = ["| target | executions | hours | edges | findings |", "| --- | ---: | ---: | ---: | ---: |"]
    rows += [f"| {t} | {r[0]:,} | {r[1] / 3600:.2f} | {r[2]:,} | {r[3]} |" for t, r in sums.items()]
    total = [sum(r[i] for r in sums.values()) for i in range(4)]
    rows.append(f"| all | {total[0]:,} | {total[1] / 3600:.2f} | | {total[3]} |")
    return "\n".join(rows) + "\n"


def main():
    readme = HERE / "README.md"
    text = readme.read_text()
    head, rest = text.split(BEGIN)
    made = head + BEGIN + table() + END + rest.split(END)[1]
    if "--check" in sys.argv:
        if made != text:
            sys.exit("tests/fuzz/README.md: its table of totals is not that of totals.tsv; python3 tests/fuzz/totals.py writes it")
        return
    readme.write_text(made)


if __name__ == "__main__":
    main()
