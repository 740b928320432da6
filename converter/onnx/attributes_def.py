#!/usr/bin/env python3
"""attributes_def.py [--check]: writes attributes.def, which says what attributes each operator has in which versions.
It comes from the schemas of the onnx package, and from those of ONNX Runtime for operators of its own (needs both: the
Python of toolchains/bootstrap). --check: fails where the file is not what they say."""
import collections
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
TARGET = HERE / "attributes.def"
IMPORTERS = "sdk/ops/**/*.cc"
NONE = 77  # ctest: skipped
HEAD = """\
// Which attributes an operator has, and in which versions of its domain. Sorted by domain and operator. Written by
// attributes_def.py from the schemas of onnx {onnx} and, for ONNX Runtime's own operators, of onnxruntime {runtime}.
//
//   VIREO_ATTRIBUTES(domain, operator, its first version, "attribute attribute...")
//
// An attribute that not all versions have is followed by them, :first-last, where an end that is open is left out. One
// that became an input is also followed by = and the input's name: max:-10=max.
"""
# What an attribute became when the input is named otherwise.
RENAMED = {("Pad", "value"): "constant_value", ("Pad", "paddings"): "pads", ("TopK", "k"): "K"}
# ONNX Runtime's optimisers wrote these; its schemas have them under the standard's domain alone.
SAME = {("com.microsoft", "LayerNormalization"): ("", "LayerNormalization"),
        ("com.microsoft", "SimplifiedLayerNormalization"): ("", "SimplifiedLayerNormalization")}


def served():
    """(domain, operator) that an importer is there for, and that the onnx package may not know."""
    out = set()
    for path in HERE.parents[1].glob(IMPORTERS):
        if not path.name.endswith("_test.cc"):
            out |= set(re.findall(r'\{"([\w.]*)",\s*"(\w+)",', path.read_text()))
    return out


def operators():
    """{(domain, operator): {version: schema}}"""
    from onnx import defs
    from onnxruntime.capi import onnxruntime_pybind11_state as runtime
    out = collections.defaultdict(dict)
    for s in defs.get_all_schemas_with_history():
        out[s.domain, s.name][s.since_version] = s
    wanted = {key for key in served() | set(SAME.values()) if key not in out}
    for s in runtime.get_all_operator_schema():
        if (s.domain, s.name) in wanted:
            out[s.domain, s.name][s.since_version] = s
    for key, other in SAME.items():
        out[key] = {1: next(iter(out[other].values()))}
    return out


def attribute(op, name, schemas):
    versions = sorted(schemas)
    has = [name in schemas[v].attributes for v in versions]
    first = has.index(True)
    last = len(has) - 1 - has[::-1].index(True)
    assert all(has[first:last + 1]), f"{op}: {name} comes and goes"
    text = name
    if first > 0 or last < len(has) - 1:
        ends = versions[last + 1] - 1 if last < len(has) - 1 else ""
        text += f":{versions[first] if first > 0 else ''}-{ends}"
    if last < len(has) - 1:
        heir = RENAMED.get((op, name), name)
        if heir in [i.name for i in schemas[versions[last + 1]].inputs]:
            text += f"={heir}"
    return text


def rows():
    for (domain, op), schemas in sorted(operators().items()):
        names = sorted({a for s in schemas.values() for a in s.attributes})
        texts = [attribute(op, name, schemas) for name in names]
        lines = [f'VIREO_ATTRIBUTES("{domain}", "{op}", {min(schemas)}, "']
        for i, text in enumerate(texts):
            if len(lines[-1]) + len(text) > 115:
                lines[-1] = lines[-1].rstrip() + ' "'
                lines.append('  "')
            lines[-1] += text + (" " if i < len(texts) - 1 else "")
        yield "\n".join(lines) + '")\n'


def main():
    try:
        import onnx
        import onnxruntime
    except ImportError as error:
        print(f"skipped: {error}")
        return NONE
    text = HEAD.format(onnx=onnx.__version__, runtime=onnxruntime.__version__) + "".join(rows())
    if "--check" not in sys.argv:
        TARGET.write_text(text)
    elif TARGET.read_text() != text:
        print("converter/onnx/attributes.def is not what the schemas say: converter/onnx/attributes_def.py writes it")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
