# SPDX-License-Identifier: Apache-2.0
"""Compiles each interface header alone, as C11 and as C++20, with gcc and with clang."""
import subprocess
import sys

import abi_headers

COMPILERS = [("gcc", "c", "c11"), ("clang", "c", "c11"), ("g++", "c++", "c++20"),
             ("clang++", "c++", "c++20")]


def complaint(compiler, language, standard, header):
    """What the compiler says, empty when it takes the header."""
    source = f'#include "quorate/{header}"\n#include "quorate/{header}"\n'
    command = [compiler, "-x", language, f"-std={standard}", "-Wall", "-Wextra", "-Wpedantic",
               "-Werror", "-fsyntax-only", f"-I{abi_headers.INTERFACES}", "-"]
    try:
        done = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return f"{compiler} is not installed: run scripts/setup"
    return done.stderr if done.returncode else ""


def main():
    failures = 0
    for path in abi_headers.header_paths():
        for compiler, language, standard in COMPILERS:
            said = complaint(compiler, language, standard, path.name)
            if said:
                failures += 1
                print(f"quorate/{path.name} does not compile alone as {standard} with {compiler}:"
                      f"\n{said}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
