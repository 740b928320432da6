#!/usr/bin/env python3
"""Writes case_table.h: Unicode's simple case mappings as runs of code points with one distance."""
import os
import unicodedata

# Where a full mapping is longer than one character, the simple one is the title case (U+1F80...) or stands here.
LOWER = {0x130: 0x69}


def upper(c):
    text = chr(c).upper()
    if len(text) == 1:
        return ord(text)
    title = chr(c).title()
    return ord(title) if len(title) == 1 else c


def lower(c):
    text = chr(c).lower()
    return ord(text) if len(text) == 1 and c not in LOWER else LOWER.get(c, c)


def runs(mapping):
    found = []  # [first, count, step, distance]
    for c in (c for c in range(0x110000) if not 0xD800 <= c < 0xE000 and mapping(c) != c):
        distance = mapping(c) - c
        last = found[-1] if found else None
        if last and last[3] == distance:
            end = last[0] + (last[1] - 1) * last[2]
            if last[1] == 1 and c - end <= 2:
                last[1], last[2] = 2, c - end
                continue
            if last[1] > 1 and c - end == last[2]:
                last[1] += 1
                continue
        found.append([c, 1, 1, distance])
    return found


def main():
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "case_table.h")
    with open(path, "w", encoding="utf-8") as out:
        out.write(f"// Written by case_table.py from Unicode {unicodedata.unidata_version}. Included by case_mapping.h alone.\n"
                  "#ifndef VIREO_SDK_OPS_TEXT_CASE_TABLE_H_\n#define VIREO_SDK_OPS_TEXT_CASE_TABLE_H_\n\n"
                  '#include "sdk/ops/text/case_run.h"\n\nnamespace vireo {\n\n// clang-format off\n')
        for name, mapping in (("kUpperRuns", upper), ("kLowerRuns", lower)):
            out.write(f"inline constexpr CaseRun {name}[] = {{\n")
            rows = [f"{{{a}, {n}, {step}, {d}}}" for a, n, step, d in runs(mapping)]
            line = "   "
            for row in rows:
                if len(line) + len(row) > 115:
                    out.write(line + "\n")
                    line = "   "
                line += " " + row + ","
            out.write(line + "\n};\n")
        out.write("// clang-format on\n\n}  // namespace vireo\n\n#endif  // VIREO_SDK_OPS_TEXT_CASE_TABLE_H_\n")


main()
