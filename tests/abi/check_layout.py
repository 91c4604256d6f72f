# SPDX-License-Identifier: Apache-2.0
"""Compares sizes, offsets, types and numbers of the C interfaces with golden.txt.

  check_layout.py            fails when they differ
  check_layout.py --rewrite  writes golden.txt anew

A plugin that was built before a change of this file's content is a plugin that a new host misreads,
so until 1.0 each change needs a line in CHANGELOG.md, and from 1.0 on only additions are allowed.
"""
import difflib
import pathlib
import re
import subprocess
import sys
import tempfile

import abi_headers

GOLDEN = pathlib.Path(__file__).with_name("golden.txt")


def program(texts):
    """A C program that prints a line for each thing the headers declare."""
    lines = ["#include <stdio.h>"]
    lines += [f'#include "quorate/{path.name}"' for path in abi_headers.header_paths()]
    lines.append("int main(void) {")
    for text in texts:
        for macro in abi_headers.string_macros(text):
            lines.append(f'  printf("id {macro} %s\\n", {macro});')
        for name in abi_headers.enumerators(text):
            lines.append(f'  printf("number {name} %d\\n", (int){name});')
        for name, declaration in abi_headers.callbacks(text).items():
            lines.append(f'  printf("%s\\n", "callback {declaration}");')
        for struct, fields in abi_headers.structs(text).items():
            lines.append(f'  printf("struct {struct} size %zu align %zu\\n", sizeof({struct}), '
                         f"_Alignof({struct}));")
            for field, declaration in fields:
                lines.append(f'  printf("  %zu +%zu {field}: {declaration}\\n", '
                             f"offsetof({struct}, {field}), sizeof((({struct}*)0)->{field}));")
    return "\n".join([*lines, "  return 0;", "}", ""])


def layout(source):
    with tempfile.TemporaryDirectory() as folder:
        binary = pathlib.Path(folder) / "layout"
        subprocess.run(["gcc", "-std=c11", "-Wall", "-Werror", f"-I{abi_headers.INTERFACES}", "-x",
                        "c", "-o", str(binary), "-"], input=source, text=True, check=True)
        return subprocess.run([str(binary)], capture_output=True, text=True, check=True).stdout


def unread(text):
    """A sentence for each hole that is larger than padding: a field the reader did not see."""
    found, struct, size, end = [], None, 0, 0
    for line in [*text.splitlines(), "struct end size 0 align 1"]:
        head = re.match(r"struct (\w+) size (\d+)", line)
        field = re.match(r"  (\d+) \+(\d+) (\w+):", line)
        if head:
            if struct and size - end >= 8:
                found.append(f"{struct}: nothing is known of its last {size - end} bytes")
            struct, size, end = head.group(1), int(head.group(2)), 0
        elif field:
            if int(field.group(1)) - end >= 8:
                found.append(f"{struct}: nothing is known of what lies before {field.group(3)}")
            end = int(field.group(1)) + int(field.group(2))
    return found


def difference(golden, now):
    return "".join(difflib.unified_diff(golden.splitlines(keepends=True),
                                        now.splitlines(keepends=True), "tests/abi/golden.txt",
                                        "interfaces/quorate", n=1))


def main():
    now = layout(program([path.read_text() for path in abi_headers.header_paths()]))
    for sentence in unread(now):
        print(sentence)
        return 1
    if sys.argv[1:] == ["--rewrite"]:
        GOLDEN.write_text(now)
        return 0
    changes = difference(GOLDEN.read_text(), now)
    if not changes:
        return 0
    print("The binary interface changed, so plugins that are built already no longer fit. Until 1.0"
          "\nthat needs a line in CHANGELOG.md; with it, run tests/abi/check_layout.py --rewrite.\n"
          + changes)
    return 1


if __name__ == "__main__":
    sys.exit(main())
