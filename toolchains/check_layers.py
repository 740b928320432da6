#!/usr/bin/env python3
"""Checks who includes whom, that the device half takes no header that brings an OS, streams, threads or the heap, and
that a file which asks what the build is made of includes the header that says it. A type of one namespace has one
header: two that no file includes together would link, and the first one's constructors would make the other's objects.

The rule, from the left to the right only:
    include <- sdk <- delegates, runtime <- c_api <- bindings, samples, c_api/cli
    sdk <- converter/ir <- converter/stage <- quant, converter <- converter/cli (which also uses c_api)
    runtime's load, memory, devices, place <- prepare <- run <- recover <- create <- explain

    check_layers.py [ROOT]        reads the tracked sources below ROOT; exit status 1 when a rule is broken
    check_layers.py --self-test   proves that each rule fires
"""
import os
import re
import subprocess
import sys

# What the runtime's own rooms stand on: what sessions share, and the door to the OS.
SHARED = ["c_api/include", "sdk", "runtime", "runtime/platform"]
# Sessions, from the left to the right: what one will take, one that runs, one whose devices fail, its making, its account.
SESSION = ["runtime/prepare", "runtime/run", "runtime/recover", "runtime/create", "runtime/explain"]

# A file belongs to the first room whose folder it is in; a room may include itself and the rooms named after it.
ROOMS = [
    ("c_api/include", []),
    # What the tool takes of the SDK: files, JSON and pictures, which know nothing of models.
    ("sdk/files", []),
    ("sdk/json", []),
    ("sdk/plan/rows", []),  # C99 that images of microcontrollers have a copy of
    ("sdk/media", ["sdk"]),
    ("c_api/cli", ["c_api/include", "sdk/files", "sdk/json", "sdk/media"]),
    # Above sessions: it knows them by the public headers alone. It has threads, so the door to the OS is open to it.
    ("c_api/fleet", ["c_api/include", "sdk", "runtime/platform"]),
    ("c_api", [*SHARED, *SESSION, "delegates"]),
    ("sdk", ["c_api/include", "sdk/media", "sdk/plan/rows"]),
    ("runtime/platform", ["c_api/include", "sdk", "runtime"]),
    *((room, SHARED + SESSION[:at]) for at, room in enumerate(SESSION)),
    ("runtime", ["c_api/include", "sdk", "runtime/platform"]),
    ("delegates/conformance", ["c_api/include", "sdk"]),
    # A vendor's: what the npu is made of sees the public headers alone, and its machine not even its compiler.
    ("delegates/npu/machine", ["c_api/include"]),
    ("delegates/npu/compiler", ["c_api/include", "delegates/npu/machine"]),
    # What GPU delegates share: it knows graphs and kernels, and no driver.
    ("delegates/gpu", ["c_api/include", "sdk"]),
    # What images of microcontrollers get a copy of: C99 that knows nothing else. Then nodes as those kernels take them.
    ("delegates/mcu/kernels", []),
    ("delegates/mcu/plan", ["delegates/mcu/kernels", "sdk/plan/rows"]),
    ("delegates/mcu/update", ["delegates/mcu/plan"]),
    ("delegates/mcu/nodes", ["c_api/include", "sdk", "delegates/mcu/kernels"]),
    ("delegates", ["c_api/include", "sdk", "delegates/npu/machine", "delegates/npu/compiler", "delegates/gpu",
                   "delegates/mcu/kernels", "delegates/mcu/plan", "delegates/mcu/nodes"]),
    ("converter/firmware", ["c_api/include", "sdk", "delegates/mcu/kernels", "delegates/mcu/plan", "delegates/mcu/nodes",
                            "delegates/mcu/update"]),
    ("converter/cli", ["c_api/include", "c_api/cli", "sdk", "sdk/files", "sdk/json", "converter/ir", "converter/stage", "converter",
                        "converter/firmware", "quant"]),
    ("converter/ir", ["c_api/include", "sdk", "sdk/files"]),
    # What is handed to the converter, so that neither quantizers nor the runtime know it.
    ("converter/stage", ["c_api/include", "sdk", "converter/ir"]),
    ("converter", ["c_api/include", "sdk", "sdk/files", "sdk/json", "converter/ir", "converter/stage"]),
    ("quant", ["c_api/include", "sdk", "sdk/json", "converter/ir", "converter/stage"]),
    ("bindings", ["c_api/include"]),
    ("samples", ["c_api/include", "toolchains/cortex-m"]),
    ("toolchains/cortex-m", []),
]
# What a room may add in its tests, beside tests/support: a delegate's tests run the conformance suite.
TEST_EXTRA = {"delegates": ["delegates/conformance"], "delegates/gpu": ["delegates/conformance"],
              "delegates/mcu/plan": ["c_api/include", "sdk"], "delegates/mcu/update": ["delegates/mcu/kernels"]}
