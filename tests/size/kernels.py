"""What each operator's reference kernel and each family of tuned kernels adds to a program, from the linker's map: a build like the
smallest one, but without link-time optimisation, which leaves no files in the map to count by.

  python tests/size/kernels.py [--write]    builds build/size-kernels; --write puts the table into tests/size/KERNELS.md
"""
import collections
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "size-kernels"
PAGE = pathlib.Path(__file__).with_name("KERNELS.md")
BEGIN, END = "<!-- kernels -->\n", "<!-- end of kernels -->\n"
# " .text._ZN5vireo...  0x0000000000001234  0x56 sdk/ops/libx.a(conv_ref.cc.o)", the name on a line of its own where it is long.
ENTRY = re.compile(r"^ (\.(?:text|rodata|data\.rel\.ro)[^\s]*)\s+0x[0-9a-f]+\s+0x([0-9a-f]+) (\S+)$")


def build():
    command = ["cmake", "--preset", "minsize", "-B", str(BUILD), "-DVIREO_DEVELOPER=OFF", "-DVIREO_DELEGATE_NULL=OFF", "-DVIREO_KERNELS=",
               "-DVIREO_TUNED=ON", "-DCMAKE_INTERPROCEDURAL_OPTIMIZATION=OFF", f"-DCMAKE_EXE_LINKER_FLAGS=-Wl,-Map={BUILD}/map"]
    for step in (command, ["cmake", "--build", str(BUILD), "--target", "size_probe"]):
        done = subprocess.run(step, cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit((done.stdout + done.stderr)[-3000:])
    return (BUILD / "map").read_text()


def objects(text):
    """Bytes that stay in the program, by the object file they came from."""
    text = text[text.index("Linker script and memory map"):]
    text = re.sub(r"^( \.\S+)\n\s+0x", r"\1 0x", text, flags=re.M)
    sizes = collections.Counter()
    for line in text.splitlines():
        if entry := ENTRY.match(line):
            sizes[entry[3]] += int(entry[2], 16)
    return sizes


def table(sizes):
    cpu = ROOT / "delegates" / "cpu"
    kernels = {p.name: p for p in (cpu / "kernels").rglob("*.cc")}
    references = {p.name: p for p in (ROOT / "sdk" / "ops").rglob("*.cc")}
    by_family, by_operator, rest = collections.Counter(), collections.Counter(), 0
    for name, size in sizes.items():
        source = re.sub(r".*[(/]([^()/]+)\.o\)?$", r"\1", name)
        if "cpu_kernels" in name and source in kernels:
            by_family[kernels[source].relative_to(cpu / "kernels").with_suffix("").parts[0]] += size
        elif "delegate_cpu" in name:
            by_family["their use by nodes (`ops` and the delegate itself)"] += size
        elif "sdk_ops" in name and source in references:
            path = references[source].relative_to(ROOT / "sdk" / "ops")
            by_operator[path.parts[0] if len(path.parts) > 1 else "shared by all"] += size
        else:
            rest += size
    lines = []
    for head, counts in (("tuned kernels (`delegates/cpu`), all instruction sets of x86-64", by_family),
                         ("operator (`sdk/ops`): shapes and reference kernel", by_operator)):
        lines += [f"| {head} | bytes |", "| --- | ---: |"]
        lines += [f"| {name} | {size:,} |" for name, size in counts.most_common()]
        lines += [f"| together | {sum(counts.values()):,} |", ""]
    lines += [f"Runtime and all that is not listed: {rest:,} bytes.", ""]
    return "\n".join(lines)


def main():
    made = table(objects(build()))
    if "--write" not in sys.argv[1:]:
        print(made)
        return
    text = PAGE.read_text()
    begin, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    PAGE.write_text(text[:begin] + made + text[end:])


if __name__ == "__main__":
    main()
