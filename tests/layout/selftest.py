# SPDX-License-Identifier: Apache-2.0
"""Doctored snippets that the layout test must refuse, and good ones that it must not."""
import unittest

import layout

LICENCE = "// SPDX-License-Identifier: Apache-2.0\n"


def broken(path, body, others=None):
    """The rules that a file with this body breaks, with their lines (the licence is line 1)."""
    text = LICENCE + ("#pragma once\n" if path.endswith(".h") else "\n") + body
    tree = {path: text, **(others or {})}
    return [(int(sentence.split(":")[1]), sentence.rsplit("[", 1)[1].rstrip("]"))
            for sentence in layout.problems(tree) if sentence.startswith(path + ":")]


class Includes(unittest.TestCase):
    def refuses(self, path, name, others=None):
        self.assertEqual(broken(path, f'#include "{name}"\n', others), [(3, "include")], path)

    def accepts(self, path, name, others=None):
        self.assertEqual(broken(path, f'#include "{name}"\n', others), [], path)

    def test_an_include_points_to_the_left(self):
        row = list(layout.KERNEL_ROW)
        for i, folder in enumerate(row):
            for other in row[i + 1:]:
                self.refuses(f"kernel/{folder}/x.cc", f"{other}/y.h")
        self.accepts("kernel/server/x.cc", "apply/chain.h")
        self.accepts("kernel/watch/x.cc", "mvcc/index.h")
        self.accepts("kernel/wal/x.cc", "raft/types.h")
        self.accepts("kernel/wal/x.cc", "wal/segment.h")
        self.accepts("kernel/plugin/x.cc", "quorate/plugin.h")
        self.accepts("kernel/apply/x.cc", "schemas/api.capnp.h")

    def test_siblings_never_meet(self):
        siblings = ["mvcc", "lease", "auth", "cluster"]
        for folder in siblings:
            for other in siblings:
                if folder != other:
                    self.refuses(f"kernel/{folder}/x.h", f"{other}/y.h")

    def test_raft_includes_base_alone(self):
        for name in ["env/env.h", "quorate/abi.h", "schemas/api.capnp.h"]:
            self.refuses("kernel/raft/x.cc", name)
        self.accepts("kernel/raft/x.cc", "base/check.h")
        self.accepts("kernel/raft/x.cc", "raft/log.h")

    def test_the_kernel_knows_no_plugin_and_no_engine(self):
        for name in ["sdk/entry.h", "plugins/sdk/entry.h", "backend_memory/engine.h",
                     "lmdb.h", "rocksdb/db.h", "grpcpp/server.h", "google/protobuf/message.h",
                     "boost/asio.hpp", "boost/asio/post.hpp", "nghttp2/nghttp2.h"]:
            self.refuses("kernel/storage/x.cc", name)
        self.accepts("kernel/plugin/x.cc", "boost/dll/shared_library.hpp")

    def test_angle_brackets_are_no_way_round(self):
        self.assertEqual(broken("kernel/base/x.cc", "#include <env/env.h>\n"), [(3, "include")])

    def test_dots_are_no_way_round(self):
        self.refuses("kernel/base/x.cc", "../env/env.h")

    def test_an_unknown_folder_of_the_kernel_needs_a_place(self):
        self.refuses("kernel/magic/x.cc", "base/check.h")

    def test_a_plugin_includes_neither_kernel_nor_another_plugin(self):
        others = {"plugins/backend_lmdb/CMakeLists.txt": "# SPDX-License-Identifier: Apache-2.0\n",
                  "plugins/frontend_etcd/watch/stream.h": LICENCE + "#pragma once\n"}
        self.refuses("plugins/frontend_etcd/x.cc", "base/bytes.h", others)
        self.refuses("plugins/frontend_etcd/x.cc", "watch/hub.h", others)
        self.refuses("plugins/frontend_etcd/x.cc", "backend_lmdb/engine.h", others)
        self.accepts("plugins/frontend_etcd/x.cc", "watch/stream.h", others)
        self.accepts("plugins/frontend_etcd/x.cc", "sdk/entry.h", others)
        self.accepts("plugins/backend_lmdb/x.cc", "lmdb.h", others)

    def test_the_interfaces_include_nothing_else(self):
        text = LICENCE + "\n#include <stdio.h>\n#include <stdint.h>\n#include \"quorate/abi.h\"\n"
        found = layout.problems({"interfaces/quorate/x.h": text})
        self.assertEqual(len(found), 1)
        self.assertIn("interfaces/quorate/x.h:3: it includes stdio.h", found[0])

    def test_the_daemon_knows_of_plugins_only_how_they_are_linked_in(self):
        self.refuses("daemon/x.cc", "sdk/options.h")
        self.accepts("daemon/x.cc", "sdk/entry.h")
        self.accepts("daemon/x.cc", "server/server.h")

    def test_a_comment_is_no_include(self):
        self.assertEqual(broken("kernel/base/x.cc", '// #include "env/env.h"\n/*\n'
                                                    '#include "env/env.h"\n*/\n'), [])


