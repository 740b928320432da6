#!/usr/bin/env python3
"""Checks what the documents (*.md) promise a reader: lines that fit, pages of a bearable length, rooms of one page, links
that lead somewhere, and plain words.

    check_documents.py [ROOT]        reads the tracked documents below ROOT; exit status 1 and one line for each fault
    check_documents.py --self-test   proves that each rule fires
"""
import os
import re
import subprocess
import sys

MAX_COLUMNS = 120
MAX_LINES = 400
MAX_ROOM_LINES = 80
GENERATED = {"c_api/REFERENCE.md", "sdk/ops/COVERAGE.md"}  # written by scripts, from texts that are checked elsewhere
NO_ROOM = {"README.md", "samples/tutorial/README.md"}  # the project's page, and a lesson to read from end to end
# Only the links of these are checked.
LINKS_ONLY = re.compile(r"(README|CHANGELOG|c_api/tool/README|samples/(howto|tutorial)/.*)\.md$")

# Words that a native reader misreads, and what to write. Matched in one sentence, without code and link targets.
WORDS = [(re.compile(pattern), advice) for pattern, advice in [
    (r"(?i)\bso many\b", "'so many': name the number"),
    (r"\btoo(?=[.,;:)!]|$)", "'too' for also: write 'also'"),
    (r"^Of [^.:;]*?,", "'Of X, ...' in front: begin with the subject"),
    (r"(?i)\balone\b", "'alone': write 'only', 'by itself' or 'unchanged'"),
    (r"(?i)\btold\b", "'told': write 'reported', 'given' or 'distinguished'"),
    (r"^(Who|What)\b[^?]*$", "'who' or 'what' as a subject: name the subject"),
]]

FENCE = re.compile(r" *(```|~~~)")
HEADING = re.compile(r"#{1,6} +(.*?) *#*$")
CODE = re.compile(r"`[^`]*`")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
PAGE = re.compile(r"`([A-Za-z0-9_./-]+\.md)`")
ENDS = re.compile(r"(?<=[.:;!?])\s+|(?<=\.\*\*)\s+|(?<=\.\*)\s+")


def plain(lines):
    """(number, line) of the lines outside of code blocks and comments."""
    fence = comment = False
    for number, line in enumerate(lines, 1):
        if FENCE.match(line):
            fence = not fence
        elif not fence and not line.startswith("    "):
            comment = comment or line.startswith("<!--")
            if not comment:
                yield number, line
            comment = comment and "-->" not in line


def sentences(lines):
    """(number of the first line, sentence) of paragraphs, list items and cells of tables; headings are no sentences."""
    begin, text = 0, ""

    def cut():
        bare = re.sub(r"\s+", " ", LINK.sub(lambda m: m.group(0).split("](")[0][1:], CODE.sub("x", text)))
        return [(begin, s.lstrip("*_ ")) for s in ENDS.split(bare) if s.strip()]

    for number, line in plain(lines):
        item = re.match(r" *([-*]|\d+\.) +", line)
        if item or not line.strip() or line.startswith(("|", "#", "<")):
            yield from cut()
            begin, text = number, ""
        if line.startswith("|"):
            for cell in line.strip("|").split("|"):
                text = cell.strip()
                yield from cut()
            text = ""
        elif line.strip() and not line.startswith(("#", "<")):
            begin = begin if text else number
            text += " " + (line[item.end():] if item else line.strip())
    yield from cut()


def anchors(lines):
    """The names that a page of GitHub gives its headings."""
    seen = {}
    for _, line in plain(lines):
        heading = HEADING.match(line)
        if heading:
            name = re.sub(r"[^\w\- ]", "", LINK.sub(lambda m: m.group(0).split("](")[0], heading.group(1)).lower()).replace(" ", "-")
            seen[name] = seen.get(name, -1) + 1
            yield name if not seen[name] else f"{name}-{seen[name]}"


def broken_links(path, lines, there, read):
    """there(path): a file or folder of that name exists; read(path): the lines of another document."""
    for number, line in plain(lines):
        for target in LINK.findall(CODE.sub("", line)):
            if re.match(r"[a-z]+:", target):
                continue
            page, _, anchor = target.partition("#")
            full = os.path.normpath(os.path.join(os.path.dirname(path), page)) if page else path
            if not there(full):
                yield number, f"the link leads nowhere: {target}"
            elif anchor and full.endswith(".md") and anchor not in anchors(read(full)):
                yield number, f"the page has no such heading: {target}"
        for page in PAGE.findall(line):
            if not there(page) and not there(os.path.normpath(os.path.join(os.path.dirname(path), page))):
                yield number, f"no such page, from here or from the root: {page}"


