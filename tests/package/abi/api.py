#!/usr/bin/env python3
"""Vireo's public API as its headers declare it, against the one that was kept: what programs that were linked before rely on.

    api.py             compares; exit status 1 and the differences where such a program would break
    api.py --keep      keeps the API of today, and refuses where the version does not say that it breaks programs

The headers' functions are compiled as empty ones, with the types that they take, into a library that abidw (libabigail) reads: no build
of Vireo is needed, and nothing from behind the handles gets in. That libvireo.so exports just these is the test exported_symbols.
Constants, which leave no trace in a library, are printed by a program.
"""
import argparse
import gzip
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from xml.etree import ElementTree

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
INCLUDE = pathlib.Path("c_api/include")  # relative: paths get into what is kept
CONSTANTS = HERE / "constants.txt"
KEPT = {"library": HERE / "libvireo.abi.xml.gz", "delegate": HERE / "delegate.abi.xml.gz"}
DELEGATE_ABI = "VIREO_DELEGATE_ABI"
COMMAND = "tests/package/abi/api.py --keep"
VERSION_PARTS = ("VIREO_VERSION_MAJOR", "VIREO_VERSION_MINOR", "VIREO_VERSION_PATCH")
USAGE_ERROR = 3  # bits of abidiff's exit status; the others say that something changed


def run(*command):
    return subprocess.run([str(c) for c in command], cwd=ROOT, capture_output=True, text=True, check=False)


def must(*command):
    done = run(*command)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}: {done.stdout}{done.stderr}")
    return done.stdout


def headers():
    return sorted((ROOT / INCLUDE / "vireo").glob("*.h"))


def bare(text):
    """Without comments."""
    return re.sub(r"//[^\n]*", " ", re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL))


def includes():
    return "".join(f"#include <vireo/{h.name}>\n" for h in headers())


def functions():
    """(type, name, parameters) of each function that the headers declare."""
    for header in headers():
        for result, name, parameters in re.findall(r"^VIREO_API\s+([\w\s*]+?)\s*\b(vireo_\w+)\s*\(([^;]*)\)\s*;", bare(header.read_text()), re.MULTILINE):
            yield result, name, " ".join(parameters.split())


def growing():
    """Structs that begin with struct_size: they may grow at the end."""
    for header in headers():
        yield from re.findall(r"\bstruct (vireo_\w+) \{\s*uint32_t struct_size[;,]", bare(header.read_text()))


def constants(cc, work):
    """Name -> value of each enumerator and each macro that is a number."""
    names = []
    for header in headers():
        text = bare(header.read_text())
        for body in re.findall(r"\benum(?:\s+\w+)?\s*\{(.*?)\}", text, re.DOTALL):
            names += re.findall(r"\b(VIREO_\w+)\b\s*=", body)
        names += [n for n, value in re.findall(r"^#define (VIREO_\w+) +(\S.*)$", text, re.MULTILINE)
                  if not re.match(r"__|\\|\"", value) and not n.endswith("_INIT")]
    source = work / "constants.c"
    rows = "".join(f'  printf("{n} %lld\\n", (long long)({n}));\n' for n in names)
    source.write_text(f"#include <stdio.h>\n{includes()}int main(void) {{\n{rows}  return 0;\n}}\n")
    must(cc, "-I", INCLUDE, source, "-o", work / "constants")
    return dict(line.split() for line in must(work / "constants").splitlines())


def abixml(cc, work, part):
    """What abidw says of one part: "library", what programs call; "delegate", what the host and plug-ins hand each other."""
    source, library, out = work / f"{part}.c", work / f"{part}.so", work / f"{part}.abi.xml"
    if part == "library":
        text = "".join(f"{result} {name}({parameters}) {{ {'' if result == 'void' else f'static {result} none; return none;'} }}\n"
                       for result, name, parameters in functions())
    else:
        text = "vireo_delegate_open_function vireo_delegate_open_is(void) { return 0; }\n"
    source.write_text(includes() + text)
    must(cc, "-g", "-O0", "-fPIC", "-shared", "-w", "-I", INCLUDE, "-Wl,-soname,libvireo.so", f"-ffile-prefix-map={work}=.",
         f"-ffile-prefix-map={ROOT}=.", source, "-o", library)
    must("abidw", "--drop-private-types", "--headers-dir", INCLUDE, "--no-corpus-path", "--no-comp-dir-path", "--no-show-locs",
         "--no-elf-needed", "--type-id-style", "hash", "--out-file", out, library)
    return out


def unpacked(kept, work):
    out = work / f"kept_{kept.stem}"
    out.write_bytes(gzip.decompress(kept.read_bytes()))
    return out


