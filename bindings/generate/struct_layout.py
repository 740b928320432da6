"""bindings/struct_layout.c: prints the size of each struct and the offset of each of its fields, for the tests of bindings that write the
structs down in another language."""


def made(api):
    headers = []
    for struct in api["structs"].values():
        if struct["header"] not in headers:
            headers.append(struct["header"])
    lines = ["/* Prints the size of each struct of the C API, and the offset of each of its fields. Made by c_api/describe.py. */",
             "#include <stddef.h>", "#include <stdio.h>", *(f"#include <vireo/{h}>" for h in sorted(headers)), "",
             '#define STRUCT(type) printf("%s %lu\\n", #type, (unsigned long)sizeof(type))',
             '#define FIELD(type, name) printf("%s.%s %lu\\n", #type, #name, (unsigned long)offsetof(type, name))', "", "int main(void) {"]
    for name, struct in api["structs"].items():
        lines.append(f"  STRUCT({name});")
        lines += [f"  FIELD({name}, {field['name']});" for field in struct["fields"]]
    return "\n".join([*lines, "  return 0;", "}", ""])