TOP = {"c_api", "sdk", "runtime", "delegates", "converter", "quant", "bindings", "samples", "tests", "toolchains"}

# Standard headers, and compilers' own for instructions, that need neither an OS nor the heap. Anything else in a device file has to be argued for here.
DEVICE_STD = set("""
algorithm array atomic cassert cfloat cinttypes climits cmath cstdarg cstddef cstdint cstring initializer_list iterator
limits new numeric optional string_view tuple type_traits utility
arm_acle.h arm_mve.h assert.h cpuid.h float.h immintrin.h inttypes.h limits.h math.h stdarg.h stdbool.h stddef.h stdint.h string.h
""".split())
DEVICE_LIBRARIES = {"sdk": ("flatbuffers/",), "runtime": ("flatbuffers/", "sodium.h"), "delegates": ("flatbuffers/", "hwy/"),
                    "c_api": ("flatbuffers/",), **{room: ("flatbuffers/",) for room in SESSION}}
DEVICE = ("sdk/", "runtime/", "delegates/cpu/", "delegates/mcu/", "delegates/null/", "delegates/npu/machine/", "c_api/src/", "c_api/fleet/", "c_api/include/")
# Host files inside device folders: tests, and what is built into converter and quant only.
HOST = re.compile(r"(_test\.cc|_bench\.cc|_onnx\.cc|_quant\.cc|quant_rule\.h|_(im|ex)port\.(h|cc)|[/_]testing\.(h|cc))$|^sdk/ops/(host|view\.)|^runtime/platform/|^sdk/(files|json|media)/|"
                  r"^sdk/(\w+/)*(testing|writer)/")

# What sdk/base/config.h defines. Without it #if takes a name for 0, and no compiler says so.
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
with open(os.path.join(ROOT, "sdk/base/config.h.in"), encoding="utf-8") as config:
    OPTION = re.compile(r"\b(?:" + "|".join(re.findall(r"^#cmakedefine01 (\w+)", config.read(), re.M)) + r")\b")
NO_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"', re.S)

INCLUDE = re.compile(r'^[ \t]*#[ \t]*(?:include|include_next)[ \t]+(?:"([^"]+)"|<([^>]+)>)', re.M)
SUFFIXES = (".h", ".cc", ".c", ".inc", ".cpp", ".hpp", ".def")


def room_of(path):
    for room, below in ROOMS:
        if path.startswith(room + "/"):
            return room, below
    return None, []


def is_test(path):
    return re.search(r"(_test|_bench)\.cc$|(^|/)(test|tests|testing)[./_]|testing\.(h|cc)$", path) is not None


def delegate_of(path):
    """delegates/cpu/kernels/x.cc -> delegates/cpu; the registry files directly in delegates/ know every delegate."""
    parts = path.split("/")
    return "/".join(parts[:2]) if parts[0] == "delegates" and len(parts) > 2 else None


def check(path, text):
    """The broken rules of one file, as (line, message)."""
    room, below = room_of(path)
    if room is None:
        return []
    faults = []
    if "sdk" in (room, *below) and '#include "sdk/base/config.h"' not in text:
        option = OPTION.search(NO_CODE.sub("", text))
        if option:
            faults.append((0, f'{option.group(0)}: include "sdk/base/config.h"'))
    for match in INCLUDE.finditer(text):
        name = match.group(1) or match.group(2)
        line = text.count("\n", 0, match.start()) + 1
        target = "c_api/include/" + name if name.startswith("vireo/") else name
        other, _ = room_of(target)
        if target.startswith("tests/support/") and is_test(path):
            continue
        if other is None and target.split("/")[0] in TOP and "/" in target:
            faults.append((line, f'"{name}": {target.split("/")[0]}/ is included by nobody outside it'))
        elif other is not None:
            allowed = [room, *below] + (TEST_EXTRA.get(room, []) if is_test(path) else [])
            if other not in allowed:
                faults.append((line, f'"{name}": {room} may not include {other} (allowed: {", ".join(allowed)})'))
            elif room == "delegates" and delegate_of(target) not in (None, "delegates/conformance", "delegates/gpu") and delegate_of(path) not in (None, delegate_of(target)) and \
                    (delegate_of(path), delegate_of(target)) != ("delegates/mcu", "delegates/cpu"):  # whose table it has rows of
                faults.append((line, f'"{name}": one delegate may not include another'))
        elif path.startswith(DEVICE) and not HOST.search(path):
            libraries = DEVICE_LIBRARIES.get(room, ())
            system = match.group(2) is not None or "/" in name
            if system and name not in DEVICE_STD and not name.startswith(libraries):
                faults.append((line, f"<{name}>: a device file takes only {', '.join(sorted(libraries)) or 'no library'} "
                                     "and standard headers without OS, streams, threads or heap"))
    return faults


