#!/usr/bin/env python3
"""Checks what a reviewer should not have to look for: paths of one machine, host names of package registries, marks of
unfinished work, files with more than one idea, comments that clang-format leaves long, and large files that slipped in.

    check_tree.py [ROOT]   exit status 1 and one line for each fault
"""
import os
import re
import subprocess
import sys

HOME = r"(?<![A-Za-z0-9_.$}])/(?:" + "|".join(["work", "farm", "root", "home/[a-z]", "Users/[A-Z]", "tmp/[a-z]"]) + r")[A-Za-z0-9_./-]*/"
HOST = r"(?:https?|ftp)://[^ \"'<>]*(?:" + "|".join(["deb" + "ian", "py" + "pi", "python" + "hosted"]) + ")"
MARK = r"\b(?:" + "|".join(["TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK"]) + r")\b"
RULES = [(re.compile(HOME), "a path of one machine"), (re.compile(HOST), "the host name of a package registry"),
         (re.compile(MARK), "a mark of unfinished work")]
CODE = (".cc", ".c", ".h", ".py", ".cmake", ".sh")
MAX_LINES = 800
FORMATTED = (".cc", ".c", ".h")  # clang-format breaks their code, and leaves comments as they were aligned by hand
MAX_COLUMNS = 120
MAX_BYTES = 3 << 20  # the largest model or test set a sample may bring along


def faults(root, path):
    full = os.path.join(root, path)
    if os.path.islink(full) or not os.path.isfile(full):
        return
    size = os.path.getsize(full)
    if size > MAX_BYTES:
        yield 0, f"{size} bytes: too large to be tracked"
        return
    with open(full, "rb") as file:
        data = file.read()
    if b"\0" in data[:8192]:
        return
    lines = data.decode("utf-8", errors="replace").split("\n")
    for number, line in enumerate(lines, 1):
        for pattern, what in RULES:
            match = pattern.search(line)
            if match:
                yield number, f"{what}: {match.group(0)}"
        if path.endswith(FORMATTED) and len(line) > MAX_COLUMNS:
            yield number, f"{len(line)} columns, {MAX_COLUMNS} are allowed"
    if path.endswith(CODE) and len(lines) > MAX_LINES:
        yield 0, f"{len(lines)} lines: look for the second idea in it"


def main(arguments):
    root = arguments[0] if arguments else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    out = subprocess.run(["git", "-C", root, "ls-files", "-z"], capture_output=True, check=False)
    if out.returncode:
        print("check_tree: not a git checkout, nothing to check")
        return 77
    paths = [p for p in out.stdout.decode().split("\0") if p]
    count = 0
    for path in paths:
        for line, message in faults(root, path):
            print(f"{path}:{line}: {message}")
            count += 1
    print(f"check_tree: {len(paths)} files, {count} faults")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
