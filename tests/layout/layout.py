# SPDX-License-Identifier: Apache-2.0
"""Fails with a sentence for each place where the source breaks a rule of the architecture:

  include    an include points only to the left of
             interfaces, schemas | base | env | raft | wal | plugin | storage
             | mvcc, lease, auth, cluster | watch | apply | server | daemon
             raft includes base alone; the kernel includes no plugin and no engine; a plugin
             includes interfaces, schemas, sdk and what is its own
  link       a kernel folder's link line obeys the same order
  outside    only kernel/env names a clock, a random device, a thread, a lock or a file; the shared
             classes below may name a lock
  wait       nothing waits on a condition but the threads of kernel/env, and the host's thread
             for the loops
  unordered  no range-for over an unordered container where the order could show
  licence    every source, script and CMake file has its SPDX line
  once       every header of kernel, plugins and daemon has #pragma once

  layout.py ROOT
"""
import pathlib
import re
import sys

KERNEL_ROW = {"base": 1, "env": 2, "raft": 3, "wal": 4, "plugin": 5, "storage": 6, "mvcc": 7,
              "lease": 7, "auth": 7, "cluster": 7, "watch": 8, "apply": 9, "server": 10}
LEFT_OF_ALL = {"quorate", "schemas"}

# What several loops share, and therefore guard with a lock of their own.
SHARED_CLASSES = {
    "kernel/mvcc/index": "the key index",
    "kernel/mvcc/pins": "the pins of the key index",
    "kernel/storage/read_view": "the current read view",
    "kernel/storage/engine": "the current read view: the pool of its engine views",
    "kernel/storage/write_buffer": "the write buffer",
    "kernel/server/pending": "the pending calls",
    "kernel/auth/token_table": "the token table",
    "kernel/server/snapshot_inbox": "what comes in of a snapshot",
    "kernel/server/member_info": "the plugins that listen to the member",
    "kernel/server/peer_book": "what is known of the peers",
}
# The threads themselves, and the door at which the host's thread waits for the loops.
WAITING = {"kernel/env/thread_executor", "kernel/env/latch"}
WAITING_CALLERS = {"kernel/env/posix_env", "kernel/server/server", "kernel/server/bootstrap",
                   "kernel/server/peers"}

DETERMINISTIC = {"raft", "apply", "mvcc", "lease", "auth", "cluster", "watch"}
ORDER_MARK = "order does not show:"

ENGINES = re.compile(r"(lmdb\.h|rocksdb/|grpc|google/protobuf/|boost/(asio|beast)|asio|nghttp2/|"
                     r"catch2/)")

OUTSIDE = {
    "a clock": r"\b(?:system_clock|steady_clock|high_resolution_clock|clock_gettime|gettimeofday)\b"
               r"|\bstd::time\b|(?<![\w.>:])time\s*\(\s*(?:NULL|nullptr|0|&)"
               r"|#include <(?:chrono|ctime|time\.h|sys/time\.h)>",
    "a random device": r"\bstd::random_device\b|\bgetrandom\b|(?<![\w.>:])s?rand\s*\(|/dev/u?random",
    "a thread": r"\bstd::(?:jthread|thread|async|this_thread)\b|\bpthread_(?:create|self|t)\b"
                r"|#include <(?:thread|future)>",
    "a lock": r"\bstd::(?:\w*mutex|lock_guard|unique_lock|shared_lock|scoped_lock|call_once"
              r"|once_flag)\b|\bpthread_(?:mutex|rwlock|spin)(?:_\w+)?\b|\babsl::Mutex\w*"
              r"|\b(?:Shared)?Mutex(?:Lock)?\b|\b(?:Writer|Reader)Lock\b"
              r"|#include <(?:mutex|shared_mutex)>",
    "a file": r"\bstd::(?:[io]?fstream|filesystem|fopen)\b|(?<![\w.>:])f?open(?:at)?\s*\(\s*[\w\"]+"
              r"\s*,\s*O_|(?<![\w.>:])fopen\s*\(|(?<!\w)::(?:open|read|write|pread|pwrite|close|"
              r"fsync|fdatasync|unlink|rename|mkdir)\s*\("
              r"|#include <(?:fstream|filesystem|fcntl\.h|unistd\.h|sys/stat\.h)>",
}
WAIT = (r"\bstd::(?:condition_variable\w*|counting_semaphore|binary_semaphore|latch|barrier"
        r"|promise|future)\b|\bpthread_cond_\w*|#include <(?:condition_variable|semaphore|latch"
        r"|barrier)>")
WAIT_CALL = r"|(?:\.|->)wait(?:_for|_until)?\s*\("

