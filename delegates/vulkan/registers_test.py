#!/usr/bin/env python3
"""registers_test.py BUILD [FAMILY...]: what kernels of the sizes that models have take of AMD's chips through Vulkan, as a table.

Mesa's driver for AMD compiles without a card: RADV_FORCE_FAMILY names the chip, and RADV_DEBUG=shaderstats has it tell what each kernel
takes. None may spill. Without that driver (Debian: mesa-vulkan-drivers) it is skipped (exit status 77) with the reason. A family that the
installed Mesa does not know is left out, and said.
"""
import glob
import os
import pathlib
import re
import subprocess
import sys

FAMILIES = ["vega10", "navi10", "navi21", "gfx1100", "gfx1201"]
MANIFESTS = ("/usr/share/vulkan/icd.d", "/usr/local/share/vulkan/icd.d", "/etc/vulkan/icd.d")
# As RADV writes them for a shader, one a line, between rows of stars.
FIELDS = {"vgprs": "VGPRs", "sgprs": "SGPRs", "spilled": "Spilled VGPRs", "lds": "LDS size", "scratch": "Scratch size", "waves": "Subgroups per SIMD",
          "bytes": "Code size"}

# Spills that are known: they are told and are no failure.
KNOWN = {("gfx1100", "product 4096^3, float32"): "Mesa 22.3 compiles the tile of 128 x 128 for waves of 64"}


def driver():
    """The driver's manifest; None where it is not installed."""
    return next((found for folder in MANIFESTS for found in sorted(glob.glob(f"{folder}/radeon_icd*.json"))), None)


def statistics(text):
    """[(kernel, {field: number})] of what registers.cc and the driver wrote."""
    rows = []
    for piece in text.split("kernel: ")[1:]:
        name, _, told = piece.partition("\n")
        # "VGPRs: 24", or "VGPRs                     24": by version. Not the line of spilled ones.
        found = {key: re.search(rf"^\s*{label}:?\s+(\d+)", told, re.MULTILINE) for key, label in FIELDS.items()}
        rows.append((name, {key: int(match.group(1)) for key, match in found.items() if match}))
    return rows


def main(build, families):
    manifest = driver()
    if manifest is None:
        print("skipped: no radeon_icd*.json: Mesa's driver for AMD is not installed (toolchains/bootstrap --for tests)")
        return 77
    failures, tables = [], 0
    print(f"{'kernel':<38} {'family':<8} vector scalar spilled  shared scratch waves  bytes")
    for family in families:
        done = subprocess.run([build / "test" / "vireo_vulkan_registers"], capture_output=True, text=True, errors="replace", timeout=300, check=False,
                              env={**os.environ, "VK_DRIVER_FILES": manifest, "VK_ICD_FILENAMES": manifest, "RADV_FORCE_FAMILY": family,
                                   "RADV_DEBUG": "shaderstats,nocache", "MESA_SHADER_CACHE_DISABLE": "true"})
        text = done.stdout + done.stderr
        if "Unknown family" in text or "no card:" in text:
            print(f"left out: {family}: {text.strip().splitlines()[0]}")
            continue
        rows = statistics(text)
        if done.returncode != 0 or not rows:
            failures.append(f"{family}: exit status {done.returncode}\n{text[-2000:]}")
            continue
        tables += 1
        for name, told in rows:
            if not {"vgprs", "spilled", "scratch"} <= told.keys():
                failures.append(f"{family}, {name}: the driver tells no registers")
                continue
            print(f"{name:<38} {family:<8} " + " ".join(f"{told.get(k, 0):{w}}" for k, w in (("vgprs", 6), ("sgprs", 6), ("spilled", 7), ("lds", 7), ("scratch", 7),
                                                                                         ("waves", 5), ("bytes", 6))))
            if (told["spilled"] or told["scratch"]) and (family, name) in KNOWN:
                print(f"  known: {KNOWN[family, name]}")
            elif told["spilled"] or told["scratch"]:
                failures.append(f"{family}, {name}: {told['spilled']} registers spilled, {told['scratch']} bytes of scratch")
    if tables == 0 and not failures:
        print("skipped: this Mesa compiles for none of these families without a card")
        return 77
    print("\n".join(failures) if failures else "no kernel spills that is not known")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:] or FAMILIES))