def tracked(root):
    try:
        out = subprocess.run(["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                             check=True, capture_output=True).stdout
        return sorted(p for p in out.decode().split("\0") if p)
    except (OSError, subprocess.CalledProcessError):  # a source tarball
        found = []
        for folder, folders, files in os.walk(root):
            folders[:] = [f for f in folders if not f.startswith((".", "build"))]
            found += [os.path.relpath(os.path.join(folder, f), root) for f in files]
        return sorted(found)


def twice_defined(texts):
    """Types that several headers define in one namespace: (path, line, message). texts: of each header by its path."""
    first, found = {}, []
    for path, text in sorted(texts.items()):
        for match in re.finditer(r"^(?:struct|class|enum class|enum) (\w+)[^;{\n]*\{", text, re.MULTILINE):
            opened = re.findall(r"^namespace ([\w:]+) \{", text[:match.start()], re.MULTILINE)
            key = (opened[-1], match[1]) if opened else None
            if key is not None and first.setdefault(key, path) != path:
                found.append((path, text.count("\n", 0, match.start()) + 1, f"{key[0]}::{key[1]} is defined in {first[key]} as well"))
    return found


def self_test():
    broken = {
        "sdk/base/a.h": '#include "runtime/run/run.h"',
        "sdk/base/b.cc": "#include <vector>",
        "sdk/ops/x/x_ref.cc": '  #  include <string>',
        "runtime/run/a.cc": '#include "c_api/src/handle.h"',
        "runtime/load/a.cc": '#include "delegates/cpu/cpu.h"',
        "c_api/fleet/a.cc": '#include "runtime/run/session.h"',
        "c_api/fleet/b.cc": "#include <mutex>",
        "runtime/devices/a.cc": '#include "runtime/prepare/layout.h"',
        "runtime/platform/b.cc": '#include "runtime/run/session.h"',
        "runtime/prepare/a.cc": '#include "runtime/run/session.h"',
        "runtime/prepare/b.cc": '#include "runtime/create/builder.h"',
        "runtime/prepare/c.cc": "#include <vector>",
        "runtime/run/c.cc": '#include "runtime/recover/failover.h"',
        "runtime/run/d.cc": '#include "runtime/create/create.h"',
        "runtime/recover/a.cc": '#include "runtime/create/builder.h"',
        "runtime/create/a.cc": '#include "runtime/explain/explain.h"',
        "runtime/explain/a.cc": '#include "c_api/src/handle.h"',
        "runtime/run/b.cc": '#include "c_api/fleet/common.h"',
        "delegates/cpu/a.cc": '#include "runtime/run/run.h"',
        "delegates/xnnpack/a.cc": '#include "delegates/cpu/cpu.h"',
        "delegates/cpu/b.cc": '#include "delegates/npu/machine/isa.h"',
        "delegates/npu/machine/a.cc": '#include "sdk/base/requantize.h"',
        "delegates/npu/machine/b.cc": '#include "delegates/npu/compiler/graph.h"',
        "delegates/npu/machine/c.cc": "#include <vector>",
        "delegates/npu/compiler/a.cc": '#include "sdk/ops/op.h"',
        "delegates/null/a.cc": '#include "delegates/conformance/suite.h"',
        "delegates/gpu/lower/a.cc": '#include "delegates/vulkan/device.h"',
        "c_api/include/vireo/a.h": '#include "sdk/base/status.h"',
        "c_api/src/a.cc": '#include "converter/ir/graph.h"',
        "c_api/src/b.cc": "#include <mutex>",
        "c_api/cli/a.cc": '#include "runtime/run/run.h"',
        "c_api/cli/b.cc": '#include "sdk/base/status.h"',
        "sdk/files/a.cc": '#include "sdk/base/status.h"',
        "sdk/json/a.cc": '#include "sdk/base/status.h"',
        "runtime/load/b.cc": '#include "sdk/json/json.h"',
        "sdk/graph/a.h": '#include "delegates/cpu/cpu_op.h"',
        "sdk/graph/b.h": "#include <vector>",
        "bindings/python/a.cc": '#include "sdk/base/status.h"',
        "samples/a/a.c": '#include "c_api/src/handle.h"',
        "converter/ir/a.h": '#include "converter/passes/pass.h"',
        "converter/passes/a.cc": '#include "quant/schemes/s.h"',
        "converter/onnx/a.cc": '#include "c_api/src/handle.h"',
        "converter/stage/a.h": '#include "converter/convert.h"',
        "quant/schemes/a.cc": '#include "converter/passes/pass.h"',
        "sdk/base/c.cc": '#include "tests/support/x.h"',
        "sdk/base/d_test.cc": '#include "tests/fuzz/x.h"',
        "sdk/plan/a.cc": "#if VIREO_PARTS",
        "runtime/load/c.cc": '#include "sdk/base/status.h"\n#if !VIREO_TRUST // as "sdk/base/config.h" says',
    }
    fine = {
        "sdk/base/a.h": '#include <cstdint>\n#include "sdk/base/b.h"\n#include "flatbuffers/flatbuffers.h"\n#include <vireo/vireo.h>',
        "sdk/ops/x/x_onnx.cc": "#include <string>",
        "sdk/ops/x/x_test.cc": "#include <vector>",
        "delegates/npu/compiler/b.cc": '#include <vector>\n#include "delegates/npu/machine/isa.h"',
        "delegates/npu/npu_test.cc": '#include "sdk/ops/op.h"\n#include "delegates/npu/compiler/graph.h"',
        "delegates/null/null_test.cc": '#include "delegates/conformance/suite.h"',
        "delegates/vulkan/a.cc": '#include "delegates/gpu/lower/lower.h"',
        "delegates/cpu/kernels/a.cc": '#include "hwy/highway.h"\n#include "delegates/cpu/cpu.h"',
        "runtime/place/a.cc": '#include "sdk/graph/graph_reader.h"',
        "delegates/npu/driver/a.cc": '#include "sdk/graph/graph_reader.h"',
        "runtime/platform/a.cc": "#include <mutex>",
        "runtime/explain/b.cc": '#include "runtime/create/create.h"\n#include "runtime/devices/runtime.h"',
        "c_api/src/c.cc": '#include "runtime/explain/explain.h"\n#include "runtime/run/session.h"',
        "c_api/fleet/a.cc": '#include "runtime/platform/threads.h"\n#include "vireo/fleet.h"',
        "converter/cli/a.cc": '#include "quant/a.h"\n#include "converter/passes/pass.h"\n#include "vireo/vireo.h"\n#include <string>',
        "quant/schemes/b.cc": '#include "converter/stage/stage.h"',
        "sdk/base/c_test.cc": '#include "tests/support/x.h"',
        "sdk/plan/b.cc": '#include "sdk/base/config.h"\n#if VIREO_PARTS',
        "runtime/load/d.cc": '// without VIREO_TRUST\nconst char* a = "VIREO_TRUST is off", *b = VIREO_TRUST_INIT;',
        "c_api/cli/c.cc": "#if VIREO_PLUGINS",
        "samples/firmware/main.c": '#include "toolchains/cortex-m/board.h"',
        "tests/e2e/a.cc": '#include "converter/ir/graph.h"',
    }
    wrong = [p for p, t in broken.items() if not check(p, t)] + [p for p, t in fine.items() if check(p, t)]
    one, two = "namespace a::b {\nstruct S {\n};\n}", "namespace a::c {\nstruct S {\n};\nclass T;\n}"
    for texts, faults in (({"x.h": one, "y.h": two}, 0), ({"x.h": one, "y.h": one}, 1)):
        if len(twice_defined(texts)) != faults:
            wrong.append("types of one name")
    for path in wrong:
        print(f"self-test: wrong verdict on {path}")
    print(f"{len(broken) + len(fine) + 2 - len(wrong)} of {len(broken) + len(fine) + 2} verdicts right")
    return 1 if wrong else 0


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    root = arguments[0] if arguments else ROOT
    paths = [p for p in tracked(root) if p.endswith(SUFFIXES) and os.path.isfile(os.path.join(root, p))]
    count, headers = 0, {}
    for path in paths:
        with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
            text = file.read()
        if path.endswith(".h"):
            headers[path] = text
        for line, message in check(path, text):
            print(f"{path}:{line}: {message}")
            count += 1
    for path, line, message in twice_defined(headers):
        print(f"{path}:{line}: {message}")
        count += 1
    print(f"check_layers: {len(paths)} files, {count} broken rules")
    return 1 if count or not paths else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