TOKEN = re.compile(r"""//[^\n]*|/\*.*?\*/
                       |R"(?P<fence>[^\s()\\]*)\(.*?\)(?P=fence)"
                       |"(?:\\.|[^"\\\n])*"|(?<![0-9A-Za-z_])'(?:\\.|[^'\\\n])*'""",
                   re.S | re.X)


def blank(text):
    return re.sub(r"[^\n]", " ", text)


def without_comments(text):
    return TOKEN.sub(lambda m: blank(m[0]) if m[0].startswith(("//", "/*")) else m[0], text)


def code_only(text):
    """Without comments and the content of strings; every line stays where it is."""
    def replaced(match):
        line = text[text.rfind("\n", 0, match.start()) + 1:match.start()]
        return match[0] if line.lstrip().startswith("#include") else blank(match[0])
    return TOKEN.sub(replaced, text)


def line_of(text, at):
    return text.count("\n", 0, at) + 1


def stem(path):
    return path.rsplit(".", 1)[0]


def includes(text):
    """The (line, name) of each include."""
    for match in re.finditer(r'^[ \t]*#[ \t]*include[ \t]+[<"]([^>"]+)[>"]',
                             without_comments(text), flags=re.M):
        yield line_of(text, match.start(1)), match.group(1)


# ------------------------------------------------------------------------------ the rules


def include_rule(path, name, tree):
    """Why `path` may not include `name`; None when it may."""
    parts, first = path.split("/"), name.split("/")[0]
    if ".." in name.split("/"):
        return "an include is written from its root, without '..'"
    if parts[0] == "kernel":
        return kernel_include_rule(parts[1], name, first)
    if parts[0] == "plugins":
        if "/".join([*parts[:2], name]) in tree or "/".join([*parts[:-1], name]) in tree:
            return None
        if first in KERNEL_ROW:
            return "a plugin never includes the kernel"
        if f"plugins/{first}/CMakeLists.txt" in tree and first not in ("sdk", parts[1]):
            return "a plugin never includes another plugin"
    if parts[0] == "interfaces" and first != "quorate" and name not in ("stddef.h", "stdint.h"):
        return "the interfaces include stddef.h, stdint.h and each other"
    if parts[0] == "daemon" and first == "sdk" and name != "sdk/entry.h":
        return "the daemon knows of plugins only how they are linked in (sdk/entry.h)"
    return None


def kernel_include_rule(folder, name, first):
    row = KERNEL_ROW.get(folder)
    if row is None:
        return f"kernel/{folder} has no place in the row: give it one in tests/layout/layout.py"
    if ENGINES.match(name):
        return "the kernel knows no engine, no RPC library and no asio"
    if first in ("sdk", "plugins", "daemon") or name.startswith(("backend_", "transport_",
                                                                 "frontend_")):
        return "the kernel never includes a plugin"
    if first == folder:
        return None
    if folder == "raft" and (first in KERNEL_ROW or first in LEFT_OF_ALL) and first != "base":
        return "raft includes base and nothing else"
    if first in KERNEL_ROW:
        if KERNEL_ROW[first] == row:
            return f"{folder} and {first} are siblings: apply brings them together"
        if KERNEL_ROW[first] > row:
            return f"{first} lies to the right of {folder}"
    return None


def check_includes(path, text, tree):
    for line, name in includes(text):
        rule = include_rule(path, name, tree)
        if rule:
            yield line, "include", f"it includes {name}: {rule}"


def check_links(path, text, _tree):
    """quorate_kernel_library(wal PUBLIC quorate_base ...)"""
    text = re.sub(r"#[^\n]*", "", text)
    for match in re.finditer(r"quorate_kernel_library\(\s*(\w+)([^)]*)\)", text):
        folder = match.group(1)
        for other in re.findall(r"\bquorate_(\w+)", match.group(2)):
            rule = kernel_include_rule(folder, other + "/", other)
            if other in KERNEL_ROW and rule:
                yield line_of(text, match.start()), "link", f"it links quorate_{other}: {rule}"


def check_outside(path, text, _tree):
    if path.startswith("kernel/env/"):
        return
    code = code_only(text)
    for thing, pattern in OUTSIDE.items():
        if thing == "a lock" and stem(path) in SHARED_CLASSES:
            continue
        for match in re.finditer(pattern, code):
            yield (line_of(code, match.start()), "outside",
                   f"it names {thing} ({match[0].strip()}): only kernel/env may, and for a lock the "
                   "shared classes that tests/layout/layout.py lists")


def check_waits(path, text, _tree):
    if stem(path) in WAITING:
        return
    code = code_only(text)
    pattern = WAIT if stem(path) in WAITING_CALLERS else WAIT + WAIT_CALL
    for match in re.finditer(pattern, code):
        yield (line_of(code, match.start()), "wait",
               f"it waits ({match[0].strip()}): a loop never waits; what it cannot go on with stays "
               "in its mailbox")


