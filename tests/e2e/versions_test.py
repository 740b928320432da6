"""Every operator at every version it ever had (tests/onnx_versions.py): none answers wrongly, and what is refused is on the list."""
import json
import re
import shutil
import sys

import support

sys.path.insert(0, str(support.ROOT / "tests"))

# Operators that may be refused, and why.
REFUSED = {
    "Gradient": "a training operator without an inference meaning",
    "ImageDecoder": "wants codecs, which a build may leave out",
}
# Versions whose nodes are judged elsewhere, or not at all.
WITHOUT_CASES = {
    "Multinomial": "random: tests/e2e/distributions_test.py", "RandomNormal": "random", "RandomNormalLike": "random", "RandomUniform": "random",
    "RandomUniformLike": "random", "Gradient": "no answers to compare with",
}
REFUSED_CASES = {"Scan_v8": "the batch axis of opset 8's Scan, which later opsets dropped"}


def check(test):
    import conformance
    import onnx_versions
    folder = support.WORK / "versions"
    shutil.rmtree(folder, ignore_errors=True)
    names, met = {}, set()
    for case in onnx_versions.kept_cases(conformance.cache_folder()):
        if support.SAMPLE > 1 and len(names) % support.SAMPLE:
            names[case.name] = None
            continue
        names[case.name] = case.op
        met.add((case.domain, case.op, case.version))
        onnx_versions.write_case(case, folder)
    done = support.vireo("conformance", folder, "--json", check=False)
    results = json.loads(done.stdout)["cases"]
    wrong = [f"{c['name']}: {c['result']}: {c.get('reason')}" for c in results if c["result"] != "pass" and not (
        c["result"] == "refused" and (names[c["name"]] in REFUSED or re.match(r"[A-Za-z0-9]+_v\d+", c["name"])[0] in REFUSED_CASES))]
    every = onnx_versions.versions()
    passed = sum(c["result"] == "pass" for c in results)
    print(f"\n{len(results)} cases of {len(met)} of {len(every)} versions: {passed} pass, {sum(c['result'] == 'refused' for c in results)} refused", flush=True)
    test.assertEqual(wrong, [])
    test.assertEqual(len(results), sum(op is not None for op in names.values()))
    if support.SAMPLE == 1:
        test.assertEqual([v for v in every if v not in met and v[1] not in WITHOUT_CASES], [])
    shutil.rmtree(folder)


reason = support.missing("numpy", "onnx", "onnxruntime")
Versions = support.cases(reason, {} if reason else {"every_version": check})

if __name__ == "__main__":
    support.main()
