// SPDX-License-Identifier: Apache-2.0
#include "backend_lmdb/verify.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "backend_lmdb/record.h"
#include "sdk/crc32c.h"
#include "sdk/engine_directory.h"
#include "sdk/error.h"

namespace quorate::backend_lmdb {
namespace {

// The layout of LMDB 0.9 on a 64-bit little-endian machine.
constexpr uint32_t kMagic = 0xbeefc0de;
constexpr uint32_t kDataVersion = 1;
constexpr uint64_t kNoPage = ~uint64_t{0};
constexpr uint64_t kHeadPages = 2;
constexpr uint16_t kDepthMax = 32;
constexpr size_t kPageHeaderSize = 16;
constexpr size_t kNodeHeaderSize = 8;
constexpr uint16_t kBranchPage = 0x01, kLeafPage = 0x02, kOverflowPage = 0x04, kMetaPage = 0x08;
constexpr uint16_t kBigData = 0x01, kSubDatabase = 0x02;
constexpr uint16_t kIntegerKeys = 0x08;

template <class T>
T get(std::string_view bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

// A tree's head, MDB_db.
struct TreeHead {
  static constexpr size_t kSize = 48;
  uint32_t pad;
  uint16_t flags, depth;
  uint64_t branch_pages, leaf_pages, overflow_pages, entries, root;

  static TreeHead read(std::string_view bytes, size_t at = 0) {
    return {get<uint32_t>(bytes, at),      get<uint16_t>(bytes, at + 4),
            get<uint16_t>(bytes, at + 6),  get<uint64_t>(bytes, at + 8),
            get<uint64_t>(bytes, at + 16), get<uint64_t>(bytes, at + 24),
            get<uint64_t>(bytes, at + 32), get<uint64_t>(bytes, at + 40)};
  }
};

// A page 0 or 1, MDB_meta.
struct FileHead {
  static constexpr size_t kSize = kPageHeaderSize + 24 + 2 * TreeHead::kSize + 16;
  TreeHead free_list, names;
  uint64_t last_page, commit;
};

struct Node {
  uint16_t flags;
  std::string_view key;
  uint64_t child;         // of a branch
  std::string_view data;  // of a leaf; with kBigData the number of the first overflow page
  uint32_t data_size;
  size_t room;  // what it takes up in its page
};

struct Page {
  std::string bytes;
  uint64_t number;
  bool is_leaf;
  size_t node_count;
};

// Lower bound, inclusive, and upper bound, exclusive, of the keys below a page.
struct Bounds {
  std::optional<std::string> low, high;
};

class Verifier {
 public:
  explicit Verifier(const std::string& path) : path_(path), file_(path, O_RDONLY) {}

  void run(bool deep) {
    const std::string first = read(0, FileHead::kSize, 0);
    page_size_ = get<uint32_t>(first, kPageHeaderSize + 24);
    require(page_size_ >= 512 && page_size_ <= 32768 && (page_size_ & (page_size_ - 1)) == 0, 0,
            "its page size is impossible");
    const FileHead heads[] = {file_head(0), file_head(1)};
    const size_t newer = heads[0].commit > heads[1].commit ? 0 : 1;
    require(heads[newer].commit == heads[1 - newer].commit + 1, newer,
            "the two heads are not of successive commits");
    for (const FileHead& head : heads) check_commit_record(head);
    if (deep) check_all(heads[newer]);
  }

 private:
  using Visit = std::function<void(const Page&, const Node&)>;

  [[noreturn]] void damaged(uint64_t page, const std::string& what) const {
    throw sdk::Failure(QUORATE_CORRUPT,
                       path_ + " is damaged at page " + std::to_string(page) + ": " + what +
                           "; restore this member from its peers or from a snapshot");
  }
  void require(bool holds, uint64_t page, const char* what) const {
    if (!holds) damaged(page, what);
  }

  std::string read(uint64_t offset, size_t size, uint64_t page) const {
    std::string bytes(size, '\0');
    size_t done = 0;
    while (done < size) {
      const ssize_t count =
          ::pread(file_.fd(), bytes.data() + done, size - done, static_cast<off_t>(offset + done));
      if (count < 0 && errno != EINTR) throw sdk::system_failure("read " + path_, errno);
      if (count == 0) damaged(page, "the file ends before it");
      if (count > 0) done += static_cast<size_t>(count);
    }
    return bytes;
  }

  FileHead file_head(uint64_t page) const {
    const std::string bytes = read(page * page_size_, FileHead::kSize, page);
    constexpr size_t kMeta = kPageHeaderSize, kTrees = kMeta + 24;
    require(get<uint64_t>(bytes, 0) == page && get<uint16_t>(bytes, 10) == kMetaPage, page,
            "it is no head");
    require(get<uint32_t>(bytes, kMeta) == kMagic, page, "its magic number is wrong");
    require(get<uint32_t>(bytes, kMeta + 4) == kDataVersion, page, "its version is unknown");
    require(get<uint64_t>(bytes, kMeta + 8) == 0, page, "it asks for a fixed address");
    const FileHead head = {TreeHead::read(bytes, kTrees),
                           TreeHead::read(bytes, kTrees + TreeHead::kSize),
                           get<uint64_t>(bytes, kTrees + 2 * TreeHead::kSize),
                           get<uint64_t>(bytes, kTrees + 2 * TreeHead::kSize + 8)};
    require(head.free_list.pad == page_size_, page, "the two heads differ in page size");
    require(head.free_list.flags == kIntegerKeys && head.names.flags == 0 && head.names.pad == 0,
            page, "its flags are wrong");
    require(head.last_page >= kHeadPages - 1, page, "its last page is impossible");
    require((head.commit & 1) == page, page, "its commit belongs to the other head");
    return head;
  }

  Page read_page(uint64_t number, uint64_t last_page) const {
    require(number >= kHeadPages && number <= last_page, number, "there is no such page");
    Page page = {read(number * page_size_, page_size_, number), number, false, 0};
    require(get<uint64_t>(page.bytes, 0) == number, number, "it is another page");
    const auto flags = get<uint16_t>(page.bytes, 10);
    require(flags == kBranchPage || flags == kLeafPage, number, "it is of a wrong kind");
    page.is_leaf = flags == kLeafPage;
    const size_t lower = get<uint16_t>(page.bytes, 12), upper = get<uint16_t>(page.bytes, 14);
    require(lower > kPageHeaderSize && lower % 2 == 0 && lower <= upper && upper <= page_size_,
            number, "its free space is impossible");
    page.node_count = (lower - kPageHeaderSize) / 2;
    size_t room = 0;
    for (size_t i = 0; i < page.node_count; ++i) room += read_node(page, i).room;
    require(room == page_size_ - upper, number, "its nodes do not fill it");
    return page;
  }

  Node read_node(const Page& page, size_t index) const {
    const std::string_view bytes = page.bytes;
    const size_t at = get<uint16_t>(bytes, kPageHeaderSize + 2 * index);
    const size_t upper = get<uint16_t>(bytes, 14);
    require(at >= upper && at % 2 == 0 && at + kNodeHeaderSize <= page_size_, page.number,
            "a node lies outside");
    const auto low = get<uint16_t>(bytes, at), high = get<uint16_t>(bytes, at + 2);
    Node node{};
    node.flags = get<uint16_t>(bytes, at + 4);
    const size_t key_size = get<uint16_t>(bytes, at + 6);
    node.data_size = static_cast<uint32_t>(low) | static_cast<uint32_t>(high) << 16;
    size_t data_room = 0;
    if (!page.is_leaf) {
      node.child = node.data_size | static_cast<uint64_t>(node.flags) << 32;
    } else {
      require(node.flags == 0 || node.flags == kBigData || node.flags == kSubDatabase, page.number,
              "a node is of a wrong kind");
      data_room = node.flags == kBigData ? sizeof(uint64_t) : node.data_size;
    }
    const size_t size = kNodeHeaderSize + key_size + data_room;
    require(key_size <= kStemSize && at + size <= page_size_, page.number, "a node is too large");
    node.key = bytes.substr(at + kNodeHeaderSize, key_size);
    node.data = bytes.substr(at + kNodeHeaderSize + key_size, data_room);
    node.room = size + size % 2;
    return node;
  }

  // The data of a node of a leaf, wherever it lies.
  std::string data_of(const Page& page, const Node& node, uint64_t last_page) const {
    if (node.flags != kBigData) return std::string(node.data);
    const auto first = get<uint64_t>(node.data, 0);
    const uint64_t count = overflow_pages(node);
    require(first >= kHeadPages && first <= last_page && count <= last_page - first + 1,
            page.number, "a large value lies outside the file");
    std::string bytes = read(first * page_size_, kPageHeaderSize + node.data_size, first);
    require(get<uint64_t>(bytes, 0) == first && get<uint16_t>(bytes, 10) == kOverflowPage &&
                get<uint32_t>(bytes, 12) == count,
            first, "it does not begin a large value");
    return bytes.substr(kPageHeaderSize);
  }
  uint64_t overflow_pages(const Node& node) const {
    return (kPageHeaderSize - 1 + node.data_size) / page_size_ + 1;
  }

  // The head's tree holds the record that the head's commit wrote.
  void check_commit_record(const FileHead& head) const {
    if (head.commit == 0) return;  // the head of an empty file
    const uint64_t at = head.commit & 1;
    const auto control = find(head.names, kControlDatabase, head.last_page);
    require(control && control->size() == TreeHead::kSize, at, "its commit record is missing");
    const auto record = find(TreeHead::read(*control), kCommitKey, head.last_page);
    require(record.has_value(), at, "its commit record is missing");
    const std::string_view data = checked_data(sdk::crc32c(kControlDatabase), kCommitKey, *record);
    require(data.size() == sizeof head.commit && get<uint64_t>(data, 0) == head.commit, at,
            "it names the tree of another commit");
  }

  std::optional<std::string> find(const TreeHead& tree, std::string_view key,
                                  uint64_t last_page) const {
    uint64_t number = tree.root;
    for (uint32_t depth = tree.depth; depth > 0; --depth) {
      const Page page = read_page(number, last_page);
      require(page.is_leaf == (depth == 1), number, "it is at a wrong depth");
      size_t at = page.is_leaf ? 0 : 1;
      for (; at < page.node_count && read_node(page, at).key <= key; ++at)
        if (page.is_leaf && read_node(page, at).key == key)
          return data_of(page, read_node(page, at), last_page);
      if (!page.is_leaf) number = read_node(page, at - 1).child;
    }
    return std::nullopt;
  }

  void check_all(const FileHead& head) {
    used_.assign(head.last_page + 1, false);
    last_page_ = head.last_page;
    std::vector<std::pair<std::string, TreeHead>> buckets;
    walk(head.names, [&](const Page& page, const Node& node) {
      require(node.flags == kSubDatabase && node.data.size() == TreeHead::kSize, page.number,
              "an entry is no database");
      buckets.emplace_back(node.key, TreeHead::read(node.data));
      require(buckets.back().second.flags == 0 && buckets.back().second.pad == 0, page.number,
              "a database's flags are wrong");
    });
    for (const auto& [name, tree] : buckets) check_bucket(name, tree);
    // Last: it must name none of the pages seen so far, its own among them.
    std::vector<std::pair<uint64_t, std::string>> free_lists;
    walk(head.free_list, [&](const Page& page, const Node& node) {
      require(node.flags != kSubDatabase && node.key.size() == sizeof(uint64_t), page.number,
              "an entry is no list of free pages");
      free_lists.emplace_back(page.number, data_of(page, node, last_page_));
    });
    for (const auto& [page, list] : free_lists) check_free_list(page, list);
  }

  void check_bucket(const std::string& name, const TreeHead& tree) {
    const std::string_view prefix = kBucketPrefix;
    const std::string_view seed_name =
        name.starts_with(prefix) ? std::string_view(name).substr(prefix.size()) : name;
    const uint32_t seed = sdk::crc32c(seed_name);
    walk(tree, [&](const Page& page, const Node& node) {
      require(node.flags != kSubDatabase, page.number, "an entry is no record");
      checked_data(seed, node.key, data_of(page, node, last_page_));
    });
  }

  void check_free_list(uint64_t page, std::string_view list) {
    require(list.size() >= 8 && list.size() % 8 == 0, page, "a list of free pages is cut");
    const auto count = get<uint64_t>(list, 0);
    require(count <= list.size() / 8 - 1, page, "a list of free pages is cut");
    for (uint64_t i = 1; i <= count; ++i) claim(get<uint64_t>(list, 8 * i), 1);
  }

  void claim(uint64_t first, uint64_t count) {
    require(first >= kHeadPages && first <= last_page_ && count <= last_page_ - first + 1, first,
            "there is no such page");
    for (uint64_t number = first; number < first + count; ++number) {
      require(!used_[number], number, "it is used twice, or used and free");
      used_[number] = true;
    }
  }

  void walk(const TreeHead& tree, const Visit& visit) {
    counted_ = {};
    if (tree.root == kNoPage) {
      require(tree.depth == 0, 0, "an empty tree has a depth");
    } else {
      require(tree.depth > 0 && tree.depth <= kDepthMax, tree.root, "a tree's depth is impossible");
      integer_keys_ = tree.flags == kIntegerKeys;
      walk_page(tree.root, tree.depth, {}, visit);
    }
    require(counted_.branch_pages == tree.branch_pages && counted_.leaf_pages == tree.leaf_pages &&
                counted_.overflow_pages == tree.overflow_pages && counted_.entries == tree.entries,
            tree.root == kNoPage ? 0 : tree.root,
            "the tree below it has other counts than its head");
  }

  void walk_page(uint64_t number, uint32_t depth, const Bounds& bounds, const Visit& visit) {
    claim(number, 1);
    const Page page = read_page(number, last_page_);
    require(page.is_leaf == (depth == 1), number, "it is at a wrong depth");
    ++(page.is_leaf ? counted_.leaf_pages : counted_.branch_pages);
    check_order(page, bounds);
    for (size_t i = 0; i < page.node_count; ++i) {
      const Node node = read_node(page, i);
      if (page.is_leaf) {
        ++counted_.entries;
        if (node.flags == kBigData) {
          claim(get<uint64_t>(node.data, 0), overflow_pages(node));
          counted_.overflow_pages += overflow_pages(node);
        }
        visit(page, node);
      } else {
        Bounds inner = bounds;
        if (i > 0) inner.low = node.key;
        if (i + 1 < page.node_count) inner.high = read_node(page, i + 1).key;
        walk_page(node.child, depth - 1, inner, visit);
      }
    }
  }

  // The first key of a branch means nothing.
  void check_order(const Page& page, const Bounds& bounds) const {
    for (size_t i = page.is_leaf ? 0 : 1; i < page.node_count; ++i) {
      const std::string_view key = read_node(page, i).key;
      const bool is_first = i == (page.is_leaf ? 0u : 1u);
      require(!key.empty() && (!integer_keys_ || key.size() == sizeof(uint64_t)), page.number,
              "a key has a wrong size");
      require(is_first || less(read_node(page, i - 1).key, key), page.number,
              "its keys are not in order");
      require(!bounds.low || !less(key, *bounds.low), page.number, "a key is too low for it");
      require(!bounds.high || less(key, *bounds.high), page.number, "a key is too high for it");
    }
  }
  bool less(std::string_view a, std::string_view b) const {
    return integer_keys_ ? get<uint64_t>(a, 0) < get<uint64_t>(b, 0) : a < b;
  }

  std::string path_;
  sdk::FileHandle file_;
  size_t page_size_ = 0;

  uint64_t last_page_ = 0;
  std::vector<bool> used_;
  TreeHead counted_{};
  bool integer_keys_ = false;
};

}  // namespace

void verify_file(const std::string& path, bool deep) {
  Verifier(path).run(deep);
}

}  // namespace quorate::backend_lmdb
