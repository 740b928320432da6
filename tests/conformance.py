#!/usr/bin/env python3
"""Runs ONNX's operator cases through `vireo conformance` and sums up: passed, failed and refused to stderr; each failure
and, by code, each refusal to stdout. With --device D, what that device leaves to others is told by its reason, and is not
counted among the refused.

    conformance.py VIREO [--device D] [--exported]

The cases are made once, in the cache folder (see toolchains/dependencies.cmake), by the Python with onnx that
toolchains/bootstrap --for tests puts there.
"""
import collections
import json
import os
import re
import subprocess
import sys
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
LEFT = re.compile(r"no device of this build runs operator (?P<op>\w+) \(\d+\): (?P<why>[^\n]+)")


def cache_folder():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.environ.get("VIREO_CACHE_DIR") or os.path.join(base, "vireo")


def cases_folder(cache):
    python = os.path.join(cache, "venv", "bin", "python")
    script = os.path.join(HERE, "onnx_cases.py")
    found = subprocess.run([python, "-c", "import onnx; print(onnx.__version__)"], capture_output=True, text=True, check=True)
    with open(script, "rb") as file:
        written_by = f"{zlib.crc32(file.read()):08x}"
    folder = os.path.join(cache, f"onnx-cases-{found.stdout.strip()}-{written_by}")
    if not os.path.isdir(folder):
        partial = f"{folder}.{os.getpid()}"
        subprocess.run([python, script, partial], check=True, stdout=subprocess.DEVNULL)
        os.rename(partial, folder)
    return folder


def main(arguments):
    program, extra = arguments[0], arguments[1:]
    run = subprocess.run([program, "conformance", cases_folder(cache_folder()), "--json", *extra],
                         capture_output=True, text=True, check=False)
    try:
        cases = json.loads(run.stdout)["cases"]
    except (ValueError, KeyError):
        print(run.stdout[-2000:], run.stderr[-2000:], sep="\n")
        print(f"no JSON report (exit status {run.returncode})", file=sys.stderr)
        return 1
    refused = collections.defaultdict(list)
    elsewhere = collections.defaultdict(collections.Counter)
    for case in cases if "--device" in extra else ():
        left = LEFT.search(case.get("reason", "")) if case["result"] == "refused" else None
        if left:
            case["result"] = "elsewhere"
            elsewhere[left.group("why")][left.group("op")] += 1
    counts = collections.Counter(case["result"] for case in cases)
    for why, operators in sorted(elsewhere.items(), key=lambda row: (-sum(row[1].values()), row[0])):
        named = ", ".join(f"{op} {count}" for op, count in operators.most_common(4))
        more = ", ..." if len(operators) > 4 else ""
        print(f"ELSEWHERE: {sum(operators.values())} left to another device: {why} ({named}{more})")
    for case in cases:
        if case["result"] == "refused":
            refused[case.get("code") or "without code", case.get("reason", "").split("\n")[0]].append(case["name"])
        elif case["result"] not in ("pass", "elsewhere"):
            print(f"FAILED: {case['name']}: {case.get('code', '')} {case.get('reason', '')}")
    for (code, reason), names in sorted(refused.items(), key=lambda row: (-len(row[1]), row[0])):
        print(f"SKIPPED: {len(names)} refused, {code}: {reason} (first: {names[0]})")
    wrong = len(cases) - counts["pass"] - counts["refused"] - counts["elsewhere"]
    print(counts["pass"], wrong + (0 if cases else 1), counts["refused"], file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
