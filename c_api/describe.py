#!/usr/bin/env python3
"""describe.py [--update]: c_api/api.json, the one description of the C API, and what is made from it: the list of exported symbols, the
reference page, the C program that prints struct layouts, and the struct and function tables of the bindings. Without --update it compares
and fails where a file is not what the headers say.

The headers are the source: they are plain C of one style, every compiler reads them, and a program sees nothing else. (Weighed: a
description that people write and headers that a program makes from it. Comments and order of the headers are prose for readers, and would
have to be written in a file that no reader opens.) What this reader does not know is an error, never a field that is left out.

    describe.py --self-test   proves that it reads what the headers may hold, and refuses the rest"""
import importlib.util
import json
import pathlib
import re
import sys

import reference

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
API = HERE / "api.json"
SCALARS = {"void", "char", "float", "double", "size_t", "int8_t", "int16_t", "int32_t", "int64_t", "uint8_t", "uint16_t", "uint32_t",
           "uint64_t", "uintptr_t"}


def bare(text):
    """Without comments, in one line."""
    return " ".join(re.sub(r"/\*.*?\*/", " ", text, flags=re.S).split())


def split(text, mark):
    """The pieces between the marks that stand in no bracket."""
    pieces, depth = [""], 0
    for character in text:
        depth += {"(": 1, "{": 1, "[": 1, ")": -1, "}": -1, "]": -1}.get(character, 0)
        if character == mark and depth == 0:
            pieces.append("")
        else:
            pieces[-1] += character
    return [piece.strip() for piece in pieces if piece.strip()]


class Reader:
    """The headers, one declaration after the other."""

    def __init__(self):
        self.constants, self.aliases, self.handles, self.structs, self.callbacks, self.functions = {}, {}, {}, {}, {}, {}

    def number(self, text):
        """The value of a constant expression."""
        plain = re.sub(r"\(u?int\d+_t\)|(?<=\d)[uUlL]+\b", "", text)
        for name in re.findall(r"\bVIREO_\w+", plain):
            plain = re.sub(rf"\b{name}\b", str(self.constants[name]), plain)
        if not re.fullmatch(r"[\d\sxXa-fA-F<>|+*()-]+", plain):
            raise SystemExit(f"describe.py: not a number: {text}")
        return eval(plain)  # digits and operators, as was just checked

    def type(self, text):
        """A type without a name: {"name", "const", "pointers"}; const is that of what the last pointer leads to."""
        words = re.sub(r"\*", " * ", text).split()
        pointers = words.count("*")
        base = [w for w in words if w not in ("const", "struct", "*")]
        known = SCALARS | set(self.aliases) | set(self.handles) | set(self.structs)
        if len(base) != 1 or base[0] not in known:
            raise SystemExit(f"describe.py: unknown type: {text}")
        made = {"name": base[0]}
        if words[0] == "const":
            made["const"] = True
        if pointers:
            made["pointers"] = pointers
        return made

    def callback(self, result, parameters):
        return {"result": self.type(result), "parameters": self.parameters(parameters)}

    def variable(self, text):
        """A field or a parameter with its name."""
        if match := re.fullmatch(r"(.+?)\(\*(\w+)\)\((.*)\)", text):
            return {"name": match[2], "type": {"function": self.callback(match[1], match[3])}}
        match = re.fullmatch(r"(.+?)(\w+)((?:\[\w+\])*)", text)
        if match is None:
            raise SystemExit(f"describe.py: neither a field nor a parameter: {text}")
        made = {"name": match[2], "type": self.type(match[1])}
        if match[3]:
            made["type"]["count"] = self.number(match[3].strip("[]"))
        return made

    def parameters(self, text):
        return [] if text.strip() in ("", "void") else [self.variable(p) for p in split(text, ",")]

    def fields(self, body):
        made = []
        for declaration in split(body, ";"):
            names = split(declaration, ",")  # `uint32_t a, b` is not of our style
            if len(names) != 1:
                raise SystemExit(f"describe.py: one field a declaration: {declaration}")
            made.append(self.variable(declaration))
        return made

    def enumerators(self, body):
        value = -1
        for entry in split(body, ","):
            name, _, given = entry.partition("=")
            value = self.number(given) if given else value + 1
            self.constants[name.strip()] = value
            yield name.strip()

    def declaration(self, header, doc, text):
        plain = bare(text)
        said = {"header": header, "doc": doc}
        if match := re.fullmatch(r"#define (VIREO_\w+)(?: (.*))?", plain):
            if match[2] and not match[2].startswith(('"', "__", "VIREO_INIT_")) and "(type)" not in plain:
                self.constants[match[1]] = self.number(match[2])
        elif re.match(r"#define VIREO_\w+\(", plain):
            pass  # C's own: there is nothing to call
        elif match := re.fullmatch(r"typedef (\w+) (vireo_\w+);(?: ?enum \{(.*)\};)?", plain):
            self.aliases[match[2]] = {"is": match[1], **said}
            if match[3]:
                self.aliases[match[2]]["values"] = list(self.enumerators(match[3]))
        elif match := re.fullmatch(r"enum \{(.*)\};", plain):
            list(self.enumerators(match[1]))
        elif match := re.fullmatch(r"typedef struct (vireo_\w+) \1;", plain):
            self.handles[match[1]] = said
        elif match := re.fullmatch(r"(?:typedef )?struct (vireo_\w+) \{(.*)\}(?: \1)?;", plain):
            self.handles.pop(match[1], None)
            self.structs[match[1]] = {**said, "fields": []}  # known to its own fields
            self.structs[match[1]]["fields"] = self.fields(match[2])
        elif match := re.fullmatch(r"typedef (.+?)\(\*(vireo_\w+)\)\((.*)\);", plain):
            self.callbacks[match[2]] = {**self.callback(match[1], match[3]), **said}
        elif match := re.fullmatch(r"VIREO_API (.+?)(vireo_\w+)\((.*)\);", plain):
            self.functions[match[2]] = {"result": self.type(match[1]), "parameters": self.parameters(match[3]), **said}
        else:
            raise SystemExit(f"describe.py: {header}: cannot read: {plain}")

    def header(self, name, text):
        opening = re.match(r"\s*/\*(.*?)\*/", text, re.S)
        for _, doc, declaration in reference.items(text[opening.end():]):
            self.declaration(name, " ".join(doc.split()), declaration)

    def described(self):
        return {"constants": self.constants, "aliases": self.aliases, "handles": self.handles, "structs": self.structs,
                "callbacks": self.callbacks, "functions": self.functions}


