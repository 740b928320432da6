#!/usr/bin/env python3
"""Writes COVERAGE.md: for each ONNX operator, at each version that it ever had, for how many of the element types that its
definition allows a case passes; what is refused, with the reason; what no case shows. From the tests themselves: the cases
of the onnx package and those that tests/coverage_cases.py makes of them for other versions and types.

    coverage.py VIREO           writes COVERAGE.md beside this script (needs the onnx package: the Python of toolchains/bootstrap)
    coverage.py VIREO --check   exit status 1 when COVERAGE.md claims what the cases do not show
    coverage.py --names         exit status 1 when an operator of ops.def is not in COVERAGE.md (needs Python alone)
"""
import collections
import glob
import os
import re
import subprocess
import sys
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.join(HERE, "..", "..", "tests")
TARGET = os.path.join(HERE, "COVERAGE.md")
DOMAINS = ["ai.onnx", "ai.onnx.ml", "ai.onnx.preview", "ai.onnx.preview.training"]
# Handled by the converter, without a row in ops.def: its own, and what it takes apart into tensors.
IMPORTER = os.path.join(HERE, "..", "..", "converter", "onnx")
DEVICES = ["cpu", "xnnpack"]
HEAD = """<!-- Written by sdk/ops/coverage.py. -->
# Operators of ONNX

Each row was run: `vireo conformance` over the cases of the onnx package {version} and over those that `tests/coverage_cases.py` makes
of them, {cases} in all; {passed} pass on the reference and cpu kernels ({refused} are refused with a reason, {wrong} go wrong). What is wanted
is what the onnx package says for its own cases, for the others what ONNX Runtime {runtime} or onnx.reference computes, or numpy where
they cannot and the formula is plain (`tests/coverage_written.py`).

A version is a column of what an operator's definition allows: `13 12/14` means that of version 13's 14 pairs of a type parameter and
an element type 12 are shown by a case that passes. Behind it, what is missing: *refused* with the reason, *wrong*, or *no case*
(nothing that could be made of ONNX's cases has an answer to compare with; it may well run). `xnnpack`: element types
for which a case runs wholly on that delegate.

Of {known} operators that are not deprecated {served} pass in at least one version and type; of {versions} versions {shown} do, and
{pairs} of {all_pairs} pairs.
"""


def converters():
    found = {("ai.onnx", name) for name in ("Constant", "If", "Loop", "Scan")}
    for name, domain in (("bundles/sequences.cc", "ai.onnx"), ("bundles/maps.cc", "ai.onnx.ml")):
        with open(os.path.join(IMPORTER, name), encoding="utf-8") as file:
            operators = re.search(r"kOperators\[\] = \{(.*?)\};", file.read(), re.DOTALL)[1]
        found |= {(domain, operator) for operator in re.findall(r'"(\w+)"', operators)}
    return found


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
    """(domain, operator) -> the folder that serves it."""
    spelled = importers()
    served = {key: "" for key in converters()}
    lines = []
    for name in ("ops.def", "imports.def"):
        with open(os.path.join(HERE, name), encoding="utf-8") as file:
            lines += file.read().splitlines()
    for line in lines:
        own = re.match(r"VIREO_OP\(\d+, (\w+), (\w+), \d+, ([\w |]+)\)", line)
        other = re.match(r'VIREO_IMPORT\("([^"]*)", (\w+), (\w+)\)', line)
        traits = own[3].split(" | ") if own else []
        if "kOwn" in traits:  # no ONNX operator means what these mean
            continue
        if own and "kStructure" not in traits:
            name, folder = own[1], own[2]
            domain, operator = spelled.get(name, (None, name))
            if domain is None:  # a family that names its importers through one function
                with open(glob.glob(os.path.join(HERE, folder, "*_onnx.cc"))[0], encoding="utf-8") as file:
                    domain = "ai.onnx.ml" if '"ai.onnx.ml"' in file.read() else ""
            if name == "ReduceNorm":  # ours alone; ReduceL1 and its like are imported as it
                continue
        elif other:
            folder = other[3]
            domain, operator = spelled.get(other[2], (other[1], other[2]))
        else:
            continue
        served[domain or "ai.onnx", operator] = folder
    return served


def check_names():
    with open(TARGET, encoding="utf-8") as file:
        text = file.read()
    missing = [f"{domain} {name}" for domain, name in rows() if not re.search(rf"^\| {name} \|", text, re.MULTILINE)]
    if missing:
        print(f"{TARGET} is behind ops.def, run sdk/ops/coverage.py: " + ", ".join(sorted(missing)), file=sys.stderr)
    return 1 if missing else 0


