"""Every kernel has a function for every instruction set that may be looked up. Highway keeps a table a kernel, whose entry the core chooses;
an entry that is not there is a crash on cores that nobody here may have. One rule chooses for all tables, so all have the same entries.

    dispatch_test.py PROGRAM     a linked program with the kernels, with its symbols
"""
import collections
import re
import shutil
import subprocess
import sys

POINTER = 8


def tables(program):
    """Name of a table -> (address, bytes)."""
    listed = subprocess.run(["nm", "-CS", program], check=True, capture_output=True, text=True).stdout
    found = re.findall(r"^([0-9a-f]+) ([0-9a-f]+) [dDrR] (.*HighwayDispatchTable)$", listed, re.M)
    return {name: (int(at, 16), int(size, 16)) for at, size, name in found}


def pointers(program):
    """Addresses at which the loader writes the address of something."""
    listed = subprocess.run(["readelf", "-rW", program], check=True, capture_output=True, text=True).stdout
    return {int(at, 16) for at in re.findall(r"^([0-9a-f]+)\s+[0-9a-f]+ R_\w+_(?:RELATIVE|64|ABS64|GLOB_DAT)\b", listed, re.M)}


def main(program):
    if not shutil.which("readelf") or not shutil.which("nm"):
        print("SKIPPED: readelf and nm are not installed")
        return 77
    written, kinds = pointers(program), collections.defaultdict(list)
    for name, (at, size) in sorted(tables(program).items()):
        kinds[tuple(i for i in range(size // POINTER) if at + i * POINTER in written)].append(name)
    total = sum(map(len, kinds.values()))
    if total < 50:
        print(f"only {total} tables were found: is {program} stripped, or are the kernels not in it?")
        return 1
    common, *rest = sorted(kinds.items(), key=lambda row: -len(row[1]))
    for entries, names in rest:
        lacking, beyond = sorted(set(common[0]) - set(entries)), sorted(set(entries) - set(common[0]))
        print(f"{names[0]} (and {len(names) - 1} more): entries {lacking} are missing, {beyond} are there beyond those of most")
    print(f"{total} tables, entries {list(common[0])}: {len(rest)} kinds differ")
    return 1 if rest else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))
