#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""etcdctl member ..., move-leader and endpoint ... --cluster against three members of ours and
three of Debian's etcd-server, compared as compare.py does for one. Member ids come from addresses,
so what etcd sorts by id is sorted here by name.
"""

import json
import re

from etcd3.etcdrpc import rpc_pb2

from cluster import Scratch, TestFailed, arguments, etcdctl, free_port, run, wait_until
from clusters import CALM_SECONDS, POLL_SECONDS, Cluster, cluster_arguments
from compare import differences
from session import Session

CALLS_MIN = 60
HEALTH_SECONDS = 5  # members must have known each other for so long before a strict change

# (pattern of the call, pattern of the field's path, reason, section of docs/compatibility.md).
INTENDED = [
    (r"endpoint status.*", r"out.*", "names 3.6.14 as its version", "Versions"),
    (r".* on a learner", r"err\.\d+", "refuses with FailedPrecondition, as 3.5 and later do",
     "Since 3.5"),
    (r"MemberUpdate to nonsense", r".*", "refuses what MemberAdd refuses", "Members"),
]


class Calls:
    """The calls, against one cluster."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.session = None
        self.first, self.second, self.third = cluster.members

    def prepare(self):
        """m1 leads, and all have met; from here on everything has the same order everywhere."""
        self.lead(self.first)
        self.session = Session(self.first)
        for member in self.cluster.members:
            self.name(member, self.cluster.member_id(member))
        # A refusal for want of health passes; this one is for good.
        wait_until("members knowing each other", lambda: "unhealthy" not in etcdctl(
            self.first, "member", "add", "m2", f"--peer-urls={self.second.peer_url}")[2],
                   CALM_SECONDS, POLL_SECONDS)

    def lead(self, member):
        if self.cluster.leader() is not member:
            self.cluster.ctl("move-leader", f"{self.cluster.member_id(member):x}")
            wait_until(f"{member.name} leading", lambda: self.cluster.leader() is member,
                       CALM_SECONDS, POLL_SECONDS)

    def name(self, member, number):
        self.learn_id(member.name, number)
        self.session.learn(member.endpoint, f"<{member.name}>")
        self.session.learn(member.peer_url.removeprefix("http://"), f"<{member.name} peer>")

    def learn_id(self, name, number):
        self.session.learn(f"{number:x}", f"<{name} id>")
        self.session.learn(str(number), f"<{name} id>")

    def number(self, member):
        return f"{self.cluster.member_id(member):x}"

    def do(self, *args, label=None, member=None, learn=None):
        """One etcdctl call; its lines are compared as a set."""
        code, out, err = etcdctl(member or self.first, *args)
        if learn:
            added = re.search(r"Member\s+([0-9a-f]+) added", out)
            if added:
                self.learn_id(learn, int(added[1], 16))
        outcome = Session.ctl_outcome(code, out, err)
        outcome["out"] = lines_of(out)
        # How often etcdctl tried again is a matter of time.
        outcome["err"] = sorted({timeless(line) for line in outcome["err"]})
        self.session.record(label or " ".join(args), outcome)
        # Only after the words have been put in is the order that of names.
        sort_lines(self.session.steps[-1][1])
        return out

    def all_calls(self):
        self.prepare()
        self.lists()
        self.endpoints()
        self.refusals()
        self.learner()
        self.update()
        self.leaders()
        self.grow_and_shrink()
        self.one_dead()

    def lists(self):
        for form in ("simple", "json", "table", "fields"):
            self.do("member", "list", "-w", form)
        self.do("member", "list", member=self.second, label="member list on a follower")

    def endpoints(self):
        self.cluster.ctl("put", "a", "1")
        self.cluster.wait_same_revision()
        for verb in ("health", "status", "hashkv"):
            for form in ("simple", "json", "table"):
                if (verb, form) != ("status", "table"):
                    self.do("endpoint", verb, "--cluster", "-w", form)
        self.do("endpoint", "hashkv", "--cluster", "--rev", "2")

    def refusals(self):
        taken = self.second.peer_url
        self.do("member", "add", "x", f"--peer-urls={taken}", label="add a known address")
        self.do("member", "add", "x", f"--peer-urls={taken}", "--learner",
                label="add a known address as a learner")
        self.do("member", "add", "x", label="add without an address")
        self.do("member", "add", "x", "--peer-urls=nourl")
        for verb in ("promote", "remove"):
            self.do("member", verb, "1234")
            self.do("member", verb, "zz")
        self.do("member", "update", "1234", "--peer-urls=http://127.0.0.1:1")
        self.do("member", "update", "1234")
        self.do("member", "promote", self.number(self.second), label="promote a voter")
        self.do("member", "update", self.number(self.second), f"--peer-urls={self.third.peer_url}",
                label="update to another's address")
        rpc = self.session.cluster
        self.session.rpc("MemberAdd of no address", rpc.MemberAdd,
                         rpc_pb2.MemberAddRequest(peerURLs=[]))
        self.session.rpc("MemberAdd of nonsense", rpc.MemberAdd,
                         rpc_pb2.MemberAddRequest(peerURLs=["nonsense"]))
        self.session.rpc("MemberAdd of a path", rpc.MemberAdd,
                         rpc_pb2.MemberAddRequest(peerURLs=["http://127.0.0.1:1/path"]))
        self.session.rpc("MemberAdd of a known address", rpc.MemberAdd,
                         rpc_pb2.MemberAddRequest(peerURLs=[taken]))
        self.session.rpc("MemberUpdate of nobody", rpc.MemberUpdate,
                         rpc_pb2.MemberUpdateRequest(ID=9, peerURLs=["http://127.0.0.1:1"]))
        self.session.rpc("MemberUpdate to nonsense", rpc.MemberUpdate,
                         rpc_pb2.MemberUpdateRequest(ID=9, peerURLs=["nonsense"]))

    def learner(self):
        """One that never starts."""
        url, other = self.new_address("new"), self.new_address("newer")
        out = self.do("member", "add", "new", "--learner", f"--peer-urls={url}",
                      label="add a learner", learn="new")
        number = re.search(r"Member\s+([0-9a-f]+) added", out)
        if not number:
            raise TestFailed(f"a learner was not added: {out}")
        self.do("member", "add", "newer", "--learner", f"--peer-urls={other}",
                label="add a second learner")
        for form in ("simple", "json"):
            self.do("member", "list", "-w", form, label=f"list with a learner, {form}")
        self.do("member", "promote", number[1], label="promote a learner that lags")
        self.do("move-leader", number[1], label="move-leader to a learner")
        self.do("member", "remove", number[1], label="remove a learner")
        self.do("member", "remove", number[1], label="remove it again")
        self.do("member", "promote", number[1], label="promote one that was removed")
        self.do("member", "update", number[1], f"--peer-urls={url}",
                label="update one that was removed")

    def new_address(self, name):
        address = f"127.0.0.1:{free_port()}"
        self.session.learn(address, f"<{name} peer>")
        return f"http://{address}"

    def update(self):
        url = self.new_address("moved")
        number = self.number(self.third)
        self.do("member", "update", number, f"--peer-urls={url}", label="update an address")
        self.do("member", "list", label="list after the update")
        self.do("member", "update", number, f"--peer-urls={self.third.peer_url}",
                label="update back")
        self.do("member", "list", label="list after the second update")

    def leaders(self):
        self.do("move-leader", self.number(self.third), member=self.second,
                label="move-leader told to a follower")
        self.do("move-leader", "1234")
        self.do("move-leader", "zz")
        self.do("move-leader", self.number(self.first), label="move-leader to the leader")
        self.do("move-leader", self.number(self.second), label="move-leader")
        wait_until("m2 leading", lambda: self.cluster.leader() is self.second, CALM_SECONDS,
                   POLL_SECONDS)
        self.do("endpoint", "status", "--cluster", label="endpoint status after move-leader")
        self.lead(self.first)

    def grow_and_shrink(self):
        """A fourth member comes as a learner, is promoted, and goes."""
        member = self.cluster.add(self.first.engine, learner=True)
        number = self.cluster.member_id(member)
        self.name(member, number)
        self.cluster.wait_caught_up(member, 0)
        self.published(4)
        self.do("member", "list", label="list with a running learner")
        self.do("put", "b", "1", member=member, label="put on a learner")
        self.do("get", "a", member=member, label="get on a learner")
        self.do("get", "a", "--consistency=s", member=member, label="serializable get on a learner")
        self.do("member", "list", member=member, label="list on a learner")
        self.cluster.ctl("member", "promote", f"{number:x}", member=self.first)
        self.do("member", "promote", f"{number:x}", label="promote it again")
        self.do("member", "list", label="list with four voters")
        self.cluster.wait_healthy()
        self.do("endpoint", "health", "--cluster", label="endpoint health of four")
        self.lead(self.first)
        self.do("member", "remove", f"{number:x}", label="remove the fourth")
        self.cluster.members.remove(member)
        self.cluster.gone.append(member)
        self.cluster.check_gone()
        self.do("member", "list", label="list of three again")

    def published(self, count):
        """All members are listed with their client addresses."""
        wait_until("members making their addresses known", lambda: sum(
            bool(one.get("clientURLs")) for one in self.cluster.member_list().values()) == count,
                   CALM_SECONDS, POLL_SECONDS)

    def one_dead(self):
        self.third.kill()
        self.lead(self.first)
        self.do("endpoint", "health", "--cluster", label="endpoint health with one dead")
        self.do("endpoint", "status", "--cluster", label="endpoint status with one dead")
        self.do("member", "add", "x", f"--peer-urls={self.new_address('x')}",
                label="add with one dead")
        self.do("member", "remove", self.number(self.second), label="remove a healthy one")
        self.do("put", "c", "1", label="put with one dead")