def made_cases(conformance, node_cases):
    """The folder of tests/coverage_cases.py's cases, made once."""
    import onnx
    import onnxruntime
    script = os.path.join(TESTS, "coverage_cases.py")
    written_by = 0
    for writer in ("coverage_cases.py", "coverage_written.py", "onnx_versions.py", "onnx_cases.py"):
        with open(os.path.join(TESTS, writer), "rb") as file:
            written_by = zlib.crc32(file.read(), written_by)
    name = f"onnx-coverage-{onnx.__version__}-{onnxruntime.__version__}-{written_by:08x}"
    folder = os.path.join(conformance.cache_folder(), name)
    if not os.path.isdir(folder):
        partial = f"{folder}.{os.getpid()}"
        subprocess.run([sys.executable, "-B", script, partial, node_cases], check=True, stdout=subprocess.DEVNULL)
        os.rename(partial, folder)
    return folder


class Table:
    """What the cases show of each version: (domain, operator, version) -> ..."""

    def __init__(self):
        self.shown = {device: collections.defaultdict(set) for device in DEVICES}
        self.refused = collections.defaultdict(dict)  # -> (constraint, type) -> reason
        self.wrong = collections.defaultdict(dict)
        self.counts = collections.Counter()

    def add(self, cases, coverage_cases, program, conformance, devices):
        import onnx
        seen = {}
        for device in devices:
            for folder in cases:
                for case in conformance.run_cases(program, folder, ["--device", device]):
                    path = os.path.join(folder, case["name"])
                    if path not in seen:
                        seen[path] = coverage_cases.shown(onnx.load(os.path.join(path, "model.onnx")))
                    self.add_case(device, case, seen[path])

    def add_case(self, device, case, found):
        reason = re.sub(r"^cannot run \S+: |^\w+: |^\S+ (?=has element type)", "", case.get("reason", "").split("\n")[0])
        lacks = case["result"] == "refused" or "which is not known" in reason
        if device == "cpu":
            self.counts["refused" if lacks else case["result"]] += 1
        made = re.fullmatch(r"([\w.]+)\.(\w+)-(\d+)-(.+)-(\w+)", case["name"])
        for key, pairs in found.items():
            if case["result"] == "pass":
                self.shown[device][key] |= pairs
        if device != "cpu" or case["result"] == "pass" or not made:
            return
        key = ("" if made[1] == "onnx" else made[1], made[2], int(made[3]))
        (self.refused if lacks else self.wrong)[key][made[4], made[5]] = reason


def gaps_text(pairs):
    """[(reason, constraint, type)] as text: reasons with their types."""
    by_reason = collections.defaultdict(list)
    for reason, constraint, name in pairs:
        by_reason[reason].append(name if constraint in ("T", "T1", "V") else f"{name} ({constraint})")
    return "; ".join(", ".join(sorted(set(types))) + (f": {reason}" if reason else "") for reason, types in sorted(by_reason.items()))


def row(name, versions, table, coverage_cases, totals):
    cells, gaps = [], []
    for schema in versions:
        key = (schema.domain, schema.name, schema.since_version)
        allowed = set(coverage_cases.allowed(schema))
        shown = {pair for pair in allowed if pair in table.shown["cpu"][key]}
        ran = bool(table.shown["cpu"][key])
        totals["versions"] += 1
        totals["shown"] += ran
        totals["pairs"] += len(shown)
        totals["all_pairs"] += len(allowed)
        cells.append(f"{schema.since_version} {len(shown)}/{len(allowed)}" + ("" if ran else " (none)"))
        if schema is not versions[-1]:
            continue
        refused, wrong = table.refused[key], table.wrong[key]
        left = sorted(allowed - shown)
        # A reason that repeats types which differ is one reason.
        plain = lambda reason, t: reason.replace(t.replace("float", "float32") if t == "float" else t, "this type")
        for title, group in (("refused", refused), ("wrong", wrong)):
            told = gaps_text([(plain(group[c, t], t), c, t) for c, t in left if (c, t) in group])
            if told:
                gaps.append(f"{title}: {told}")
        silent = gaps_text([("", c, t) for c, t in left if (c, t) not in refused and (c, t) not in wrong])
        if silent:
            gaps.append(f"no case: {silent}")
    totals["served"] += any(" (none)" not in cell for cell in cells)
    newest = versions[-1]
    keys = [(s.domain, s.name, s.since_version) for s in versions]
    on_xnnpack = sorted({t for key in keys for _, t in table.shown["xnnpack"][key] if t})
    return f"| {newest.name} | {', '.join(cells)} | {'. '.join(gaps).replace('|', '/')} | {', '.join(on_xnnpack)} |"


