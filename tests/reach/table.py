"""What no include, link or command line shows: which files the scripts, checks and parts of tests/run depend on.

Patterns are regular expressions that match a whole path from the root; what the build makes begins with "@" (graph.py).
"""
from dataclasses import dataclass, field

PRESET = "dev"  # whose graph is read; the other presets build a part of what it builds, which PARTS tells

LIBRARY = r"@lib/libvireo\.so\.[0-9.]+"
TOOL = r"@bin/vireo"
INSTALLED = "@installed"  # what cmake --install writes
MADE = {
    INSTALLED: [
        LIBRARY, TOOL, r"@bin/vireo-probe", r"c_api/include/.*", r"bindings/python/vireo/.*",
        r"bindings/CMakeLists\.txt", r"converter/target/profiles/.*", r"toolchains/cmake/VireoConfig\.cmake\.in", r"samples/.*"],
    # A runtime tries a plug-in with another program first.
    "@plugins/libvireo_npu.so": [r"@bin/vireo-probe"],
    "@plugins/libvireo_vulkan.so": [r"@bin/vireo-probe"],
    "@plugins/libvireo_hip.so": [r"@bin/vireo-probe", r"@test/libvireo_soft_hip\.so"],
}
# What configuring writes, by what it is written from; CMakeLists.txt are known without a row.
GENERATED = [
    (r"@generated/(sdk/ops/\w+(_table\.cc|_exports_generated\.h)|vireo/ops\.h)", [r"sdk/ops/(ops|imports)\.def"]),
    (r"@generated/delegates/cpu/op_table\.cc", [r"delegates/(cpu|mcu)/adapters\.def"]),
    (r"@generated/delegates/mcu/op_table\.cc", [r"delegates/mcu/adapters\.def"]),
    (r"@generated/converter/target/shipped\.cc", [r"converter/target/profiles/.*\.json"]),
    (r"@generated/converter/ir/schema_texts\.cc", [r"sdk/ops/ops\.def", r"sdk/.*\.fbs"]),
    (r"@generated/runtime/load/model_next\.fbs", [r"sdk/format/model\.fbs"]),
    (r"@generated/(unchecking/)?sdk/base/config\.h", [r"sdk/base/config\.h\.in"]),
]
# A word in a Python test or a document's block, and what of the build it then needs.
WORDS = [("npu", "@plugins/libvireo_npu.so"), ("vulkan", "@plugins/libvireo_vulkan.so"), ("hip", "@plugins/libvireo_hip.so")]
# Scripts whose quoted words are no files that they read.
WORDS_ARE_DATA = r"toolchains/check_\w+\.py|tests/(changed|summarize_test)\.py|tests/reach/.*"
# Where Python finds modules beside a script's own folder.
PYTHON_FOLDERS = ["tests", "tests/e2e", "bindings/python"]

SOURCES = r".*\.(h|cc|c|hpp|cpp|inc|def)"
# ctest tests that read more than they name.
TESTS = {
    r"check_tree|check_documents|reach_complete": [r".*"],
    r"check_layers": [SOURCES],
    r"documents_list": [r".*\.md"],
    r"reach(_run)?": [r"tests/(changed|summarize)\.py", r"tests/reach/\w+\.py"],
    r"operator_coverage(_tested)?": [
        r"sdk/ops/.*_onnx\.cc", r"sdk/ops/\w+\.def", r"sdk/ops/COVERAGE\.md", r"converter/onnx/bundles/(maps|sequences)\.cc"],
    r"operator_attributes": [r"sdk/ops/.*\.cc", r"converter/onnx/attributes\.def"],
    r"package|e2e_plugin_sample": [INSTALLED],
    r"package_(debian|wheel|vcpkg|conan)": [
        INSTALLED, r"toolchains/packages/(debian|vcpkg|conan)/.*", r"toolchains/cmake/VireoDebian\.cmake",
        r"bindings/python/.*", r"LICENSE"],
    r"package_versions": [LIBRARY, TOOL, r"toolchains/cmake/VireoConfig\.cmake\.in", r"CHANGELOG\.md"],
    r"package_sized_structs": [LIBRARY, TOOL, r"c_api/include/.*", r"tests/package/abi/.*"],
    r"api_description(_rules)?": [r"c_api/.*", r"bindings/.*"],
    r"package_abi": [r"c_api/include/.*", r"tests/package/abi/.*", r"CHANGELOG\.md"],
    r"e2e_firmware(_\w+)?": [r"converter/firmware/.*", r"delegates/mcu/(kernels|plan)/.*", r"converter/target/profiles/.*",
                      r"tests/smoke/(fit_costs\.py|mcu_\w+\.c|counter\.c)", r"samples/firmware/.*", r"@test/mcu_cost_cases"],
    r"e2e_(python\w*|fleet)": [r"@test/vireo_struct_layout"],
    r"vireo_converter_passes_test|optimiser_fuzz": [r"converter/passes/.*\.ir"],
}
# They read whole kinds of files, so that they know a file says nothing of it.
WIDE = {"check_tree", "check_documents", "reach_complete", "check_layers", "documents_list", "format"}
# ... but of their own.
WIDE_OWN = r"\.clang-format|toolchains/check_(format|tree\.py|layers\.py|documents\.py)|tests/documents/all_pages\.py"