def headers():
    return [(name, (HERE / "include" / "vireo" / name).read_text()) for name in reference.HEADERS]


def describe(texts):
    reader = Reader()
    for name, text in texts:
        reader.header(name, text)
    return reader.described()


def maker(name):
    """bindings/generate/<name>.py"""
    spec = importlib.util.spec_from_file_location(name, ROOT / "bindings" / "generate" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def text_of(api):
    """The description as JSON, a line an entry: a change shows as the entries that it touches."""
    sections = [f" {json.dumps(name)}: {{\n" + ",\n".join(f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in entries.items()) + "\n }"
                for name, entries in api.items()]
    return "{\n" + ",\n".join(sections) + "\n}\n"


def outputs(api):
    """Path -> text of every file that is made."""
    page, silent = reference.page([(f"vireo/{name}", text) for name, text in headers()])
    if silent:
        raise SystemExit("no text of their own (a comment above the declaration): " + ", ".join(silent))
    return {
        API: text_of(api),
        HERE / "abi" / "symbols.txt": "".join(f"{name}\n" for name in sorted(api["functions"])),
        HERE / "REFERENCE.md": page,
        ROOT / "bindings" / "struct_layout.c": maker("struct_layout").made(api),
        ROOT / "bindings" / "python" / "vireo" / "_abi.py": maker("python_abi").made(api),
    }


def self_test():
    text = ("/* Intro. */\n#define VIREO_N 4\n/* A. */\ntypedef uint32_t vireo_a;\nenum { VIREO_A = 1, VIREO_B };\n"
            "typedef struct vireo_h vireo_h; /* H. */\n"
            "/* S. */\ntypedef struct vireo_s {\n  uint32_t struct_size;\n  const char* const* names; /* all */\n  int64_t dims[VIREO_N];\n"
            "  void (*log)(void* context, vireo_a level);\n  vireo_h* handle;\n} vireo_s;\n"
            "/* F. */\nVIREO_API vireo_a vireo_f(const vireo_s* s,\n                  vireo_h** out);\n")
    api = describe([("x.h", text)])
    fields = {f["name"]: f["type"] for f in api["structs"]["vireo_s"]["fields"]}
    right = (api["constants"] == {"VIREO_N": 4, "VIREO_A": 1, "VIREO_B": 2} and api["aliases"]["vireo_a"]["values"] == ["VIREO_A", "VIREO_B"]
             and list(api["handles"]) == ["vireo_h"] and fields["names"] == {"name": "char", "const": True, "pointers": 2}
             and fields["dims"] == {"name": "int64_t", "count": 4} and fields["log"]["function"]["parameters"][1]["type"] == {"name": "vireo_a"}
             and api["functions"]["vireo_f"]["parameters"][1]["type"] == {"name": "vireo_h", "pointers": 2})
    if not right:
        raise SystemExit(f"self-test: {json.dumps(api, indent=1)}")
    for wrong in ("/* W. */\ntypedef struct vireo_w {\n  long n;\n} vireo_w;\n", "/* W. */\ntypedef struct vireo_w {\n  int32_t a, b;\n} vireo_w;\n",
                  "/* W. */\nVIREO_API int vireo_w(void);\n", "#define VIREO_W sizeof(int)\n"):
        try:
            describe([("x.h", "/* Intro. */\n" + wrong)])
        except SystemExit:
            continue
        raise SystemExit(f"self-test: accepted {wrong}")


def main():
    if "--self-test" in sys.argv:
        self_test()
        return
    stale = []
    for path, text in outputs(describe(headers())).items():
        if "--update" in sys.argv:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            stale.append(str(path.relative_to(ROOT)))
    if stale:
        raise SystemExit(f"not what the headers say: {', '.join(stale)}. python3 c_api/describe.py --update writes them")


if __name__ == "__main__":
    main()
