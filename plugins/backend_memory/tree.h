// SPDX-License-Identifier: Apache-2.0
// An ordered map of bytes to bytes whose copies cost nothing: a B+tree that copies on write.
//
// A copy of a Tree shares all its nodes. A change copies the nodes on its path that have another
// owner and changes in place those that have none; so a batch copies each node at most once, and a
// copy that was taken before never changes. Different copies may be used by different threads; one
// Tree is used by one thread at a time.
//
// Invariants: keys strictly increase through the leaves from left to right; all leaves are equally
// deep; no node but an empty root is empty; Node::first is the least item below the node.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "backend_memory/ref.h"

namespace quorate::backend_memory {

// A pair, in one piece of memory; never changes.
class Item : public Counted {
 public:
  static Ref<Item> make(std::string_view key, std::string_view value);
  void operator delete(void* memory) { ::operator delete(memory); }

  std::string_view key() const { return {bytes(), key_size_}; }
  std::string_view value() const { return {bytes() + key_size_, value_size_}; }
  uint64_t size() const { return sizeof(Item) + key_size_ + value_size_; }

 private:
  Item(std::string_view key, std::string_view value);
  const char* bytes() const { return reinterpret_cast<const char*>(this + 1); }

  size_t key_size_;
  size_t value_size_;
};

struct Node : Counted {
  const Item* first = nullptr;
  std::vector<Ref<Item>> items;     // of a leaf
  std::vector<Ref<Node>> children;  // of an inner node

  bool is_leaf() const { return children.empty(); }
  size_t size() const { return is_leaf() ? items.size() : children.size(); }
};

class Tree {
 public:
  void put(std::string_view key, std::string_view value);
  void erase(std::string_view key);

  // Lives as long as a copy of this tree from before the next change.
  const Item* find(std::string_view key) const;

  // Bytes of all items.
  uint64_t size_bytes() const { return size_bytes_; }

 private:
  friend class TreeCursor;

  Ref<Node> root_;
  uint64_t size_bytes_ = 0;
};

// A position in a tree that does not change meanwhile.
class TreeCursor {
 public:
  explicit TreeCursor(const Tree& tree) : root_(tree.root_.get()) {}

  // The first item with a key >= `key`, then its successors; null at the end.
  const Item* seek(std::string_view key);
  const Item* next();

 private:
  struct Step {
    const Node* node;
    size_t at;
  };
  const Item* item() const;

  const Node* root_;
  std::vector<Step> path_;  // from the root to a leaf; empty at the end
};

}  // namespace quorate::backend_memory
