"""bindings/python/vireo/_abi.py: structs, callbacks and functions of the C API as ctypes sees them."""
import re

LEFT_OUT = {"delegate.h"}  # for delegates: nothing that a Python program calls
SCALARS = {"void": None, "char": "c_char", "float": "c_float", "double": "c_double", "size_t": "c_size_t", "uintptr_t": "c_size_t",
           **{f"{u}int{n}_t": f"c_{u}int{n}" for u in ("", "u") for n in (8, 16, 32, 64)}}
# Bytes that end nowhere: ctypes would read a c_char_p up to a zero.
UNTERMINATED = {("vireo_string", "data")}
WIDTH = 140
SIZED = '''
_Struct = TypeVar("_Struct", bound=ctypes.Structure)


def sized(kind: Type[_Struct]) -> _Struct:
    """A struct of zeros with struct_size set, as its _INIT macro gives it."""
    value = kind()
    setattr(value, "struct_size", ctypes.sizeof(kind))
    return value

'''


def class_name(name):
    return "".join(word.capitalize() for word in name.removeprefix("vireo_").split("_"))


def wrapped(head, items, end):
    """`head`, the items with commas between, `end`, on lines of at most WIDTH characters."""
    lines, indent = [head], " " * len(head)
    for i, item in enumerate(items):
        piece = item + (", " if i + 1 < len(items) else end)
        if len(lines[-1] + piece.rstrip()) > WIDTH:
            lines.append(indent)
        lines[-1] += piece
    if not items:
        lines[-1] += end
    return "\n".join(line.rstrip() for line in lines)


class Writer:
    def __init__(self, api):
        self.api = api
        self.lines = []

    def scalar(self, name):
        while name in self.api["aliases"]:
            name = self.api["aliases"][name]["is"]
        return SCALARS.get(name)

    def of(self, kind, terminated=True):
        """The ctypes type of a value."""
        name, pointers = kind["name"], kind.get("pointers", 0)
        if name in self.api["structs"] and self.api["structs"][name]["header"] not in LEFT_OUT:
            made = class_name(name)
        elif pointers and (name in self.api["handles"] or name == "void" or name in self.api["structs"]):
            made, pointers = "c_void_p", pointers - 1
        elif name == "char" and pointers and terminated and (kind.get("const") or pointers > 1):
            made, pointers = "c_char_p", pointers - 1
        elif name == "char" and pointers:
            made, pointers = "c_void_p", pointers - 1
        else:
            made = str(self.scalar(name))
        for _ in range(pointers):
            made = f"POINTER({made})"
        return made if "count" not in kind else f"{made} * {kind['count']}"

    def function_type(self, function):
        """A callback. Its own callbacks (what a pool calls) are plain addresses."""
        kinds = ["c_void_p" if "function" in p["type"] else self.of(p["type"]) for p in function["parameters"]]
        return f"CFUNCTYPE({', '.join([self.of(function['result']), *kinds])})"

    def struct(self, name, struct):
        fields = []
        for field in struct["fields"]:
            if "function" in field["type"]:
                alias = f"{class_name(name)}_{field['name']}"
                self.lines += ["", f"{alias} = {self.function_type(field['type']['function'])}"]
                kind = alias
            else:
                kind = self.of(field["type"], (name, field["name"]) not in UNTERMINATED)
            fields.append(f'("{field["name"]}", {kind})')
        self.lines += ["", "", f"class {class_name(name)}(ctypes.Structure):", wrapped("    _fields_ = [", fields, "]")]

    def function(self, name, function):
        kinds = ["c_void_p" if "function" in p["type"] else self.of(p["type"]) for p in function["parameters"]]
        self.lines.append(wrapped(f'    "{name}": ({self.of(function["result"])}, [', kinds, "]),"))


def made(api):
    writer = Writer(api)
    wanted = {n: s for n, s in api["structs"].items() if s["header"] not in LEFT_OUT}
    for name, struct in wanted.items():
        writer.struct(name, struct)
    writer.lines += ["", "", "FUNCTIONS: Dict[str, Tuple[Any, List[Any]]] = {  # name: (result, parameters)"]
    for name, function in api["functions"].items():
        if function["header"] not in LEFT_OUT:
            writer.function(name, function)
    writer.lines += ["}", ""]
    body = "\n".join(writer.lines)
    used = sorted(set(re.findall(r"\b(?:c_\w+|POINTER|CFUNCTYPE)\b", body)))
    constants = "".join(f"{n.removeprefix('VIREO_')} = {v}\n" for n, v in api["constants"].items())
    return ('"""The C API as ctypes sees it. Made by c_api/describe.py from c_api/api.json."""\nfrom __future__ import annotations\n\n'
            f"import ctypes\n{wrapped('from ctypes import (', used, ')')}\nfrom typing import Any, Dict, List, Tuple, Type, TypeVar\n\n"
            f"{constants}{SIZED}{body}")
