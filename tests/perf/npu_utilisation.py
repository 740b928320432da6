"""npu_utilisation.py --vireo BUILD/bin/vireo --plugin BUILD/plugins/libvireo_npu.so MODEL.vireo...: what the software NPU makes of models.

A row a model: nodes there of all nodes; products, time by the machine's clock and utilisation (products by cycles and array), what moves
outside, energy, of all parts together. The numbers are the compiler's own (VIREO_NPU_REPORT); nothing runs.
"""
import argparse
import json
import os
import pathlib
import subprocess
import tempfile


def row(vireo, plugin, model):
    with tempfile.TemporaryDirectory() as room:
        report = pathlib.Path(room) / "report.json"
        told = subprocess.run([vireo, "explain", model, "--device", "npu,cpu", "--plugins", plugin, "--json"], check=True, capture_output=True,
                              text=True, env={**os.environ, "VIREO_NPU_REPORT": str(report)})
        nodes = json.loads(told.stdout)["nodes"]
        parts = json.loads(report.read_text())
    total = {k: sum(p["total"][k] for p in parts) for k in
             ("macs", "cycles", "milliseconds", "dram_read_bytes", "dram_written_bytes", "energy_nj", "cuts")}
    layers = sum(len(p["layers"]) for p in parts)
    elsewhere = sorted({n["op"] for n in nodes if n["device"] != "npu"})
    # Products of a cycle at full use: from any layer that has some.
    peak = next((p["total"]["macs"] / (p["total"]["utilisation"] * p["total"]["cycles"]) for p in parts if p["total"]["utilisation"] > 0.01), 1024)
    return (f"| `{pathlib.Path(model).stem}` | {sum(n['device'] == 'npu' for n in nodes)} of {len(nodes)} | {len(parts)}, {layers}, {total['cuts']} | "
            f"{total['macs'] / 1e6:.1f} M | {total['milliseconds']:.3f} | {100 * total['macs'] / (total['cycles'] * round(peak)):.1f} % | "
            f"{(total['dram_read_bytes'] + total['dram_written_bytes']) / 1e6:.2f} | {total['energy_nj'] / 1e6:.3f} | {', '.join(elsewhere)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--vireo", required=True)
    parser.add_argument("--plugin", required=True)
    args = parser.parse_args()
    print("| model | nodes there | parts, layers, cuts | products | ms | utilisation | outside MB | mJ | elsewhere |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for model in args.models:
        print(row(args.vireo, args.plugin, model), flush=True)


if __name__ == "__main__":
    main()
