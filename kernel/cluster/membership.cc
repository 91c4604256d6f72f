// SPDX-License-Identifier: Apache-2.0
#include "cluster/membership.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace quorate::cluster {
namespace {

Status unknown_member(uint64_t id) {
  return Status(Code::kMemberNotFound, "there is no member " + id_text(id) + " in this cluster");
}

}  // namespace

Status Membership::load(Slice key, Slice json) {
  Result<Member> member = decode_member(json);
  QUORATE_TRY(member);
  if (parse_id(key) != member->id) {
    return Status(Code::kCorrupt, "the record of member " + id_text(member->id) +
                                      " lies under the key " + std::string(key));
  }
  members_[member->id] = *std::move(member);
  return Status();
}

Status Membership::load_removed(Slice key) {
  const auto id = parse_id(key);
  if (!id) return Status(Code::kCorrupt, "no member id in members_removed: " + std::string(key));
  removed_.insert(*id);
  return Status();
}

const Member* Membership::find(uint64_t id) const {
  const auto found = members_.find(id);
  return found == members_.end() ? nullptr : &found->second;
}

std::vector<Member> Membership::members() const {
  std::vector<Member> result;
  for (const auto& [id, member] : members_) result.push_back(member);
  return result;
}

size_t Membership::learners() const {
  return static_cast<size_t>(std::count_if(members_.begin(), members_.end(),
                                           [](const auto& each) { return each.second.learner; }));
}

size_t Membership::voters() const {
  return members_.size() - learners();
}

Status Membership::check_known(uint64_t id) const {
  return members_.count(id) != 0 ? Status() : unknown_member(id);
}

Status Membership::check_urls(uint64_t id, const std::vector<std::string>& peer_urls) const {
  for (const auto& [other, member] : members_) {
    if (other == id) continue;
    for (const std::string& url : member.peer_urls) {
      if (std::find(peer_urls.begin(), peer_urls.end(), url) != peer_urls.end()) {
        return Status(Code::kPeerUrlExists,
                      "the peer URL " + url + " belongs to member " + id_text(other));
      }
    }
  }
  return Status();
}

Status Membership::check_add(const Member& member) const {
  if (was_removed(member.id)) return unknown_member(member.id);
  if (members_.count(member.id) != 0) {
    return Status(Code::kMemberExists, "member " + id_text(member.id) + " is there already");
  }
  QUORATE_TRY(check_urls(member.id, member.peer_urls));
  if (member.learner && learners() >= kLearnersMax) {
    return Status(Code::kTooManyLearners, "the cluster has a learner; promote or remove it first");
  }
  return Status();
}

Status Membership::check_remove(uint64_t id) const {
  return check_known(id);
}

Status Membership::check_update(uint64_t id, const std::vector<std::string>& peer_urls) const {
  QUORATE_TRY(check_known(id));
  return check_urls(id, peer_urls);
}

Status Membership::check_promote(uint64_t id) const {
  QUORATE_TRY(check_known(id));
  if (find(id)->learner) return Status();
  return Status(Code::kMemberNotLearner, "member " + id_text(id) + " votes already");
}

void Membership::add(Member member) {
  QUORATE_CHECK(check_add(member).ok(), "a member was added that may not be");
  std::sort(member.peer_urls.begin(), member.peer_urls.end());
  const uint64_t id = member.id;
  members_.emplace(id, std::move(member));
}

void Membership::remove(uint64_t id) {
  QUORATE_CHECK(members_.erase(id) == 1, "an unknown member was removed");
  removed_.insert(id);
}

void Membership::update(uint64_t id, std::vector<std::string> peer_urls) {
  QUORATE_CHECK(check_update(id, peer_urls).ok(), "a member was updated that may not be");
  std::sort(peer_urls.begin(), peer_urls.end());
  members_.at(id).peer_urls = std::move(peer_urls);
}

void Membership::promote(uint64_t id) {
  QUORATE_CHECK(check_promote(id).ok(), "a member was promoted that is no learner");
  members_.at(id).learner = false;
}

bool Membership::set_attributes(uint64_t id, std::string name,
                                std::vector<std::string> client_urls) {
  const auto found = members_.find(id);
  if (found == members_.end()) return false;
  std::sort(client_urls.begin(), client_urls.end());
  found->second.name = std::move(name);
  found->second.client_urls = std::move(client_urls);
  return true;
}

}  // namespace quorate::cluster