def fields(xml):
    """Struct -> [(field, offset, type)]."""
    root = ElementTree.parse(xml).getroot()
    by_id = {e.get("id"): e for e in root.iter() if e.get("id")}

    def spelled(type_id):
        e = by_id[type_id]
        within = f" {spelled(e.get('type-id'))}" if e.tag in ("pointer-type-def", "qualified-type-def", "array-type-def") else ""
        return f"{e.tag} {e.get('name') or e.get('size-in-bits') or ''}{within}"

    found = {}
    for e in root.iter("class-decl"):
        members = [(m.get("layout-offset-in-bits"), m.find("var-decl")) for m in e.findall("data-member")]
        if members:
            found[e.get("name")] = [(v.get("name"), offset, spelled(v.get("type-id"))) for offset, v in members]
    return found


def grown(before, now):
    """Structs with struct_size that have new fields at the end and no other difference."""
    kept, today = fields(before), fields(now)
    for name in growing():
        old, new = kept.get(name, []), today.get(name, [])
        if old and len(new) > len(old) and new[:len(old)] == old:
            yield name


def version(values):
    return tuple(int(values[p]) for p in VERSION_PARTS)


def read_constants():
    return dict(line.split() for line in CONSTANTS.read_text().splitlines())


def differences(cc, work):
    """(what breaks programs, what is new) between the kept API and today's."""
    broken, new = [], []
    kept, today = read_constants(), constants(cc, work)
    for name, value in kept.items():
        if name not in (*VERSION_PARTS, DELEGATE_ABI) and today.get(name) != value:
            broken.append(f"{name} was {value} and is {today.get(name, 'gone')}")
    new += [name for name in today if name not in kept]
    for part, kept_as in KEPT.items():
        before, now = unpacked(kept_as, work), abixml(cc, work, part)
        suppressions = work / "suppressions"
        suppressions.write_text("".join(f"[suppress_type]\n  name = {n}\n  type_kind = struct\n\n" for n in grown(before, now)))
        done = run("abidiff", "--no-added-syms", "--no-default-suppression", "--suppressions", suppressions, before, now)
        if done.returncode & USAGE_ERROR:
            raise SystemExit(f"abidiff: {done.stdout}{done.stderr}")
        symbols = [set(re.findall(r"<elf-symbol name='(\w+)'", p.read_text())) for p in (before, now)]
        new += sorted(symbols[1] - symbols[0])
        # Host and delegate refuse each other where their numbers differ: with another one anything may change.
        if done.returncode & ~USAGE_ERROR and (part == "library" or kept[DELEGATE_ABI] == today.get(DELEGATE_ABI)):
            broken.append(done.stdout.strip())
            if part == "delegate":
                broken.append(f"delegate.h changed, {DELEGATE_ABI} is still {kept[DELEGATE_ABI]}")
    return broken, new


def bump_needed(kept, today):
    """Why an API that breaks programs cannot have version `today`; "" when it can. Before 1.0 the minor version says it, then the major."""
    if today[0] > kept[0] or (kept[0] == 0 and today[:2] > kept[:2]):
        return ""
    if re.search(r"^## \[%d\.%d\.%d\] - Unreleased$" % kept, (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE):
        return ""  # nobody was promised anything yet
    wanted = "%d.%d.0" % ((0, kept[1] + 1) if kept[0] == 0 else (kept[0] + 1, 0))
    return (f"version {'%d.%d.%d' % kept} was released: programs that break need version {wanted} "
            "(project(VERSION) in CMakeLists.txt and what tests/package/versions_test.py names)")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", action="store_true", help="keep the API of today")
    arguments = parser.parse_args()
    cc = os.environ.get("CC", "cc")
    absent = [p for p in (cc, "abidw", "abidiff") if shutil.which(p) is None]
    if absent:
        print(f"SKIPPED: {' and '.join(absent)} not installed (toolchains/bootstrap --for tests)")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        first = not CONSTANTS.exists()
        broken, new = ([], []) if first else differences(cc, work)
        if arguments.keep:
            today = constants(cc, work)
            why = bump_needed(version(read_constants()), version(today)) if broken else ""
            if why:
                print("\n".join([*broken, why]))
                return 1
            for part, kept in KEPT.items():
                kept.write_bytes(gzip.compress(abixml(cc, work, part).read_bytes(), mtime=0))
            CONSTANTS.write_text("".join(f"{n} {v}\n" for n, v in today.items()))
            print(f"kept: {len(list(functions()))} functions, {len(today)} constants")
            return 0
    if broken:
        print("\n".join(broken))
        print(f"Programs that were linked before would break. Undo it, or, where it is meant: {COMMAND}, with the version that c_api/README.md asks for.")
        return 1
    print(f"nothing that was kept changed; {len(new)} functions and constants are new" + (f" ({COMMAND} keeps them): {' '.join(new)}" if new else ""))
    return 0


if __name__ == "__main__":
    sys.exit(main())
