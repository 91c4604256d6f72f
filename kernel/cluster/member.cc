// SPDX-License-Identifier: Apache-2.0
#include "cluster/member.h"

#include <openssl/sha.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <set>

#include "base/coding.h"

namespace quorate::cluster {
namespace {

using nlohmann::json;

uint64_t hashed_id(Slice bytes) {
  unsigned char digest[SHA_DIGEST_LENGTH];
  SHA1(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest);
  const uint64_t id = get_be64(reinterpret_cast<const char*>(digest));
  return id == 0 ? 1 : id;  // 0 means nobody, in raft and in headers
}

void append_text(std::string& to, Slice text) {
  to += json(std::string(text)).dump(-1, ' ', false, json::error_handler_t::replace);
}

void append_texts(std::string& to, const std::vector<std::string>& texts) {
  to += '[';
  for (size_t i = 0; i < texts.size(); ++i) {
    if (i > 0) to += ',';
    append_text(to, texts[i]);
  }
  to += ']';
}

bool read_text(const json& from, const char* field, std::string& to) {
  const auto found = from.find(field);
  if (found == from.end() || found->is_null()) return true;
  if (!found->is_string()) return false;
  to = found->get_ref<const std::string&>();
  return true;
}

bool read_texts(const json& from, const char* field, std::vector<std::string>& to) {
  const auto found = from.find(field);
  if (found == from.end() || found->is_null()) return true;
  if (!found->is_array()) return false;
  for (const json& text : *found) {
    if (!text.is_string()) return false;
    to.push_back(text.get_ref<const std::string&>());
  }
  return true;
}

bool read_member(const json& from, Member& to) {
  if (!from.is_object()) return false;
  const auto id = from.find("id");
  if (id == from.end() || !id->is_number_unsigned()) return false;
  to.id = id->get<uint64_t>();
  const auto learner = from.find("isLearner");
  if (learner != from.end()) {
    if (!learner->is_boolean()) return false;
    to.learner = learner->get<bool>();
  }
  return to.id != 0 && read_text(from, "name", to.name) &&
         read_texts(from, "peerURLs", to.peer_urls) &&
         read_texts(from, "clientURLs", to.client_urls);
}

}  // namespace

uint64_t make_member_id(std::vector<std::string> peer_urls, Slice cluster_token,
                        std::optional<int64_t> unix_seconds) {
  std::sort(peer_urls.begin(), peer_urls.end());
  std::string bytes;
  for (const std::string& url : peer_urls) bytes += url;
  bytes += cluster_token;
  if (unix_seconds) bytes += std::to_string(*unix_seconds);
  return hashed_id(bytes);
}

uint64_t make_cluster_id(std::vector<uint64_t> member_ids) {
  std::sort(member_ids.begin(), member_ids.end());
  std::string bytes;
  for (uint64_t id : member_ids) put_be64(bytes, id);
  return hashed_id(bytes);
}

std::string id_text(uint64_t id) {
  char text[16];
  const auto end = std::to_chars(text, text + sizeof text, id, 16).ptr;
  return std::string(text, end);
}

std::optional<uint64_t> parse_id(Slice text) {
  uint64_t id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id, 16);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return id;
}

std::string encode_member(const Member& member) {
  std::string text = "{\"id\":" + std::to_string(member.id) + ",\"peerURLs\":";
  append_texts(text, member.peer_urls);
  if (member.learner) text += ",\"isLearner\":true";
  if (!member.name.empty()) {
    text += ",\"name\":";
    append_text(text, member.name);
  }
  if (!member.client_urls.empty()) {
    text += ",\"clientURLs\":";
    append_texts(text, member.client_urls);
  }
  return text + '}';
}

Result<Member> decode_member(Slice text) {
  Member member;
  const json parsed = json::parse(text, nullptr, false);
  if (parsed.is_discarded() || !read_member(parsed, member)) {
    return Status(Code::kCorrupt,
                  "a member's record is not readable: " + std::string(text.substr(0, 200)));
  }
  return member;
}

Result<std::vector<Member>> bootstrap_members(std::span<const NamedPeer> peers,
                                              Slice cluster_token) {
  std::vector<Member> members;
  std::set<std::string> names, urls;
  for (const NamedPeer& peer : peers) {
    if (peer.name.empty() || peer.peer_urls.empty()) {
      return Status(Code::kInvalidArgument,
                    "the initial cluster has a member without name or peer URL; write name=URL");
    }
    if (!names.insert(peer.name).second) {
      return Status(Code::kInvalidArgument,
                    "the initial cluster names " + peer.name + " twice; names must differ");
    }
    for (const std::string& url : peer.peer_urls) {
      if (!urls.insert(url).second) {
        return Status(Code::kInvalidArgument, "the initial cluster has the peer URL " + url +
                                                  " twice; each member needs its own");
      }
    }
    Member member;
    member.id = make_member_id(peer.peer_urls, cluster_token, std::nullopt);
    member.name = peer.name;
    member.peer_urls = peer.peer_urls;
    std::sort(member.peer_urls.begin(), member.peer_urls.end());
    members.push_back(std::move(member));
  }
  if (members.empty()) {
    return Status(Code::kInvalidArgument, "the initial cluster is empty; write name=URL");
  }
  std::sort(members.begin(), members.end(),
            [](const Member& a, const Member& b) { return a.id < b.id; });
  return members;
}

}  // namespace quorate::cluster