@dataclass
class Part:
    """A stage of the default run or a part of --full, as a piece of what PRESET builds."""
    nodes: list = field(default_factory=list)   # files and programs that it runs or reads
    tests: str = r"(?!)"                        # names of ctest tests that it runs
    labels: set = field(default_factory=set)    # ... with one of these labels, where some are named
    never: set = field(default_factory=set)     # ... and none of these
    folders: str = r".*"                        # ... that these folders define; what runs no program is left to dev
    without: str = r"(?!)"                      # what it does not build
    kernels: str = ""                           # a preset that names in VIREO_KERNELS the operators that it builds
    made: bool = True                           # False: that the converter makes its models is no reason to run it
    reads: str = ""                             # "sources": not what programs read; "text": not what files include


CONFORMANCE = [TOOL, r"tests/conformance\.py", r"tests/onnx_cases\.py"]
# Their models are made on the host, where dev tests how; packed.c is theirs alone. ARITHMETIC: what computes otherwise on another core.
LINUX = dict(tests=r".*", labels={"unit", "smoke"}, made=False,
             folders=r"sdk/(base|format|plan|ops|media)|delegates(/.*)?|runtime|tests/smoke")
ARITHMETIC = dict(LINUX, folders=r"sdk/(base|ops)|delegates(/(cpu|conformance)(/.*)?)?|tests/smoke",
                  without=r"delegates/(npu|xnnpack|null|gpu|vulkan)/.*")
PACKED = r"tests/smoke/(packed\.c|linux_arm\.py)|samples/linux-arm/frames\.c"
NO_THREADS = r"delegates/(npu|xnnpack|null|gpu|vulkan)/.*|c_api/fleet/(?!absent)\w+\.cc"
ABSENT = r"c_api/fleet/absent\.cc"
FIRMWARE = dict(
    folders=r"tests/smoke", made=False,
    nodes=[r"runtime/platform/bare\.cc", r"toolchains/cortex-m/.*", r"toolchains/arm-none-eabi-cortex-m4\.cmake",
           r"toolchains/cmake/(VireoFirmware|check_no_heap)\.cmake"],
    without=NO_THREADS + r"|delegates/cpu/((kernels|adapters)/.*|(activate_of|forms)\.(h|cc))|sdk/composites/.*|runtime/platform/(?!bare)\w+\.cc")
