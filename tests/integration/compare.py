#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The same calls against our server, on each engine, and against Debian's etcd-server, compared
field by field. Differences that are meant stand in INTENDED, each with its reason and its section
of docs/compatibility.md; any other difference fails the test, and so does an entry that no longer
applies.
"""

import fnmatch
import sys

import calls
from cluster import ENGINES, Member, Scratch, TestFailed, arguments, run
from session import Session

CALLS_MIN = 150
INTENDED_MAX = 25

# (label of the call, path of the field, reason, section); the first two are shell patterns.
INTENDED = [
    ("etcdctl endpoint status -w *", "out.*", "names 3.6.14 as its version", "Versions"),
    ("Status", "version", "names 3.6.14 as its version", "Versions"),
    ("GET /version", "body", "names 3.6.14, and the storage version as 3.6 does", "Versions"),
    ("GET /health", "body", "gives a reason, as 3.5 and later do", "Since 3.5"),
    ("Alarm GET", "*", "the reply has a header, as 3.5 and later give it", "Since 3.5"),
    ("refused: malformed protobuf", "details", "the text behind the colon is the decoder's own",
     "Texts of libraries"),
]


def outcome_of(engine, build, before=None):
    """The steps of all calls against a fresh member; before: is given the session first."""
    with Scratch() as scratch, Member(scratch, engine, build).start() as member:
        session = Session(member)
        try:
            if before:
                before(session)
            calls.all_calls(session)
        except TestFailed as failed:
            last = session.steps[-1][0] if session.steps else "nothing"
            raise TestFailed(f"{engine}, after '{last}': {failed}; the member's log ends:\n"
                             f"{member.log_tail()}") from None
        finally:
            session.close()
        return session.steps


def flat(value, path=""):
    """The leaves of dicts and lists, by path."""
    if isinstance(value, dict):
        children = value.items()
    elif isinstance(value, list):
        children = enumerate(value)
    else:
        yield path, value
        return
    yield path + "#", len(value)
    for key, child in children:
        yield from flat(child, f"{path}.{key}" if path else str(key))


def differences(expected, actual):
    """(label, path, expected, actual) of every field that differs."""
    if len(expected) != len(actual):
        raise TestFailed(f"one run made {len(expected)} calls, the other {len(actual)}")
    for (label, left), (other, right) in zip(expected, actual):
        # A call that depends on earlier answers (a compaction at the revision they gave) differs too.
        if label != other:
            yield label, "(the call)", label, other
            continue
        left, right = dict(flat(left)), dict(flat(right))
        for path in sorted(left.keys() | right.keys()):
            if left.get(path) != right.get(path):
                yield label, path, left.get(path), right.get(path)


def intended_entry(label, path):
    for entry in INTENDED:
        if fnmatch.fnmatchcase(label, entry[0]) and fnmatch.fnmatchcase(path, entry[1]):
            return entry
    return None


def judge(engine, expected, actual, used):
    """Prints what differs without being meant to; the number of such fields."""
    wrong = 0
    for label, path, left, right in differences(expected, actual):
        entry = intended_entry(label, path)
        if entry:
            used.add(entry)
            continue
        wrong += 1
        print(f"{engine}: {label}: {path or '(outcome)'}\n    etcd {left!r}\n    ours {right!r}")
    return wrong


def judge_the_judge(expected, build):
    """etcd equals itself, and a store that was written to before does not."""
    if judge("etcd", expected, outcome_of("etcd", build), set()):
        raise TestFailed("etcd differs from itself; a normalisation is missing")
    written = outcome_of("etcd", build, lambda s: s.client.put("a", "earlier"))
    found = sum(1 for _ in differences(expected, written))
    print(f"etcd, with one earlier write: {found} differences")
    if not found:
        raise TestFailed("an earlier write went unnoticed; the comparison compares nothing")


def main():
    parser = arguments(__doc__)
    parser.add_argument("--self", action="store_true",
                        help="judge the comparison itself, with etcd alone")
    parser.add_argument("--show", action="store_true", help="print every outcome of etcd")
    given = parser.parse_args()
    if len(INTENDED) > INTENDED_MAX:
        raise TestFailed(f"{len(INTENDED)} intended differences; {INTENDED_MAX} is the most")
    expected = outcome_of("etcd", given.build)
    print(f"etcd: {len(expected)} calls")
    if given.show:
        for label, outcome in expected:
            print(f"{label}\n    {outcome}")
    if len(expected) < CALLS_MIN:
        raise TestFailed(f"only {len(expected)} calls; {CALLS_MIN} is the least")

    if given.self:
        judge_the_judge(expected, given.build)
        return
    wrong, used = 0, set()
    for engine in given.engine or ENGINES:
        count = judge(engine, expected, outcome_of(engine, given.build), used)
        print(f"{engine}: {count} unintended differences")
        wrong += count
    if wrong:
        raise TestFailed(f"{wrong} fields differ from etcd's")
    unused = [entry for entry in INTENDED if entry not in used]
    if unused:
        raise TestFailed(f"intended differences that no longer show; remove them: {unused}")


if __name__ == "__main__":
    sys.exit(run(main))