def end_of(pair, code, at):
    """Behind the bracket that closes the one at `at`; pair: "<>" or "()"."""
    depth = 0
    for i in range(at, len(code)):
        depth += {pair[0]: 1, pair[1]: -1}.get(code[i], 0)
        if depth == 0:
            return i + 1
    return len(code)


def unordered_names(code):
    """Variables, members, functions and aliases whose type is an unordered container."""
    kinds = (r"(?:std::unordered_(?:multi)?(?:map|set)|absl::(?:flat|node)_hash_(?:map|set)"
             r"|boost::unordered\w*)")
    names, aliases = set(), set()
    for match in re.finditer(kinds + r"\s*<", code):
        behind = code[end_of("<>", code, match.end() - 1):]
        alias = re.search(r"\busing\s+(\w+)\s*=\s*(?:\w+\s+)?$", code[:match.start()])
        if alias:
            aliases.add(alias.group(1))
        named = re.match(r"\s*(?:const\b)?\s*[&*]?\s*(\w+)", behind)
        if named and not alias:
            names.add(named.group(1))
    for alias in aliases:
        names.update(re.findall(rf"\b{alias}\s*[&*]?\s+(\w+)\s*[;={{,)(]", code))
    return names


def check_unordered(path, text, tree):
    parts = path.split("/")
    if len(parts) < 3 or parts[1] not in DETERMINISTIC:
        return
    code, lines = code_only(text), text.splitlines()
    names = unordered_names(code)
    for other in tree:
        if other.endswith(".h") and other.startswith(f"kernel/{parts[1]}/"):
            names |= unordered_names(code_only(tree[other]))
    for match in re.finditer(r"\bfor\s*\(", code):
        head = code[match.end():end_of("()", code, match.end() - 1) - 1].split(";")[-1]
        ranged = re.search(r"(?<!:):(?!:)(.*)", head, flags=re.S)
        if not ranged:
            continue
        words = re.findall(r"\w+", re.sub(r"\([^()]*\)\s*$", "", ranged.group(1)))
        line = line_of(code, match.start())
        excused = any(ORDER_MARK in lines[i] for i in (line - 1, line - 2) if 0 <= i < len(lines))
        if words and words[-1] in names and not excused:
            yield (line, "unordered",
                   f"it walks over {words[-1]}, an unordered container: the order differs from "
                   f"process to process; sort, or say above it '// {ORDER_MARK} why'")


def check_licence(_path, text, _tree):
    if "SPDX-License-Identifier: Apache-2.0" not in "\n".join(text.splitlines()[:3]):
        yield 1, "licence", "it has no line 'SPDX-License-Identifier: Apache-2.0' at its top"


def check_once(_path, text, _tree):
    if not re.search(r"^#pragma once$", without_comments(text), flags=re.M):
        yield 1, "once", "it has no #pragma once"


# ------------------------------------------------------------------------------ the tree

SOURCE = (".h", ".cc", ".c", ".cpp", ".hpp")
LICENSED = (*SOURCE, ".py", ".sh", ".cmake", ".capnp", ".proto", "CMakeLists.txt")
FOLDERS = (".ci", "bench", "cmake", "daemon", "docs", "interfaces", "kernel", "plugins", "schemas",
           "scripts", "tests")


def checks_for(path, text):
    found = []
    if path.endswith(SOURCE):
        found.append(check_includes)
        if path.startswith("kernel/"):
            found += [check_outside, check_waits, check_unordered]
        if path.endswith(".h") and path.startswith(("kernel/", "plugins/", "daemon/")):
            found.append(check_once)
    if path.startswith("kernel/") and path.endswith("CMakeLists.txt"):
        found.append(check_links)
    if path.endswith(LICENSED) or text.startswith("#!"):
        found.append(check_licence)
    return found


def problems(tree):
    """tree: {path: text}. Sentences, each with file, line and rule."""
    found = []
    for path, text in sorted(tree.items()):
        for check in checks_for(path, text):
            found += [f"{path}:{line}: {sentence} [{rule}]"
                      for line, rule, sentence in check(path, text, tree)]
    return found


def read_tree(root):
    tree = {}
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                tree[path.relative_to(root).as_posix()] = path.read_text(errors="replace")
    for path in root.glob("CMakeLists.txt"):
        tree[path.name] = path.read_text()
    return tree


def main():
    tree = read_tree(pathlib.Path(sys.argv[1]))
    found = problems(tree)
    if not any(path.startswith("kernel/base/") for path in tree):
        found.append(f"{sys.argv[1]} is not the root of the source")
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
