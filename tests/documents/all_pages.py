#!/usr/bin/env python3
"""all_pages.py PAGE.md...: fails when a page of the repository has code blocks and is not in the list, and so is never run."""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
listed = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=False)
if listed.returncode != 0:
    print("all_pages.py: no git here: pages were not listed")
    sys.exit(0)
pages = [p for p in listed.stdout.split() if re.search(r"^ *```(sh|c|cpp|python)\b", (ROOT / p).read_text(), re.M)]
missing = sorted(set(pages) - set(sys.argv[1:]))
if missing:
    sys.exit("not run by tests/documents/CMakeLists.txt: " + ", ".join(missing))