def others(folders, defined):
    """What is served and the onnx package does not define: ONNX's first experiments, and com.microsoft."""
    body = []
    for domain, told in (("ai.onnx", "Experiments of ONNX's first versions, tested by `tests/e2e/contrib_standard_test.py`"),
                         ("com.microsoft", "Tested by `tests/e2e/contrib_test.py` and `contrib_standard_test.py` against ONNX Runtime")):
        names = sorted(name for where, name in folders if where == domain and (where, name) not in defined)
        body += ["", f"## {domain}, without a definition in the onnx package", "", f"{told}.", "", "| operator | folder |", "| --- | --- |",
                 *[f"| {name} | `{folders[domain, name]}/` |" for name in names]]
    return body + ["", "## com.microsoft.nchwc", "",
                   "What ONNX Runtime saves with ORT_ENABLE_ALL: Conv, MaxPool, AveragePool, GlobalMaxPool, GlobalAveragePool, Upsample, ReorderInput and ReorderOutput",
                   "become plain operators again (`converter/onnx/blocked/nchwc.cc`; `--nchwc-block`). Tested by `tests/e2e/blocked_test.py` and `saved_models_test.py` against ONNX Runtime."]


def write(table, coverage_cases):
    import onnx
    import onnxruntime
    from onnx import defs
    versions = collections.defaultdict(list)
    for schema in defs.get_all_schemas_with_history():
        versions[schema.domain or "ai.onnx", schema.name].append(schema)
    folders = rows()
    totals = collections.Counter()
    body = []
    for domain in DOMAINS:
        body += ["", f"## {domain}", "", "| operator | versions | missing in the newest | xnnpack |", "| --- | --- | --- | --- |"]
        for where, name in sorted(versions):
            history = sorted((s for s in versions[where, name] if not s.deprecated), key=lambda s: s.since_version)
            newest_deprecated = max(versions[where, name], key=lambda s: s.since_version).deprecated
            if where == domain and history:
                totals["known"] += not newest_deprecated
                before = totals["served"]
                body.append(row(name, history, table, coverage_cases, totals))
                if newest_deprecated:
                    totals["served"] = before
    body += others(folders, {(where, name) for where, name in versions})
    counts = table.counts
    head = HEAD.format(version=onnx.__version__, runtime=onnxruntime.__version__, cases=sum(counts.values()), passed=counts["pass"], refused=counts["refused"],
                       wrong=sum(counts.values()) - counts["pass"] - counts["refused"],
                       **{k: totals[k] for k in ("known", "served", "versions", "shown", "pairs", "all_pairs")})
    return head + "\n".join(body) + "\n"


def claims(text):
    """(domain, operator, version) -> pairs that pass."""
    found, domain = {}, ""
    for line in text.splitlines():
        if line.startswith("## "):
            domain = line[3:]
        cells = line.split(" | ")
        if line.startswith("| ") and len(cells) == 4:
            for version, count in re.findall(r"(\d+) (\d+)/\d+", cells[1]):
                found[domain, cells[0][2:], int(version)] = int(count)
    return found


def main(arguments):
    if arguments == ["--names"]:
        return check_names()
    try:
        import onnx  # noqa: F401  pylint: disable=unused-import
        import onnxruntime  # noqa: F401  pylint: disable=unused-import
    except ImportError as error:
        print(f"SKIPPED: {error.name} is not there (toolchains/bootstrap --for tests installs it)")
        return 0
    sys.path.insert(0, TESTS)
    import conformance
    import coverage_cases
    program = arguments[0]
    node_cases = conformance.cases_folder(conformance.cache_folder())
    listed = subprocess.run([program, "devices"], capture_output=True, text=True, check=True).stdout
    check = arguments[1:] == ["--check"]
    devices = [d for d in DEVICES if d == "cpu" or (not check and re.search(rf"^{d}\b", listed, re.MULTILINE))]
    table = Table()
    table.add([node_cases, made_cases(conformance, node_cases)], coverage_cases, program, conformance, devices)
    text = write(table, coverage_cases)
    if not check:
        if devices != DEVICES:
            print("this build has no xnnpack: its column would be lost", file=sys.stderr)
            return 1
        with open(TARGET, "w", encoding="utf-8") as file:
            file.write(text)
        print(dict(table.counts))
        return 0
    with open(TARGET, encoding="utf-8") as file:
        claimed = claims(file.read())
    told = claims(text)
    lost = {key: (n, told.get(key, 0)) for key, n in claimed.items() if told.get(key, 0) < n}
    for (domain, name, version), (before, now) in sorted(lost.items()):
        print(f"{domain} {name} version {version}: COVERAGE.md claims {before} types, {now} pass")
    for key, pairs in sorted((key, pairs) for key, pairs in table.wrong.items() if pairs):
        print(f"wrong: {key[1]} version {key[2]}: " + ", ".join(f"{c} {t}" for c, t in pairs))
    gained = sum(told[key] > claimed.get(key, 0) for key in told)
    if gained:
        print(f"COVERAGE.md is behind: {gained} versions pass more types than it says (run sdk/ops/coverage.py)")
    return 1 if lost or not claimed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
