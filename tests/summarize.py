#!/usr/bin/env python3
"""Counts what a ctest run (its JUnit file) holds: passed, failed and skipped to stderr, the story of each failure and
the reason of each skip to stdout. A GoogleTest or unittest program counts with the cases it ran, anything else as one."""
import re
import sys
import xml.etree.ElementTree

GTEST = {kind: re.compile(r"\[  %s *\] (\d+) tests?[.,]" % kind) for kind in ("PASSED", "FAILED", "SKIPPED")}
UNITTEST = re.compile(r"^Ran (\d+) tests? in", re.M)


def cases(text, ok):
    """(passed, failed, skipped) that one program reports, or None when it does not say."""
    if GTEST["PASSED"].search(text):
        found = {kind: sum(map(int, p.findall(text))) for kind, p in GTEST.items()}
        return found["PASSED"], found["FAILED"] + (0 if ok or found["FAILED"] else 1), found["SKIPPED"]
    if UNITTEST.search(text):
        total = sum(map(int, UNITTEST.findall(text)))
        bad = sum(map(int, re.findall(r"(?:failures|errors)=(\d+)", text)))
        skipped = sum(map(int, re.findall(r"skipped=(\d+)", text)))
        whole = len(re.findall(r"^setUpClass .*\.\.\. skipped ", text, re.M))  # classes, which are one skip and none of the tests
        return total - bad - (skipped - whole), bad + (0 if ok or bad else 1), skipped
    return None


def reasons(text):
    """One line for each skipped case: GoogleTest puts the reason after "file:line: Skipped", unittest in quotes."""
    lines = text.split("\n")
    for i, line in enumerate(lines):
        if re.search(r": Skipped$", line):
            yield next((l.strip() for l in lines[i + 1:i + 3] if l.strip()), "no reason given")
        match = re.search(r"\.\.\. skipped ['\"](.*)['\"]$", line)
        if match:
            yield match.group(1)


def main(path):
    passed = failed = skipped = 0
    for case in xml.etree.ElementTree.parse(path).getroot().iter("testcase"):
        name, status = case.get("name"), case.get("status")
        text = case.findtext("system-out") or ""
        if status in ("notrun", "disabled") or case.find("skipped") is not None:
            element = case.find("skipped")
            why = (element.get("message") if element is not None else "") or "disabled"
            if re.search(r"SKIP_RETURN_CODE|Skipped|disabled", why, re.I):
                skipped += 1
                print(f"SKIPPED: {name}: {text.strip().splitlines()[-1] if text.strip() else why}")
            else:  # its program was not built, say
                failed += 1
                print(f"FAILED: {name}: {why}")
            continue
        ok = status == "run"
        p, f, s = cases(text, ok) or ((1, 0, 0) if ok else (0, 1, 0))
        if ok and p + s == 0:
            f, ok = 1, False
            text += "\nThe program ran no test."
        passed, failed, skipped = passed + p, failed + f, skipped + s
        for why in reasons(text):
            print(f"SKIPPED: {name}: {why}")
        if not ok:
            tail = "\n".join(text.strip().splitlines()[-40:])
            print(f"FAILED: {name}\n{tail}")
    print(passed, failed, skipped, file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
