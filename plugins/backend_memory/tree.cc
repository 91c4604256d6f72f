// SPDX-License-Identifier: Apache-2.0
#include "backend_memory/tree.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace quorate::backend_memory {
namespace {

constexpr size_t kNodeSizeMax = 64;
constexpr size_t kNodeSizeMin = kNodeSizeMax / 4;

// Where `key` is in a leaf, or would be.
size_t lower_bound(const Node& leaf, std::string_view key) {
  const auto at = std::partition_point(leaf.items.begin(), leaf.items.end(),
                                       [&](const Ref<Item>& item) { return item->key() < key; });
  return static_cast<size_t>(at - leaf.items.begin());
}

bool holds(const Node& leaf, size_t at, std::string_view key) {
  return at < leaf.items.size() && leaf.items[at]->key() == key;
}

// The child that covers `key`: the last one that does not begin after it, or the first.
size_t child_for(const Node& node, std::string_view key) {
  const auto after =
      std::partition_point(node.children.begin(), node.children.end(),
                           [&](const Ref<Node>& child) { return child->first->key() <= key; });
  const auto index = static_cast<size_t>(after - node.children.begin());
  return index == 0 ? 0 : index - 1;
}

// The node, alone its owner's from now on.
Node& own(Ref<Node>& node) {
  if (!node.sole_owner()) node = Ref<Node>(new Node(*node));
  return *node;
}

void set_first(Node& node) {
  if (node.size() == 0) {
    node.first = nullptr;
  } else {
    node.first = node.is_leaf() ? node.items.front().get() : node.children.front()->first;
  }
}

template <class T>
void move_tail(std::vector<T>& from, size_t at, std::vector<T>& to) {
  const auto tail = from.begin() + static_cast<std::ptrdiff_t>(at);
  to.insert(to.end(), std::make_move_iterator(tail), std::make_move_iterator(from.end()));
  from.erase(tail, from.end());
}

// Cuts a node that is too large; the result is its new right neighbour. Keys that arrive in order
// leave full nodes behind them.
Ref<Node> split(Node& node, bool grew_at_end) {
  Ref<Node> right(new Node);
  const size_t at = grew_at_end ? node.size() - 1 : node.size() / 2;
  if (node.is_leaf()) {
    move_tail(node.items, at, right->items);
  } else {
    move_tail(node.children, at, right->children);
  }
  set_first(*right);
  return right;
}

struct Change {
  int64_t bytes = 0;
  Ref<Node> right;  // the part that was cut off, if any
};

Change put(Ref<Node>& ref, const Ref<Item>& item) {
  Node& node = own(ref);
  Change change;
  size_t grew_at = 0;
  if (node.is_leaf()) {
    const size_t at = lower_bound(node, item->key());
    change.bytes = static_cast<int64_t>(item->size());
    if (holds(node, at, item->key())) {
      change.bytes -= static_cast<int64_t>(node.items[at]->size());
      node.items[at] = item;
    } else {
      node.items.insert(node.items.begin() + static_cast<std::ptrdiff_t>(at), item);
    }
    grew_at = at;
  } else {
    const size_t at = child_for(node, item->key());
    change = put(node.children[at], item);
    if (change.right) {
      node.children.insert(node.children.begin() + static_cast<std::ptrdiff_t>(at + 1),
                           std::move(change.right));
      change.right = {};
    }
    grew_at = at + 1;
  }
  if (node.size() > kNodeSizeMax) change.right = split(node, grew_at + 1 == node.size());
  set_first(node);
  return change;
}

// Joins child `at` with its right neighbour if together they are one good node.
void join_with_next(Node& node, size_t at) {
  if (at + 1 >= node.children.size()) return;
  if (node.children[at]->size() + node.children[at + 1]->size() > kNodeSizeMax / 2) return;
  Node& left = own(node.children[at]);
  Node& right = own(node.children[at + 1]);
  move_tail(right.items, 0, left.items);
  move_tail(right.children, 0, left.children);
  node.children.erase(node.children.begin() + static_cast<std::ptrdiff_t>(at + 1));
}

// `key` is there. Returns the bytes let go.
uint64_t erase(Ref<Node>& ref, std::string_view key) {
  Node& node = own(ref);
  uint64_t bytes = 0;
  if (node.is_leaf()) {
    const auto at = node.items.begin() + static_cast<std::ptrdiff_t>(lower_bound(node, key));
    bytes = (*at)->size();
    node.items.erase(at);
  } else {
    const size_t at = child_for(node, key);
    bytes = erase(node.children[at], key);
    const size_t left = node.children[at]->size();
    if (left == 0) {
      node.children.erase(node.children.begin() + static_cast<std::ptrdiff_t>(at));
    } else if (left < kNodeSizeMin) {
      join_with_next(node, at);
      if (at > 0) join_with_next(node, at - 1);
    }
  }
  set_first(node);
  return bytes;
}

}  // namespace

Item::Item(std::string_view key, std::string_view value)
    : key_size_(key.size()), value_size_(value.size()) {
  char* to = reinterpret_cast<char*>(this + 1);
  if (!key.empty()) std::memcpy(to, key.data(), key.size());
  if (!value.empty()) std::memcpy(to + key.size(), value.data(), value.size());
}

Ref<Item> Item::make(std::string_view key, std::string_view value) {
  void* memory = ::operator new(sizeof(Item) + key.size() + value.size());
  return Ref<Item>(new (memory) Item(key, value));
}

void Tree::put(std::string_view key, std::string_view value) {
  const Ref<Item> item = Item::make(key, value);
  if (!root_) root_ = Ref<Node>(new Node);
  Change change = backend_memory::put(root_, item);
  if (change.right) {
    Ref<Node> root(new Node);
    root->children = {root_, std::move(change.right)};
    set_first(*root);
    root_ = std::move(root);
  }
  size_bytes_ += static_cast<uint64_t>(change.bytes);
}

void Tree::erase(std::string_view key) {
  if (find(key) == nullptr) return;
  size_bytes_ -= backend_memory::erase(root_, key);
  while (!root_->is_leaf() && root_->size() == 1) root_ = Ref<Node>(root_->children[0]);
}

const Item* Tree::find(std::string_view key) const {
  const Node* node = root_.get();
  if (node == nullptr) return nullptr;
  while (!node->is_leaf()) node = node->children[child_for(*node, key)].get();
  const size_t at = lower_bound(*node, key);
  return holds(*node, at, key) ? node->items[at].get() : nullptr;
}

const Item* TreeCursor::item() const {
  return path_.empty() ? nullptr : path_.back().node->items[path_.back().at].get();
}

const Item* TreeCursor::seek(std::string_view key) {
  path_.clear();
  if (root_ == nullptr) return nullptr;
  const Node* node = root_;
  for (; !node->is_leaf(); node = node->children[path_.back().at].get())
    path_.push_back({node, child_for(*node, key)});
  const size_t at = lower_bound(*node, key);
  path_.push_back({node, at});
  if (at < node->size()) return item();
  --path_.back().at;  // wraps in an empty root; next() makes it 0 again
  return next();
}

const Item* TreeCursor::next() {
  while (!path_.empty() && ++path_.back().at >= path_.back().node->size()) path_.pop_back();
  if (path_.empty()) return nullptr;
  while (!path_.back().node->is_leaf())
    path_.push_back({path_.back().node->children[path_.back().at].get(), 0});
  return item();
}

}  // namespace quorate::backend_memory