class Links(unittest.TestCase):
    def linked(self, line):
        path = "kernel/x/CMakeLists.txt"
        tree = {path: "# SPDX-License-Identifier: Apache-2.0\n" + line}
        return [sentence.split(": ")[1] for sentence in layout.problems(tree)]

    def test_a_link_to_the_right_or_to_a_sibling_is_refused(self):
        self.assertEqual(self.linked("quorate_kernel_library(wal PUBLIC quorate_base\n"
                                     "                       PRIVATE quorate_mvcc)"),
                         ["it links quorate_mvcc"])
        self.assertEqual(self.linked("quorate_kernel_library(lease PUBLIC quorate_auth)"),
                         ["it links quorate_auth"])
        self.assertEqual(self.linked("quorate_kernel_library(raft PUBLIC quorate_env)"),
                         ["it links quorate_env"])

    def test_a_link_to_the_left_is_fine(self):
        self.assertEqual(self.linked("quorate_kernel_library(apply PUBLIC quorate_mvcc\n"
                                     "  quorate_schemas PRIVATE quorate_base)"), [])


class Outside(unittest.TestCase):
    BAD = ["auto t = std::chrono::steady_clock::now();", "clock_gettime(CLOCK_REALTIME, &t);",
           "long t = time(nullptr);", "std::time(&t);", "#include <chrono>",
           "std::random_device device;", "int r = rand();",
           "std::thread t;", "std::this_thread::yield();", "#include <thread>",
           "std::mutex m;", "std::lock_guard lock(m);", "std::shared_mutex m;",
           "pthread_rwlock_t l;", "#include <mutex>",
           "std::ifstream in;", "std::filesystem::path p;", 'FILE* f = fopen("a", "r");',
           "int fd = ::open(path, 0);", "::fdatasync(fd);", "int fd = open(path, O_RDONLY);",
           "#include <unistd.h>", "#include <filesystem>"]
    FINE = ["// std::mutex, said in words", 'log("std::mutex and time(nullptr)");',
            "/* ::open(path) */", "clock.now_ns();", "uint64_t rand_seed = random.next();",
            "file->open(path, mode);", "files.write(0, parts);", "deadline_time(0);",
            "int64_t big = 10'000; std::string s = \"std::thread\"; big = 1'0;",
            'auto s = R"(std::mutex m; " )";', "int x = '\"'; // std::mutex \"",
            "pthread_rwlockish();"]

    def test_each_outside_thing_is_refused(self):
        for line in self.BAD:
            self.assertEqual(broken("kernel/server/x.cc", f"{line}\n"), [(3, "outside")], line)

    def test_what_only_looks_like_it_is_not(self):
        for line in self.FINE:
            self.assertEqual(broken("kernel/server/x.cc", f"{line}\n"), [], line)

    def test_env_may(self):
        for line in self.BAD:
            self.assertEqual(broken("kernel/env/posix_env.cc", f"{line}\n"), [], line)

    def test_a_shared_class_may_lock_but_do_nothing_else_of_it(self):
        for path in layout.SHARED_CLASSES:
            self.assertEqual(broken(path + ".h", "std::mutex mutex_;\n"), [], path)
            self.assertEqual(broken(path + ".cc", "std::thread t;\n"), [(3, "outside")], path)