def check(path, lines, there, read):
    yield from broken_links(path, lines, there, read)
    if path in GENERATED or LINKS_ONLY.match(path):
        return
    for number, line in enumerate(lines, 1):
        if len(line) > MAX_COLUMNS:
            yield number, f"{len(line)} characters, {MAX_COLUMNS} are allowed"
    if len(lines) > MAX_LINES:
        yield 0, f"{len(lines)} lines, {MAX_LINES} are allowed: split the page"
    elif os.path.basename(path) == "README.md" and path not in NO_ROOM and len(lines) > MAX_ROOM_LINES:
        yield 0, f"{len(lines)} lines, a room's README has {MAX_ROOM_LINES}: move designs to DESIGN.md, figures to results"
    for number, sentence in sentences(lines):
        for pattern, advice in WORDS:
            found = pattern.search(sentence)
            if found:
                yield number, f"{advice}: ...{sentence[max(0, found.start() - 30):found.start() + 40]}..."


def self_test():
    files = {"a/DESIGN.md": ["# Two ways", "## Two ways", "## `x`: what, why"], "a/b.cc": []}
    broken = {
        "line": ["x" * 121],
        "line of a table": ["| " + "x" * 120 + " |"],
        "line of code": ["```", "x" * 121, "```"],
        "document": ["x"] * 401,
        "room": ["x"] * 81,
        "link": ["[x](gone.md)"],
        "link of a folder": ["[x](../gone/)"],
        "anchor": ["[x](DESIGN.md#three-ways)"],
        "anchor here": ["[x](#gone)"],
        "page in code": ["see `gone/README.md`"],
        "so many": ["It takes so", "many bytes."],
        "too": ["- It runs there, too."],
        "too in a cell": ["| a | it runs there too |"],
        "too before more": ["It runs there too; then it ends."],
        "of": ["It ends. Of these nodes, two stay."],
        "of after bold": ["**One.** Of these nodes, two stay."],
        "alone": ["The CPU alone runs it."],
        "told": ["The reason is told in the log."],
        "what": ["It ends. What is left runs on the CPU."],
        "who": ["Who reads the file closes it."],
    }
    fine = {
        "line": ["x" * 120],
        "room": ["x"] * 80,
        "links": ["[x](DESIGN.md) [x](b.cc#L1) [x](DESIGN.md#two-ways-1) [x](DESIGN.md#x-what-why) [x](https://a.b/c)"],
        "pages": ["`DESIGN.md` and `a/DESIGN.md`"],
        "anchor here": ["## Here and there", "[x](#here-and-there)"],
        "code": ["`[x](gone)` `alone`", "```", "so many", "[x](gone)", "```"],
        "question": ["What is it? Too large."],
        "heading": ["## What is left"],
        "too": ["It is too large."],
        "of": ["Of course it runs. Some of it, too small to see."],
    }
    read = files.__getitem__
    there = lambda path: path in files or path == "a/README.md"
    verdict = lambda lines: list(check("a/README.md", lines, there, lambda p: lines if p == "a/README.md" else read(p)))
    wrong = [f"broken {n}" for n, t in broken.items() if len(verdict(t)) != 1] + [f"fine {n}" for n, t in fine.items() if verdict(t)]
    for name in wrong:
        print(f"self-test: wrong verdict on {name}")
    print(f"{len(broken) + len(fine) - len(wrong)} of {len(broken) + len(fine)} verdicts right")
    return 1 if wrong else 0


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    root = arguments[0] if arguments else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    out = subprocess.run(["git", "-C", root, "ls-files", "-z", "*.md"], capture_output=True, check=False)
    if out.returncode:
        print("check_documents: not a git checkout, nothing to check")
        return 77

    def read(path):
        with open(os.path.join(root, path), encoding="utf-8") as file:
            return file.read().splitlines()

    paths = [p for p in out.stdout.decode().split("\0") if p and os.path.isfile(os.path.join(root, p))]
    count = 0
    for path in paths:
        for line, message in check(path, read(path), lambda p: os.path.exists(os.path.join(root, p)), read):
            print(f"{path}:{line}: {message}")
            count += 1
    print(f"check_documents: {len(paths)} documents, {count} faults")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
