#!/usr/bin/env python3
"""The reader of the headers' declarations, and c_api/REFERENCE.md as text. describe.py writes the page and compares it.

The text of a declaration is the comment right above it, or behind it on its line. An enum without a name is shown with the integer type in
front of it. Members of structs and enums keep their comments, because their declarations are shown as they stand.

    reference.py --self-test   proves that a missing text is found"""
import re
import sys
import textwrap

HEADERS = ["vireo.h", "fleet.h", "buffer.h", "trust.h", "telemetry.h", "delegate.h"]  # in the order in which one meets them
NAME = re.compile(r"\b((?:vireo|VIREO)_\w+)")


def plain(comment):
    """A block comment's text, paragraphs kept."""
    lines = [re.sub(r"^\s*\*? ?", "", line.strip().removeprefix("/*").removesuffix("*/")) for line in comment.strip().splitlines()]
    return "\n".join(lines).strip()


def items(text):
    """(section, comment, declaration) in order; a declaration is one typedef, function, enum or #define with its lines. A comment belongs to
    the declaration below it and to no other."""
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
            if not match["define"].startswith("#define VIREO_") or re.match(r"#define VIREO_\w+_(H_|\()", match["define"]):
                continue
            yield section, comment or plain(" ".join(re.findall(r"/\*.*?\*/", match["define"]))), match["define"]
            comment = ""
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
            if re.match(r"typedef u?int\d+_t \w+;\s*enum \{", text[match.start():]):
                position = text.index("enum", end)
                end = text.index("};", position) + 2
                position = end
            yield section, "\n\n".join(c for c in (comment, said) if c), text[match.start():end]
            comment = ""


def name_of(declaration):
    if declaration.startswith("#define"):
        return NAME.search(declaration)[1]
    if declaration.startswith("VIREO_API"):
        return re.search(r"\b(vireo_\w+)\(", declaration)[1]
    function = re.search(r"\(\*(vireo_\w+)\)\(", declaration)
    if function and "{" not in declaration:
        return function[1]
    if declaration.startswith("enum"):
        return re.search(r"\b(VIREO_\w+)", re.sub(r"/\*.*?\*/", "", declaration, flags=re.S))[1]
    if number := re.match(r"typedef u?int\d+_t (\w+);", declaration):
        return number[1]
    tail = re.search(r"\b(vireo_\w+)\s*;$", declaration)
    return tail[1] if tail else NAME.search(declaration)[1]


def entries(header):
    """(introduction, [(section, name, comment, declaration)]) of what programs see."""
    intro = re.match(r"\s*/\*(.*?)\*/", header, re.S)
    found = {}
    for section, comment, declaration in items(header[intro.end():]):
        name = name_of(declaration)
        forward = re.fullmatch(r"typedef struct (\w+) \1;.*", declaration, re.S)
        if name.endswith("_INIT") or name == "VIREO_API" or (name in found and forward):
            continue
        if name in found:  # the struct itself is shown, not the line in front that only names it
            del found[name]
        found[name] = (section, name, comment, declaration)
    return plain(intro[0]), list(found.values())


def anchor(heading):
    """The name that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def contents(header, listed):
    """Links to the header's entries, by section."""
    sections = {}
    for section, name, _, _ in listed:
        sections.setdefault(section, []).append(f"[{name}](#{anchor(name)})")
    lines = [f"\n**[{header}](#{anchor(header)})**\n\n"]
    for section, links in sections.items():
        line = f"- {f'[{section}](#{anchor(section)})' if section else 'General'}: " + ", ".join(links)
        lines += [wrapped + "\n" for wrapped in textwrap.wrap(line, 118, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)]
    return "".join(lines)


def page(headers):
    """The page, and the declarations that have no text of their own. `headers`: (name, text) in the order of the page."""
    top = ["# The C API\n\nMade from the headers by `c_api/describe.py`. Each entry shows the declaration as it stands in its header.\n\n## Contents\n"]
    out, silent = [], []
    for header, text in headers:
        intro, listed = entries(text)
        top.append(contents(header, listed))
        out.append(f"\n## {header}\n\n{intro}\n")
        group = ""
        for section, name, comment, declaration in listed:
            if section != group:
                out.append(f"\n### {section}\n")
                group = section
            if not comment:
                silent.append(f"{header}: {name}")
            out.append(f"\n#### {name}\n\n{comment}\n\n```h\n{declaration.removeprefix('VIREO_API ')}\n```\n")
    return "".join(top + out), silent


def self_test():
    header = "/* Intro. */\n/* A. */\nVIREO_API void vireo_a(void);\nVIREO_API void vireo_b(void);\n#define VIREO_C 1\n#define VIREO_D 1 /* D. */\n" \
             "/* E. */\ntypedef uint32_t vireo_e;\nenum { VIREO_E = 0 };\ntypedef struct vireo_f vireo_f;\n/* F. */\nstruct vireo_f {\n  int a;\n};\n" \
             "typedef struct vireo_g {\n  int a; /* not its own */\n} vireo_g;\n"
    made, silent = page([("vireo/x.h", header)])
    wanted = [f"vireo/x.h: {name}" for name in ("vireo_b", "VIREO_C", "vireo_g")]
    if silent != wanted or made.count("#### ") != 7 or "enum { VIREO_E = 0 };" not in made or "[vireo_f](#vireo_f)" not in made:
        sys.exit(f"self-test: {silent} instead of {wanted}, in\n{made}")


if __name__ == "__main__":
    if sys.argv[1:] != ["--self-test"]:
        sys.exit("reference.py --self-test; python3 c_api/describe.py --update writes the page")
    self_test()
