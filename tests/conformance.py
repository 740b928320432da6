#!/usr/bin/env python3
"""Runs ONNX's operator cases through `vireo conformance` and sums up: passed, failed and refused to stderr; each failure
and, by code, each refusal to stdout. With --device D, what that device leaves to others is told by its reason, and is not
counted among the refused.

    conformance.py VIREO [--suite node|testdata] [--every N] [--device D] [--exported] [--symbolic] [--runtime-values]
    conformance.py VIREO --table [--device D]      both suites, each way to judge them: counts

`node`: the cases that the onnx package computes. `testdata`: those that Debian ships as libonnx-testdata (node, simple, and
what PyTorch converted), in VIREO_ONNX_TESTDATA or where the package puts them.

--every N takes every N-th case. The cases are made once, in the cache folder (see toolchains/dependencies.cmake), by the Python with onnx that
toolchains/bootstrap --for tests puts there.
"""
import collections
import json
import os
import re
import subprocess
import sys
import tempfile
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


# Cases of libonnx-testdata whose files contradict themselves or the standard; they are refused by name.
LIKE = "the data of input `like` has shape [1], the model declares another"
INVALID = {
    "test_adam_multiple": "its answers have epsilon 0.01, its model leaves epsilon out, which means 0",
    "test_castlike_BFLOAT16_to_FLOAT": LIKE,
    "test_castlike_BFLOAT16_to_FLOAT_expanded": LIKE,
    "test_castlike_FLOAT_to_BFLOAT16": LIKE,
    "test_castlike_FLOAT_to_BFLOAT16_expanded": LIKE,
}


def testdata_folder():
    folder = os.environ.get("VIREO_ONNX_TESTDATA") or "/usr/share/libonnx-testdata/data"
    return folder if os.path.isdir(folder) else None


def run_cases(program, folder, extra, testdata=False):
    """The cases' results; None when there is no report. testdata: the folder holds cases of libonnx-testdata."""
    run = subprocess.run([program, "conformance", folder, "--json", *extra], capture_output=True, text=True, check=False)
    try:
        cases = json.loads(run.stdout)["cases"]
        for case in cases if testdata else ():
            if case["result"] == "fail" and case["name"] in INVALID:
                case.update(result="refused", code="invalid case", reason=INVALID[case["name"]])
        return cases
    except (ValueError, KeyError):
        print(run.stdout[-2000:], run.stderr[-2000:], sep="\n")
        print(f"no JSON report (exit status {run.returncode})", file=sys.stderr)
        return None


def table(program, extra):
    suites = [("node", cases_folder(cache_folder())), ("testdata", testdata_folder())]
    print("| suite | judged | passed | failed | refused | of |\n| --- | --- | --- | --- | --- | --- |")
    for name, folder in suites:
        if folder is None:
            print(f"SKIPPED: {name}: libonnx-testdata is not installed (VIREO_ONNX_TESTDATA names its folder)")
            continue
        for variant in ([], ["--exported"], ["--symbolic"], ["--runtime-values"]):
            cases = run_cases(program, folder, [*extra, *variant], name == "testdata")
            if not cases:
                return 1
            counts = collections.Counter(case["result"] for case in cases)
            wrong = len(cases) - counts["pass"] - counts["refused"]
            print(f"| {name} | {' '.join(variant) or 'as it is'} | {counts['pass']} | {wrong} | {counts['refused']} | {len(cases)} |",
                  flush=True)
    return 0


def main(arguments):
    program, extra = arguments[0], arguments[1:]
    if "--table" in extra:
        return table(program, [word for word in extra if word != "--table"])
    folder = cases_folder(cache_folder())
    if "--suite" in extra:
        at = extra.index("--suite")
        if extra[at + 1] == "testdata":
            folder = testdata_folder()
        del extra[at:at + 2]
        if folder is None:
            print("SKIPPED: libonnx-testdata is not installed (VIREO_ONNX_TESTDATA names its folder)")
            print("0 0 1", file=sys.stderr)
            return 0
    every = 1
    if "--every" in extra:
        at = extra.index("--every")
        every = int(extra[at + 1])
        del extra[at:at + 2]
    with tempfile.TemporaryDirectory() as some:
        for case in sorted(at for at, _, files in os.walk(folder) if "model.onnx" in files)[::every] if every > 1 else ():
            link = os.path.join(some, os.path.relpath(case, folder))
            os.makedirs(os.path.dirname(link), exist_ok=True)
            os.symlink(case, link)
        cases = run_cases(program, some if every > 1 else folder, extra, folder == testdata_folder())
    if cases is None:
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