def timeless(text):
    """Without times, sizes and log positions; widths, which depend on the ids, are one space."""
    text = re.sub(r"(took = |\"took\":\"|\| *)[0-9.]+[µm]?s", r"\1<time>", text)
    text = re.sub(r"[0-9.]+ [kM]B", "<size>", text)
    text = re.sub(r"(, (?:true|false), (?:true|false)), \d+, \d+, \d+,", r"\1, <raft>,", text)
    return re.sub(" +", " ", text)


def lines_of(out):
    """What etcdctl printed, as lines whose order does not matter."""
    text = timeless(out)
    if text.startswith(("[", "{")):
        return leaves(json.loads(text))
    # The members of the environment variable stand in no order.
    text = re.sub(r'(?<=ETCD_INITIAL_CLUSTER=")[^"]*',
                  lambda found: "\n".join(["", *found[0].split(","), ""]), text)
    return [line for line in text.splitlines() if not line.startswith("+-")]


def leaves(value, path=""):
    """Lines of a JSON value; list items are told apart by what they hold, not by their place."""
    if isinstance(value, dict):
        children = [(f"{path}.{key}", child) for key, child in value.items()]
    elif isinstance(value, list):
        return [" ".join(sorted(leaves(child, path))) for child in value]
    else:
        if path.endswith(("raft_term", "raftTerm", "raftIndex", "raftAppliedIndex", "dbSize",
                          "dbSizeInUse")):
            value = "<count>" if value else value
        return [f"{path}={value}"]
    return [line for name, child in children for line in leaves(child, name)]


