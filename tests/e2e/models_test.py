"""Every model of the models folder: converted, and its answers compared with the stored ones.

The tolerance is the tool's default; where a row's slack (how far ONNX Runtime is from itself, with and without its
optimisations) is larger, ten times that slack for float models and once the slack for quantized ones.
"""
import re

import support


def rows():
    text = (support.SHARED / "models" / "README.md").read_text()
    table = text.split("## Files")[1].split("\n## ")[0]
    for line in table.splitlines():
        cells = [c.strip() for c in line.strip("|").split("|")]
        if len(cells) == 9 and re.fullmatch(r"\w+/\w+", cells[0]):
            yield cells[0], float(cells[8])


def tolerance(name, slack):
    if re.search("qdq|quant", name):
        return ["--atol", str(max(slack, 1e-5))]
    return ["--atol", str(10 * slack)] if 10 * slack > 1e-5 and "fp16" not in name else []


def check(name, slack):
    def run(_):
        model = support.SHARED / "models" / (name + ".onnx")
        file = support.convert(model)
        support.verify(file, model.with_suffix(".npz"), *tolerance(name, slack))
    return run


reason = support.missing(folder="models")
Models = support.cases(reason, {} if reason else {name: check(name, slack) for name, slack in rows()})

if __name__ == "__main__":
    support.main()