class Waits(unittest.TestCase):
    def test_nobody_waits(self):
        for path in ["kernel/server/raft_loop.cc", "kernel/env/loop.h", "kernel/mvcc/pins.h"]:
            for line in ["std::condition_variable wake_;", "std::binary_semaphore s{0};",
                         "pthread_cond_wait(&c, &m);", "std::promise<int> p;", "flag->wait(0);",
                         "#include <condition_variable>"]:
                self.assertEqual(broken(path, f"{line}\n"), [(3, "wait")], path + line)

    def test_but_the_host_for_its_loops(self):
        self.assertEqual(broken("kernel/server/server.cc", "stopped_.wait();\n"), [])
        self.assertEqual(broken("kernel/server/raft_loop.cc", "stopped_.wait();\n"), [(3, "wait")])
        self.assertEqual(broken("kernel/server/raft_loop.cc", "stopped_.open();\n"), [])

    def test_but_the_threads(self):
        self.assertEqual(broken("kernel/env/thread_executor.cc", "std::condition_variable c;\n"), [])


class Unordered(unittest.TestCase):
    MEMBER = {"kernel/lease/lessor.h": LICENCE + "#pragma once\nstruct L {\n  std::unordered_map<"
                                                 "int, std::vector<std::pair<int, int>>> leases_;\n"
                                                 "};\n"}

    def test_a_walk_over_a_local_is_refused(self):
        for line in ["std::unordered_set<int> s; for (int i : s) use(i);",
                     "std::unordered_map<int, X<int>> s; for (const auto& [k, v] : s) use(k);",
                     "const absl::flat_hash_map<K, V>& s = f(); for (auto& i : s) { use(i); }",
                     "using Table = std::unordered_map<int, int>; Table s; for (auto i : s) u(i);",
                     "std::unordered_set<int> s; for (int n = 0; int i : s) use(i);"]:
            self.assertEqual(broken("kernel/apply/x.cc", f"{line}\n"), [(3, "unordered")], line)

    def test_a_walk_over_a_member_of_the_folder_is_refused(self):
        for line in ["for (auto& [id, lease] : leases_) use(id);",
                     "for (auto& entry : this->leases_)\n  use(entry);",
                     "for (const std::pair<const int, int>& e : lessor.leases_) use(e);"]:
            self.assertEqual(broken("kernel/lease/lessor.cc", f"{line}\n", self.MEMBER),
                             [(3, "unordered")], line)

    def test_a_reason_excuses_it(self):
        body = "// order does not show: a sum\nfor (auto& [id, lease] : leases_) sum += id;\n"
        self.assertEqual(broken("kernel/lease/lessor.cc", body, self.MEMBER), [])

    def test_ordered_containers_and_look_ups_are_fine(self):
        for line in ["std::map<int, int> m; for (auto& e : m) use(e);",
                     "std::unordered_map<int, int> m; for (int i : keys) use(m[i]);",
                     "std::unordered_map<int, int> m; for (size_t i = 0; i < m.size(); ++i) f();",
                     "for (auto& e : leases_.find(3)->second) use(e);"]:
            self.assertEqual(broken("kernel/lease/x.cc", f"{line}\n", self.MEMBER), [], line)

    def test_other_folders_may(self):
        line = "std::unordered_set<int> s; for (int i : s) use(i);\n"
        self.assertEqual(broken("kernel/plugin/x.cc", line), [])


class Files(unittest.TestCase):
    def test_a_file_without_its_licence_line_is_refused(self):
        for path in ["kernel/base/x.cc", "plugins/x/x.h", "tests/x.py", "schemas/x.capnp",
                     "cmake/x.cmake", "kernel/base/CMakeLists.txt", "interfaces/quorate/x.h"]:
            found = layout.problems({path: "#pragma once\n"})
            self.assertEqual(len(found), 1, path)
            self.assertTrue(found[0].startswith(f"{path}:1:") and found[0].endswith("[licence]"))
        self.assertEqual(len(layout.problems({"scripts/run": "#!/bin/sh\necho\n"})), 1)
        self.assertEqual(layout.problems({"tests/golden.txt": "1 2 3\n"}), [])

    def test_a_header_without_pragma_once_is_refused(self):
        for path in ["kernel/base/x.h", "plugins/sdk/x.h", "daemon/x.h"]:
            self.assertEqual(len(layout.problems({path: LICENCE + "// #pragma once\n"})), 1, path)
        self.assertEqual(layout.problems({"interfaces/quorate/x.h": LICENCE}), [])

    def test_a_sentence_names_file_line_and_rule(self):
        found = layout.problems({"kernel/raft/x.cc": LICENCE + '\n\n#include "env/env.h"\n'})
        self.assertEqual(found, ["kernel/raft/x.cc:4: it includes env/env.h: raft includes base and "
                                 "nothing else [include]"])


if __name__ == "__main__":
    unittest.main()
