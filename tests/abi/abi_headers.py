# SPDX-License-Identifier: Apache-2.0
"""Reads what the headers of interfaces/quorate declare. They are plain: structs without nesting,
enums without expressions of their own, macros of one line."""
import pathlib
import re

INTERFACES = pathlib.Path(__file__).resolve().parents[2] / "interfaces"


def header_paths():
    return sorted((INTERFACES / "quorate").glob("*.h"))


def without_comments(text):
    return re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.S)


def one_line(text):
    return re.sub(r"\s+", " ", text).strip()


def split_commas(text):
    """Splits at the commas that stand in no parentheses."""
    parts, depth, start = [], 0, 0
    for i, char in enumerate(text):
        depth += {"(": 1, ")": -1}.get(char, 0)
        if char == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    return parts + [text[start:]]


def fields(body):
    """The (name, declaration) of each field."""
    found = []
    for declaration in map(one_line, body.split(";")):
        if not declaration:
            continue
        function = re.search(r"\(\*(\w+)\)", declaration)
        if function:
            found.append((function.group(1), declaration))
            continue
        first, *more = split_commas(declaration)
        for declarator in [first, *more]:
            found.append((re.findall(r"\w+", re.sub(r"\[.*?\]", "", declarator))[-1], declaration))
    return found


def structs(text):
    """{name: fields} in order."""
    text = without_comments(text)
    found = re.findall(r"typedef struct (\w+) \{(.*?)\} \1;", text, flags=re.S)
    return {name: fields(body) for name, body in found}


def callbacks(text):
    """{name: declaration} of the function types."""
    found = re.findall(r"typedef ([^;{]*?\(\*(\w+)\)[^;]*);", without_comments(text), flags=re.S)
    return {name: one_line(declaration) for declaration, name in found}


def enumerators(text):
    bodies = re.findall(r"\benum \{(.*?)\}", without_comments(text), flags=re.S)
    return [name for body in bodies for name in re.findall(r"(\w+)\s*=", body)]


def string_macros(text):
    return re.findall(r'^#define (QUORATE_\w+) "', text, flags=re.M)
