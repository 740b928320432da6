#!/usr/bin/env python3
"""Writes COVERAGE.md: which ONNX operators this tree serves, and with what, read from ops.def and the importers; and which
operators of the installed `onnx` package it does not serve.

    coverage.py            writes COVERAGE.md beside this script (needs the onnx package)
    coverage.py --check    exit status 1 when COVERAGE.md does not say what ops.def says (needs Python alone)
"""
import glob
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TARGET = os.path.join(HERE, "COVERAGE.md")
DOMAINS = ["ai.onnx", "ai.onnx.ml", "ai.onnx.preview", "ai.onnx.preview.training", "com.microsoft"]
# Handled by the converter, without a row in ops.def: its own, and what it takes apart into tensors.
SEQUENCES = os.path.join(HERE, "..", "..", "converter", "onnx", "sequences.cc")


def converters():
    with open(SEQUENCES, encoding="utf-8") as file:
        operators = re.search(r"kOperators\[\] = \{(.*?)\};", file.read(), re.DOTALL)[1]
    names = ["Constant", "If", "Loop", "Scan", *re.findall(r'"(\w+)"', operators)]
    return {("ai.onnx", name) for name in names}


def importers():
    """name of the row -> (domain, operator) where the importer's definition spells them out."""
    found = {}
    for path in glob.glob(os.path.join(HERE, "*", "*_onnx.cc")):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        for match in re.finditer(r'const OnnxImport k(\w+)Onnx\s*(?:=\s*)?\{\s*"([^"]*)",\s*"(\w+)"', text):
            found[match[1]] = (match[2], match[3])
    return found


def rows():
    """(domain, operator) -> what serves it."""
    spelled = importers()
    served = {}
    lines = []
    for name in ("ops.def", "imports.def"):
        with open(os.path.join(HERE, name), encoding="utf-8") as file:
            lines += file.read().splitlines()
    for line in lines:
        own = re.match(r"VIREO_OP\((\d+), (\w+), (\w+), \d+\)", line)
        other = re.match(r'VIREO_IMPORT\("([^"]*)", (\w+), (\w+)\)', line)
        if own and 240 <= int(own[1]) < 260:  # no ONNX operator means what these mean
            continue
        if own and int(own[1]) >= 10:
            name, folder, how = own[2], own[3], f"operator {own[1]}"
            domain, operator = spelled.get(name, (None, name))
            if domain is None:  # a family that names its importers through one function
                with open(glob.glob(os.path.join(HERE, folder, "*_onnx.cc"))[0], encoding="utf-8") as file:
                    domain = "ai.onnx.ml" if '"ai.onnx.ml"' in file.read() else ""
            if name == "ReduceNorm":  # ours alone; ReduceL1 and its like are imported as it
                continue
        elif other:
            folder, how = other[3], "other operators"
            domain, operator = spelled.get(other[2], (other[1], other[2]))
        else:
            continue
        served[domain or "ai.onnx", operator] = (folder, how)
    return served


def known_to_onnx():
    import onnx
    from onnx import defs

    names = set()
    for schema in defs.get_all_schemas():
        names.add((schema.domain or "ai.onnx", schema.name, bool(schema.deprecated)))
    return onnx.__version__, {(d, n) for d, n, deprecated in names if not deprecated}


def tables(served):
    text = []
    for domain in DOMAINS:
        names = sorted(name for where, name in served if where == domain)
        if not names:
            continue
        text += [f"## {domain}", "", "| operator | folder | served by |", "| --- | --- | --- |"]
        text += ["| %s | `%s/` | %s |" % ((name,) + served[domain, name]) for name in names]
        text.append("")
    return "\n".join(text)


def main(arguments):
    served = rows()
    body = tables(served)
    if arguments == ["--check"]:
        with open(TARGET, encoding="utf-8") as file:
            current = file.read()
        if body in current:
            return 0
        print(f"{TARGET} is behind ops.def: run sdk/ops/coverage.py", file=sys.stderr)
        return 1
    version, known = known_to_onnx()
    missing = sorted(known - set(served) - converters())
    head = [
        "<!-- Written by sdk/ops/coverage.py. -->",
        "# Operators of ONNX",
        "",
        f"Of the {len(known)} operators of the onnx package {version} that are not deprecated, {len(known) - len(missing)} are",
        "served; what old opsets spelled otherwise is upgraded on import. `Constant`, `If`, `Loop`, `Scan` and the operators over",
        "sequences and optionals are the converter's own. A served operator may still refuse a node, with the reason: `vireo check MODEL.onnx` tells.",
        "",
        "Not served:",
        "",
        *[f"- {domain}: " + ", ".join(name for where, name in missing if where == domain)
          for domain in sorted({where for where, _ in missing})],
        "",
    ]
    with open(TARGET, "w", encoding="utf-8") as file:
        file.write("\n".join(head) + "\n" + body)
    print(f"{len(known) - len(missing)} of {len(known)} served", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
