# SPDX-License-Identifier: Apache-2.0
"""The list of codes stands in schemas/api.capnp and in abi.h; this holds the two together."""
import re
import sys

import abi_headers

SCHEMA = abi_headers.INTERFACES.parent / "schemas" / "api.capnp"


def schema_codes(text):
    """{"QUORATE_NOT_FOUND": 1, ...} of the enum ErrorCode."""
    body = re.search(r"enum ErrorCode[^{]*\{(.*?)\}", text, flags=re.S).group(1)
    names = re.findall(r"^\s*(\w+)\s*@(\d+)\s*;", re.sub(r"#[^\n]*", "", body), flags=re.M)
    return {"QUORATE_" + re.sub(r"([A-Z])", r"_\1", name).upper(): int(number)
            for name, number in names}


def header_codes(text):
    """The same of the enum behind quorate_status."""
    body = re.search(r"typedef int32_t quorate_status;\s*enum \{(.*?)\}",
                     abi_headers.without_comments(text), flags=re.S).group(1)
    return {name: int(number) for name, number in re.findall(r"(\w+)\s*=\s*(\d+)", body)}


def disagreements(schema, header):
    found = []
    for name in sorted(schema.keys() | header.keys()):
        if schema.get(name) != header.get(name):
            found.append(f"{name} is {schema.get(name, 'absent')} in schemas/api.capnp and "
                         f"{header.get(name, 'absent')} in interfaces/quorate/abi.h")
    return found


def main():
    schema = schema_codes(SCHEMA.read_text())
    header = header_codes((abi_headers.INTERFACES / "quorate" / "abi.h").read_text())
    found = disagreements(schema, header)
    if len(schema) < 2:
        found.append("no codes were found in schemas/api.capnp")
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
