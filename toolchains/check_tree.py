#!/usr/bin/env python3
"""Checks what a reviewer should not have to look for: paths of one machine, host names of package registries, marks of
unfinished work, operators that are asked by name or by number, files with more than one idea, comments that clang-format
leaves long, and large files that slipped in.

    check_tree.py [ROOT]        exit status 1 and one line for each fault
    check_tree.py --self-test   proves that each rule about operators fires
"""
import os
import re
import subprocess
import sys

HOME = r"(?<![A-Za-z0-9_.$}])/(?:" + "|".join(["work", "farm", "root", "home/[a-z]", "Users/[A-Z]", "tmp/[a-z]"]) + r")[A-Za-z0-9_./-]*/"
HOST = r"(?:https?|ftp)://[^ \"'<>]*(?:" + "|".join(["deb" + "ian", "py" + "pi", "python" + "hosted"]) + ")"
MARK = r"\b(?:" + "|".join(["TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK"]) + r")\b"
RULES = [(re.compile(HOME), "a path of one machine"), (re.compile(HOST), "the host name of a package registry"),
         (re.compile(MARK), "a mark of unfinished work")]
# An operator is an enumerator, and a group of them a trait: a name or a range of numbers silently misses a row that is
# appended to ops.def. Nodes of an ONNX file have nothing but names, where they are read and written.
ASKS = re.compile(r"^(?:converter/(?!onnx/|export/)|quant/).*\.(?:cc|h)$")
COMPARES = r"(?:[<>]=?|[!=]=)"
OPERATORS = [
    (re.compile(r"op_name\(.*\)\s*[!=]=|[!=]=\s*(?:std::string(?:_view)?\()?op_name\("), "an operator by its name"),
    (re.compile(r"\s[<>]=?\s+(?:static_cast<\w+>\()?Op::k|\bOp::k\w+\)?\s+[<>]=?\s"), "operators by their numbers"),
    (re.compile(rf"static_cast<(?!Op>)\w+>\([\w.>-]*\bop\)\s*{COMPARES}|\bop\(\)\s*{COMPARES}\s*\d"), "operators by their numbers")]
CODE = (".cc", ".c", ".h", ".py", ".cmake", ".sh")
MAX_LINES = 800
FORMATTED = (".cc", ".c", ".h")  # clang-format breaks their code, and leaves comments as they were aligned by hand
MAX_COLUMNS = 120
MAX_BYTES = 3 << 20  # the largest model or test set a sample may bring along


def operator_names(root):
    """What compares with the name of an operator of ours, whatever holds the other text."""
    with open(os.path.join(root, "sdk/ops/ops.def"), encoding="utf-8") as file:
        names = "|".join(re.findall(r"^VIREO_OP\(\d+, (\w+),", file.read(), re.M))
    return re.compile(rf'[!=]=\s*"(?:{names})"|"(?:{names})"\s*[!=]=')


def operator_faults(path, line, names):
    if not ASKS.match(path) or path.endswith("_test.cc"):
        return
    for pattern, what in [*OPERATORS, (names, "an operator by its name")]:
        match = pattern.search(line)
        if match:
            yield f"asks for {what}, not by its enumerator or a trait (sdk/ops/traits.h): {match.group(0).strip()}"
            return


def faults(root, path, names):
    full = os.path.join(root, path)
    if os.path.islink(full) or not os.path.isfile(full):
        return
    size = os.path.getsize(full)
    if size > MAX_BYTES:
        yield 0, f"{size} bytes: too large to be tracked"
        return
    with open(full, "rb") as file:
        data = file.read()
    if b"\0" in data[:8192]:
        return
    lines = data.decode("utf-8", errors="replace").split("\n")
    for number, line in enumerate(lines, 1):
        for pattern, what in RULES:
            match = pattern.search(line)
            if match:
                yield number, f"{what}: {match.group(0)}"
        for fault in operator_faults(path, line, names):
            yield number, fault
        if path.endswith(FORMATTED) and len(line) > MAX_COLUMNS:
            yield number, f"{len(line)} columns, {MAX_COLUMNS} are allowed"
    if path.endswith(CODE) and len(lines) > MAX_LINES:
        yield 0, f"{len(lines)} lines: look for the second idea in it"


def self_test(root):
    broken = [
        'if (std::string(op_name(n.op)) == "ConvTranspose") return x;',
        'return kind != op_name(n.op);',
        'if (op == "Conv" || op == "Gemm") continue;',
        'return "Softmax" == text;',
        "return n.op >= Op::kAbs && n.op <= Op::kShrink;",
        "return Op::kAbs <= op && flag;",
        "return n >= static_cast<int>(Op::kAbs);",
        "return static_cast<int>(node.op) >= 240;",
        "return n.op() >= 240;",
    ]
    fine = [
        "return n.op == Op::kConv && n.op != Op::kGemm;",
        "return is_elementwise(n.op);",
        'log.reject(n, "there is no form of " + std::string(op_name(n.op)));',
        'if (name == "image") return;',
        "if (static_cast<Op>(n->op) == Op::kComposite) return;",
        "return merge<Op::kAdd>(n);",
    ]
    names = operator_names(root)
    wrong = [t for t in broken if not list(operator_faults("converter/passes/a.cc", t, names))]
    wrong += [t for t in fine if list(operator_faults("quant/schemes/a.cc", t, names))]
    elsewhere = ["converter/onnx/a.cc", "converter/export/a.cc", "converter/passes/a_test.cc", "sdk/ops/a.cc"]
    wrong += [path for path in elsewhere if list(operator_faults(path, broken[2], names))]
    for text in wrong:
        print(f"self-test: wrong verdict on {text}")
    count = len(broken) + len(fine) + len(elsewhere)
    print(f"{count - len(wrong)} of {count} verdicts right")
    return 1 if wrong else 0


def main(arguments):
    own = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    if arguments == ["--self-test"]:
        return self_test(own)
    root = arguments[0] if arguments else own
    out = subprocess.run(["git", "-C", root, "ls-files", "-z"], capture_output=True, check=False)
    if out.returncode:
        print("check_tree: not a git checkout, nothing to check")
        return 77
    paths = [p for p in out.stdout.decode().split("\0") if p]
    count = 0
    names = operator_names(root)
    for path in paths:
        for line, message in faults(root, path, names):
            print(f"{path}:{line}: {message}")
            count += 1
    print(f"check_tree: {len(paths)} files, {count} faults")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
