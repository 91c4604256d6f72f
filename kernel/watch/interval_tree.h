// SPDX-License-Identifier: Apache-2.0
// Which half-open ranges of keys hold a given key. A treap ordered by (begin, end), each node
// knowing the farthest end below it, so a look-up skips what ends too early: O(log n + hits).
//
// Invariants: in-order is (begin, end) order; a parent's priority is not below its children's;
// farthest(node) = max over the subtree. Values of one range keep the order in which they came. The
// shape depends on the calls alone. One thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/key_range.h"

namespace quorate::watch {

template <typename T>
class IntervalTree {
 public:
  // REQUIRES: the range is not empty and not single.
  void insert(const KeyRange& range, T value) {
    insert(root_, Bounds(range), std::move(value));
    ++size_;
  }
  // One that was inserted with the same range; false: there is none.
  bool erase(const KeyRange& range, const T& value) {
    if (!erase(root_, Bounds(range), value)) return false;
    --size_;
    return true;
  }
  // Calls visit(value) for each range that holds `key`, in the order of the ranges.
  template <typename Visit>
  void visit(Slice key, Visit&& visit) const {
    visit_below(root_.get(), key, visit);
  }
  size_t size() const { return size_; }

 private:
  struct End {
    std::string key;
    bool open = false;
    bool beyond(Slice at) const { return open || key > at; }
    friend bool operator<(const End& a, const End& b) {
      return a.open || b.open ? !a.open && b.open : a.key < b.key;
    }
    friend bool operator==(const End& a, const End& b) {
      return a.open == b.open && (a.open || a.key == b.key);
    }
  };
  struct Bounds {
    explicit Bounds(const KeyRange& range)
        : begin(range.begin),
          end{range.open ? std::string() : std::string(range.end), range.open} {}
    std::string begin;
    End end;
    friend bool operator<(const Bounds& a, const Bounds& b) {
      return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
    }
    friend bool operator==(const Bounds& a, const Bounds& b) {
      return a.begin == b.begin && a.end == b.end;
    }
  };
  struct Node {
    Node(Bounds range, uint64_t number) : bounds(std::move(range)), priority(number) {
      farthest = bounds.end;
    }
    Bounds bounds;
    End farthest;
    uint64_t priority;
    std::vector<T> values;
    std::unique_ptr<Node> left, right;
  };
  using Link = std::unique_ptr<Node>;

  static void update(Node& node) {
    node.farthest = node.bounds.end;
    for (const Link* child : {&node.left, &node.right}) {
      if (*child) node.farthest = std::max(node.farthest, (*child)->farthest);
    }
  }
  // The child comes up, the node goes down on the other side.
  static void rotate(Link& top, Link Node::*from, Link Node::*to) {
    Link child = std::move((*top).*from);
    (*top).*from = std::move((*child).*to);
    update(*top);
    (*child).*to = std::move(top);
    top = std::move(child);
    update(*top);
  }

  void insert(Link& link, Bounds bounds, T value) {
    if (!link) {
      link = std::make_unique<Node>(std::move(bounds), next_priority());
      link->values.push_back(std::move(value));
      return;
    }
    if (link->bounds == bounds) {
      link->values.push_back(std::move(value));
      return;
    }
    const bool left = bounds < link->bounds;
    const auto side = left ? &Node::left : &Node::right;
    const auto other = left ? &Node::right : &Node::left;
    insert((*link).*side, std::move(bounds), std::move(value));
    update(*link);
    if (((*link).*side)->priority > link->priority) rotate(link, side, other);
  }

  bool erase(Link& link, const Bounds& bounds, const T& value) {
    if (!link) return false;
    if (!(link->bounds == bounds)) {
      const bool erased = erase(bounds < link->bounds ? link->left : link->right, bounds, value);
      if (erased) update(*link);
      return erased;
    }
    auto& values = link->values;
    const auto found = std::find(values.begin(), values.end(), value);
    if (found == values.end()) return false;
    values.erase(found);
    if (values.empty()) remove(link);
    return true;
  }

  // Sinks the node until it has one child at most.
  static void remove(Link& link) {
    if (!link->left || !link->right) {
      Link child = std::move(link->left ? link->left : link->right);
      link = std::move(child);
      return;
    }
    if (link->left->priority > link->right->priority) {
      rotate(link, &Node::left, &Node::right);
      remove(link->right);
    } else {
      rotate(link, &Node::right, &Node::left);
      remove(link->left);
    }
    update(*link);
  }

  template <typename Visit>
  static void visit_below(const Node* node, Slice key, Visit& visit) {
    if (node == nullptr || !node->farthest.beyond(key)) return;
    visit_below(node->left.get(), key, visit);
    if (Slice(node->bounds.begin) > key) return;
    if (node->bounds.end.beyond(key)) {
      for (const T& value : node->values) visit(value);
    }
    visit_below(node->right.get(), key, visit);
  }

  // splitmix64 of a counter: as good as chance for the shape, and the same in every run.
  uint64_t next_priority() {
    uint64_t z = (counter_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  Link root_;
  size_t size_ = 0;
  uint64_t counter_ = 0;
};

}  // namespace quorate::watch
