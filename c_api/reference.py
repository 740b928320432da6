#!/usr/bin/env python3
"""reference.py [--update]: c_api/REFERENCE.md, made from the headers of c_api/include/vireo. Without --update it compares and fails where
they differ, or where nothing is said about a function or a type.

What is said about something is the comment above it; in a paragraph (lines without an empty one between them) it holds for those
below as well. Members of structs and enums keep their comments, because their declarations are shown as they stand."""
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
HEADERS = ["vireo.h", "fleet.h", "buffer.h", "trust.h", "telemetry.h", "delegate.h"]  # in the order in which one meets them
PAGE = HERE / "REFERENCE.md"
NAME = re.compile(r"\b((?:vireo|VIREO)_\w+)")


def plain(comment):
    """A block comment's text, paragraphs kept."""
    lines = [re.sub(r"^\s*\*? ?", "", line.strip().removeprefix("/*").removesuffix("*/")) for line in comment.strip().splitlines()]
    return "\n".join(lines).strip()


def items(text):
    """(section, comment, declaration) in order; a declaration is one typedef, function, enum or #define with its lines."""
    section, comment, position = "", "", 0
    token = re.compile(
        r"(?P<blank>\n\s*\n)|(?P<comment>/\*.*?\*/)|(?P<define>#define (?:[^\n]*\\\n)*[^\n]*)|(?P<directive>#[^\n]*)|"
        r"(?P<extern>extern \"C\" \{|^\}$)|(?P<code>(?:typedef|VIREO_API|enum|struct)\b)", re.S | re.M)
    while (match := token.search(text, position)) is not None:
        position = match.end()
        if match["blank"]:
            comment = ""
            position = match.start() + 1 if not match["blank"].endswith("\n\n") else match.end() - 1
            position = max(position, match.start() + 1)
        elif match["comment"]:
            found = plain(match["comment"])
            heading = re.fullmatch(r"-+ (.*?) -+", found.replace("\n", " "))
            if heading:
                section = heading[1]
            else:
                comment = found
        elif match["define"]:
            if not match["define"].startswith("#define VIREO_") or re.match(r"#define VIREO_\w+_H_", match["define"]):
                continue
            yield section, comment, match["define"]
        elif match["code"]:
            depth, at = 0, match.start()
            while not (text[at] == ";" and depth == 0):
                if text.startswith("/*", at):
                    at = text.index("*/", at) + 1
                depth += {"{": 1, "}": -1}.get(text[at], 0)
                at += 1
            position = end = at + 1
            behind = re.match(r" */\*.*?\*/", text[position:], re.S)  # on the same line
            said = plain(behind[0]) if behind else ""
            position += behind.end() if behind else 0
            yield section, "\n\n".join(c for c in (comment, said) if c), text[match.start():end]


def name_of(declaration):
    if declaration.startswith("#define"):
        return NAME.search(declaration)[1]
    if declaration.startswith("VIREO_API"):
        return re.search(r"\b(vireo_\w+)\(", declaration)[1]
    function = re.search(r"\(\*(vireo_\w+)\)\(", declaration)
    if function and "{" not in declaration:
        return function[1]
    if declaration.startswith("enum"):
        return re.search(r"\b(VIREO_\w+)", declaration)[1] + ", ..."
    tail = re.search(r"\b(vireo_\w+)\s*;$", declaration)
    return tail[1] if tail else NAME.search(declaration)[1]


def page():
    out = ["# The C API\n", "Made from the headers by `c_api/reference.py`: what stands here stands there. All of it is in `vireo/vireo.h` but where a heading names another header.\n"]
    silent = []
    for header in HEADERS:
        text = (HERE / "include" / "vireo" / header).read_text()
        intro = re.match(r"\s*/\*(.*?)\*/", text, re.S)
        out.append(f"\n## vireo/{header}\n\n{plain(intro[0])}\n")
        text = text[intro.end():]
        section, defined = "", set()
        for group, comment, declaration in items(text):
            name = name_of(declaration)
            if name.endswith("_INIT") or name == "VIREO_API" or name in defined:
                continue
            defined.add(name)
            if group != section:
                out.append(f"\n### {group}\n")
                section = group
            opaque = re.fullmatch(r"typedef struct (\w+) \1;.*", declaration, re.S)
            if not comment and not opaque and not declaration.startswith(("#", "typedef enum")) and "/*" not in declaration:
                silent.append(f"{header}: {name}")
            out.append(f"\n#### {name}\n\n" + (comment + "\n\n" if comment else "") + f"```h\n{declaration.removeprefix('VIREO_API ')}\n```\n")
    return "".join(out), silent


def main():
    made, silent = page()
    if "--update" in sys.argv:
        PAGE.write_text(made)
        return
    if silent:
        sys.exit("nothing is said about: " + ", ".join(silent))
    if not PAGE.exists() or PAGE.read_text() != made:
        sys.exit("c_api/REFERENCE.md is not what the headers say: python3 c_api/reference.py --update writes it")


if __name__ == "__main__":
    main()