def sort_lines(outcome):
    for name in ("out", "err"):
        outcome[name].sort()


def outcome_of(engines, build, show):
    with Scratch() as scratch, Cluster(scratch, engines, build) as cluster:
        cluster.start()
        calls = Calls(cluster)
        try:
            calls.published(3)
            calls.all_calls()
        except TestFailed as failed:
            steps = calls.session.steps if calls.session else []
            last = steps[-1][0] if steps else "nothing"
            raise TestFailed(f"{engines}, after '{last}': {failed}") from None
        finally:
            if calls.session:
                calls.session.close()
        if show:
            for label, outcome in calls.session.steps:
                print(f"{label}\n    {outcome}")
        return calls.session.steps


def judge(expected, actual, used):
    """Prints what differs without being meant to; the number of such fields."""
    wrong = 0
    for label, path, left, right in differences(expected, actual):
        entry = next((one for one in INTENDED
                      if re.fullmatch(one[0], label) and re.fullmatch(one[1], path)), None)
        if entry:
            used.add(entry)
            continue
        wrong += 1
        print(f"{label}: {path or '(outcome)'}\n    etcd {left!r}\n    ours {right!r}")
    return wrong


def main():
    parser = arguments(__doc__)
    cluster_arguments(parser)
    parser.add_argument("--show", action="store_true", help="print every outcome")
    given = parser.parse_args()
    expected = outcome_of(["etcd"] * 3, given.build, given.show)
    if len(expected) < CALLS_MIN:
        raise TestFailed(f"only {len(expected)} calls; {CALLS_MIN} is the least")
    engines = ["etcd"] * 3 if given.etcd else given.engines.split(",")
    used = set()
    wrong = judge(expected, outcome_of(engines, given.build, given.show), used)
    print(f"{len(expected)} calls, {wrong} unintended differences")
    if wrong:
        raise TestFailed(f"{wrong} fields differ from etcd's")
    unused = [entry for entry in INTENDED if entry not in used]
    if unused and not given.etcd:
        raise TestFailed(f"intended differences that no longer show; remove them: {unused}")


if __name__ == "__main__":
    run(main)