STAGES = {
    "format": Part([r".*\.(h|cc|c|hpp|cpp)", r"\.clang-format", r"toolchains/check_format"], reads="text"),
    # The same objects as dev's, in the configuration of users.
    "release": Part([TOOL, r"samples/models/digit_det_nms\.(onnx|npz)"], without=r".*_(test|bench)\.cc|.*\.md"),
}
FULL = {
    "whole": Part(tests=r".*", labels={"sampled", "whole"}),
    # Left out: what tests/*/CMakeLists.txt leave out of a sanitized build.
    "asan": Part(
        [*CONFORMANCE, r"tests/property/guard_test\.cc"], never={"perf", "size", "alloc", "package", "whole"},
        tests=r"(?!e2e_memory$|document_|operator_coverage_tested$|differential_fuzz$|calls_test$).*"),
    "tsan": Part(tests=r".*", labels={"threads"}, made=False),
    "aarch64-linux": Part([PACKED, r"toolchains/aarch64-linux-gnu\.cmake"], **ARITHMETIC),
    "armv7-linux": Part([PACKED, r"toolchains/arm-linux-gnueabihf\.cmake"], **LINUX),
    "riscv64-linux": Part([PACKED, r"toolchains/riscv64-linux-gnu\.cmake"], **ARITHMETIC),
    "wasm": Part([ABSENT, r"toolchains/wasm32-emscripten\.cmake"], tests=r".*", labels={"smoke"}, made=False,
                 without=NO_THREADS),
    "cortex-m4": Part(tests=r"kws_selftest", kernels="cortex-m4", **FIRMWARE),
    "cortex-m4-integer": Part(
        tests=r"(golden(_wide)?|kws_int8)_selftest", kernels="cortex-m4-integer",
        **dict(FIRMWARE, nodes=[*FIRMWARE["nodes"], r"delegates/mcu/(adapters/.*|kernels/.*|adapters\.def)", r"tests/smoke/((count(er)?|mcu_cores)\.c|measure_(core|instructions)|instructions\.tsv|quantized\.py)"])),
    "conformance": Part([*CONFORMANCE, r"@plugins/libvireo_(npu|vulkan)\.so"]),
    "fuzz": Part([TOOL, r"tests/fuzz/differential/.*\.py"]),
    "levels": Part(tests=r"e2e_dispatch_levels"),
    # The command line without the converter, and the smallest runtime; its model comes from dev.
    "minsize": Part(
        [r"@test/(vireo_cli_verbs_test|size_probe|kws_selftest)", r"c_api/cli/main\.cc", ABSENT,
         r"tests/size/(measure|budget\.tsv)"], without=NO_THREADS + r"|.*_test\.cc", made=False),
    "tidy": Part([r"@.*\.o", r"\.clang-tidy", r"toolchains/check_tidy"], reads="sources", made=False,
                 without=r".*_(test|bench)\.cc|(tests|samples|bindings)/.*"),
}

# What this machine's configuration may leave out, or no source includes, reaches what the second reaches, but for the parts of the third.
LIKE = [
    (r"delegates/xnnpack/\w+_test\.cc", r"delegates/cpu/\w+_test\.cc", r"(?!)"),
    (r"delegates/xnnpack/\w+\.(h|cc|txt)|toolchains/xnnpack\.sh", r"delegates/cpu/kernels/gemm/gemm\.cc",
     r"wasm|minsize"),
    (r"delegates/vulkan/\w+_test\.cc|delegates/vulkan/(fake/.*|testing\.cc|runner\.cc)", r"delegates/npu/driver/driver_test\.cc", r"(?!)"),
    (r"delegates/(vulkan|gpu)/.*\.(h|cc|txt|fbs)", r"delegates/npu/driver/driver\.cc", r"wasm|minsize"),
    (r"delegates/cpu/kernels/precompiled\.h", r"delegates/cpu/kernels/foreach_target\.h", r"(?!)"),
    (r"sdk/media/.*", r"sdk/media/codecs\.cc", r"(?!)"),  # codecs whose library is missing
]
# Reaches all there is.
EVERYTHING = [
    (r"CMakeLists\.txt|CMakePresets\.json|toolchains/dependencies\.cmake", "every build reads it"),
    (r"toolchains/cmake/Vireo(Targets|FlatBuffers|Embed|Package)\.cmake", "every build reads it"),
    (r"toolchains/cmake/no_special_functions\.h", "it is precompiled for every library"),
    (r"toolchains/compile_cached", "every compiler is called through it"),
    (r"toolchains/bootstrap", "it installs what every test uses"),
    (r"tests/run", "it runs every test"),
]
# No test can see these.
UNSEEN = [
    (r".*\.md", "prose: check_documents reads it, and documents_list makes sure that its code blocks run"),
    (r"\.gitignore", "for git alone"),
    (r"\.ci/run", "calls tests/run"),
    (r"samples/quickstart", "sets a machine up, by hand"),
    (r"converter/target/costs/check\.py", "compares costs with benches by hand, on a quiet machine"),
    (r"sdk/ops/(integer_golden|text/case_table)\.py", "writes sources by hand, which are tested"),
    (r"tests/exact_bytes\.py", "a comparison made by hand"),
    (r"tests/fuzz/(run|seeds\.py|dictionaries/.*)", "long runs by hand"),
    (r"tests/perf/.*", "measurements made by hand, on a quiet machine"),
    (r"tests/size/kernels\.py", "writes a table of tests/size/KERNELS.md by hand"),
]
