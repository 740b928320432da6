"""Operators that the standard defines as functions of others: each case of tests/onnx_versions.py is run twice, as the operator and
as a call of the function that is its definition, and both give the case's answers. The operator alone is `versions`' part; here the
definition is put into the model as a function of its own, which the converter has no other way to run."""
import json
import shutil
import sys

import support

sys.path.insert(0, str(support.ROOT / "tests"))

DOMAIN = "definitions"
# Definitions that cannot be held against a case.
WITHOUT = {"Bernoulli": "random: judged by its distribution"}


def definition(schema, model):
    """The function that `schema` says the model's node is; None where there is none for it."""
    import onnx
    node, function = model.graph.node[0], onnx.FunctionProto()
    types = {i.name: i.type for i in [*model.graph.input, *model.graph.output]}
    if schema.has_context_dependent_function:
        wanted = [types.get(name, onnx.TypeProto()).SerializeToString() for name in node.input]
        versions = [v for v in schema.context_dependent_function_opset_versions if v <= model.opset_import[0].version or v == schema.since_version]
        if not versions:
            return None
        function.ParseFromString(schema.get_context_dependent_function_with_opset_version(max(versions), node.SerializeToString(), wanted))
    else:
        function.ParseFromString(schema.function_body.SerializeToString())
    # What FlexAttention's says of its operators' opset is left out.
    if not any(not o.domain for o in function.opset_import) and any(not n.domain for n in function.node):
        function.opset_import.extend(o for o in model.opset_import if not o.domain)
        if not any(not o.domain for o in function.opset_import):
            function.opset_import.append(onnx.helper.make_opsetid("", 24))
    return function if function.node else None


def by_definition(case, schema):
    """The case's model with its node a call of the definition; None where there is none."""
    import onnx
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    function = definition(schema, model)
    if function is None:
        return None
    node = model.graph.node[0]
    given = {a.name for a in node.attribute}
    for name, attribute in schema.attributes.items():
        if name not in given and attribute.default_value.type != 0:
            default = node.attribute.add()
            default.CopyFrom(attribute.default_value)
            default.name = name
    function.domain, function.name, node.domain, node.op_type = DOMAIN, case.op, DOMAIN, case.op
    model.functions.append(function)
    model.opset_import.append(onnx.helper.make_opsetid(DOMAIN, 1))
    model.ir_version = max(model.ir_version, 8)  # which brought functions
    return model


def check(test):
    import conformance
    import onnx
    import onnx_versions
    folder = support.WORK / "definitions"
    shutil.rmtree(folder, ignore_errors=True)
    schemas = {(s.domain, s.name, s.since_version): s for s in onnx.defs.get_all_schemas_with_history() if s.has_function or s.has_context_dependent_function}
    names, met, made = set(), set(), 0
    for case in onnx_versions.kept_cases(conformance.cache_folder()):
        schema = schemas.get((case.domain, case.op, case.version))
        if schema is None or case.op in WITHOUT or len(case.model.graph.node) != 1:
            continue
        model = by_definition(case, schema)
        if model is None:
            continue
        made += 1
        if made % support.SAMPLE:
            continue
        names.add(case.name)
        met.add((case.domain, case.op, case.version))
        onnx_versions.write_case(case._replace(name=case.name + "_operator"), folder)
        onnx_versions.write_case(case._replace(name=case.name + "_definition", model=model), folder)
    results = json.loads(support.vireo("conformance", folder, "--json", check=False).stdout)["cases"]
    wrong = [f"{c['name']}: {c['result']}: {c.get('reason')}" for c in results if c["result"] != "pass"]
    print(f"\n{len(names)} cases of {len(met)} of {len(schemas)} definitions: {len(results)} runs, {sum(c['result'] == 'pass' for c in results)} pass, "
          f"{sum(c['result'] == 'refused' for c in results)} refused", flush=True)
    test.assertEqual(len(results), 2 * len(names))
    test.assertEqual(wrong, [])
    if support.SAMPLE == 1:
        test.assertEqual([s for s in sorted(schemas) if s not in met and s[1] not in WITHOUT], [])
    shutil.rmtree(folder)


reason = support.missing("numpy", "onnx", "onnxruntime")
Functions = support.cases(reason, {} if reason else {"operator_and_definition": check})

if __name__ == "__main__":
    support.main()
