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
    if path in GENERATED:
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
    broken = {  # what is said of it, and of nothing else
        "121 characters": [["x" * 121], ["```", "x" * 121, "```"]],
        "124 characters": [["| " + "x" * 120 + " |"]],
        "401 lines": [["x"] * 401],
        "81 lines": [["x"] * 81],
        "leads nowhere": [["[x](gone.md)"], ["[x](../gone/)"]],
        "no such heading": [["[x](DESIGN.md#three-ways)"], ["[x](#gone)"]],
        "no such page": [["see `gone/README.md`"]],
        "'so many'": [["It takes so", "many bytes."]],
        "'too'": [["- It runs there, too."], ["| a | it runs there too |"], ["It runs there too; then it ends."]],
        "'Of X, ...'": [["It ends. Of these nodes, two stay."], ["**One.** Of these nodes, two stay."]],
        "'alone'": [["The CPU alone runs it."]],
        "'told'": [["The reason is told in the log."]],
        "'who' or 'what'": [["It ends. What is left runs on the CPU."], ["Who reads the file closes it."]],
    }
    fine = [
        ["x" * 120],
        ["x"] * 80,
        ["[x](DESIGN.md) [x](b.cc#L1) [x](DESIGN.md#two-ways-1) [x](DESIGN.md#x-what-why) [x](https://a.b/c)"],
        ["`DESIGN.md` and `a/DESIGN.md`"],
        ["## Here and there", "[x](#here-and-there)"],
        ["`[x](gone)` `alone`", "```", "so many", "[x](gone)", "```"],
        ["What is it? Too large."],
        ["## What is left"],
        ["It is too large."],
        ["Of course it runs. Some of it, too small to see."],
    ]
    there = lambda path: path in files or path == "a/README.md"
    verdict = lambda lines, path="a/README.md": list(check(path, lines, there, lambda p: lines if p == path else files[p]))
    cases = [(said, lines) for said, pages in broken.items() for lines in pages]
    wrong = [lines for said, lines in cases if [said in message for _, message in verdict(lines)] != [True]]
    wrong += [lines for lines in fine if verdict(lines)]
    wrong += [[page] for page in GENERATED if verdict(["x" * 121] * 401, page)]
    wrong += [[page] for page in NO_ROOM if verdict(["x"] * 81, page)]
    for lines in wrong:
        print(f"self-test: wrong verdict on {lines[:3]}")
    total = len(cases) + len(fine) + len(GENERATED) + len(NO_ROOM)
    print(f"{total - len(wrong)} of {total} verdicts right")
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
