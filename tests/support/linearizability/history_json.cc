// SPDX-License-Identifier: Apache-2.0
#include "support/linearizability/history_json.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>

namespace quorate::linearizability {
namespace {

enum Field : size_t {
  kId,
  kClient,
  kMember,
  kOp,
  kKey,
  kValue,
  kInvoke,
  kReturn,
  kOutcome,
  kRev,
  kMod,
  kSerializable,
  kDeleted,
  kIfMod,
  kIfValue,
  kSucceeded,
  kRevision,
  kClosed,
  kFieldCount
};  // clang-format off
constexpr std::array<std::string_view, kFieldCount> kFieldNames = {
    "id", "client", "member", "op", "key", "value", "invoke", "return", "outcome", "rev", "mod",
    "serializable", "deleted", "if_mod", "if_value", "succeeded", "revision", "closed"};
// clang-format on

struct Scalar {
  enum Type : uint8_t { kMissing, kNull, kBool, kInteger, kText, kOther } type = kMissing;
  int64_t integer = 0;  // or bool
  std::string text;
};

// The known fields of one line. A field that is not known is passed over, with all in it.
class Line : public nlohmann::json_sax<nlohmann::json> {
 public:
  // False when the text is not one JSON object; problem() says why.
  bool read(const std::string& text) {
    for (Scalar& field : fields_) field.type = Scalar::kMissing;
    depth_ = 0;
    field_ = kFieldCount;
    problem_ = "it is not a JSON object";
    saw_object_ = false;
    return nlohmann::json::sax_parse(text, this) && saw_object_;
  }
  const std::string& problem() const { return problem_; }
  const Scalar& operator[](Field field) const { return fields_[field]; }
  bool has(Field field) const { return fields_[field].type != Scalar::kMissing; }

  bool null() override { return set(Scalar::kNull, 0); }
  bool boolean(bool value) override { return set(Scalar::kBool, value ? 1 : 0); }
  bool number_integer(number_integer_t value) override { return set(Scalar::kInteger, value); }
  bool number_unsigned(number_unsigned_t value) override {
    if (value > static_cast<uint64_t>(kNever)) return set(Scalar::kOther, 0);
    return set(Scalar::kInteger, static_cast<int64_t>(value));
  }
  bool number_float(number_float_t, const string_t&) override { return set(Scalar::kOther, 0); }
  bool string(string_t& value) override {
    if (depth_ == 1 && field_ != kFieldCount) fields_[field_].text.swap(value);
    return set(Scalar::kText, 0);
  }
  bool binary(binary_t&) override { return set(Scalar::kOther, 0); }
  bool start_object(size_t) override {
    if (depth_ == 0) saw_object_ = true;
    return enter();
  }
  bool end_object() override { return leave(); }
  bool start_array(size_t) override { return enter(); }
  bool end_array() override { return leave(); }
  bool key(string_t& name) override {
    if (depth_ != 1) return true;
    const auto* found = std::find(kFieldNames.begin(), kFieldNames.end(), name);
    field_ = static_cast<size_t>(found - kFieldNames.begin());
    return true;
  }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception& error) override {
    problem_ = error.what();
    return false;
  }

 private:
  bool set(Scalar::Type type, int64_t integer) {
    if (depth_ == 1 && field_ != kFieldCount) {
      fields_[field_].type = type;
      fields_[field_].integer = integer;
    }
    return true;
  }
  bool enter() {
    if (depth_ == 1) set(Scalar::kOther, 0);
    ++depth_;
    return true;
  }
  bool leave() {
    --depth_;
    return true;
  }

  std::array<Scalar, kFieldCount> fields_;
  size_t field_ = kFieldCount;
  size_t depth_ = 0;
  bool saw_object_ = false;
  std::string problem_;
};

// Turns lines into operations. Every function returns what is wrong, or nothing.
class Reader {
 public:
  using Problem = std::optional<std::string>;

  explicit Reader(History* history) : history_(history) {}

  Problem take(const std::string& text, uint64_t number) {
    if (!line_.read(text)) return line_.problem();
    if (line_[kOp].type != Scalar::kText) return "it has no \"op\"";
    if (line_[kOp].text == "start") return take_start();
    Operation operation;
    if (Problem problem = take_common(&operation, number)) return problem;
    if (Problem problem = take_kind(&operation)) return problem;
    history_->operations.push_back(operation);
    return {};
  }

 private:
  Problem take_start() {
    if (!history_->operations.empty()) return "\"start\" must stand before all operations";
    if (Problem problem = integer(kRevision, 0, &history_->start_revision)) return problem;
    return flag(kClosed, &history_->closed);
  }

  Problem take_common(Operation* operation, uint64_t number) {
    int64_t id = static_cast<int64_t>(number);
    if (Problem problem = integer(kId, 0, &id)) return problem;
    operation->id = static_cast<uint64_t>(id);
    if (!line_.has(kClient) || !line_.has(kKey) || !line_.has(kInvoke))
      return "it lacks \"client\", \"key\" or \"invoke\"";
    if (Problem problem = label(kClient, &operation->client)) return problem;
    if (Problem problem = label(kMember, &operation->member)) return problem;
    if (Problem problem = text(kKey, &operation->key)) return problem;
    if (Problem problem = integer(kInvoke, INT64_MIN, &operation->invoked)) return problem;
    const bool returned = line_[kReturn].type == Scalar::kInteger;
    if (Problem problem = integer(kReturn, INT64_MIN, &operation->returned)) return problem;
    if (Problem problem = outcome(returned, &operation->outcome)) return problem;
    if (!operation->done()) {
      operation->returned = kNever;
      return {};
    }
    if (operation->returned < operation->invoked) return "it returns before it is invoked";
    return integer(kRev, 1, &operation->revision);
  }

  Problem outcome(bool returned, Outcome* outcome) {
    const Scalar& said = line_[kOutcome];
    *outcome = returned ? Outcome::kDone : Outcome::kUnknown;
    if (said.type == Scalar::kMissing) return {};
    if (said.text == "done" && returned) return {};
    if (said.text == "done") return "it is done but has no \"return\"";
    if (said.text != "unknown" && said.text != "not_done")
      return "\"outcome\" is none of \"done\", \"unknown\" and \"not_done\"";
    *outcome = said.text == "unknown" ? Outcome::kUnknown : Outcome::kNotDone;
    return {};
  }

  Problem take_kind(Operation* operation) {
    const std::string& op = line_[kOp].text;
    if (op == "put") return take_value(Kind::kPut, operation);
    if (op == "get") return take_get(operation);
    if (op == "delete") return take_delete(operation);
    if (op == "cas") return take_cas(operation);
    return "its \"op\" is none of \"put\", \"get\", \"delete\", \"cas\" and \"start\"";
  }

  Problem take_value(Kind kind, Operation* operation) {
    operation->kind = kind;
    if (line_[kValue].type != Scalar::kText) return "it lacks the \"value\" that it writes";
    return text(kValue, &operation->value);
  }

  Problem take_get(Operation* operation) {
    operation->kind = Kind::kGet;
    if (Problem problem = flag(kSerializable, &operation->serializable)) return problem;
    if (!operation->done()) return {};
    if (!line_.has(kValue)) return "it lacks \"value\": what it was shown, null if nothing";
    if (Problem problem = text_or_null(kValue, &operation->value)) return problem;
    if (operation->value == kAbsent) return {};
    return integer(kMod, 1, &operation->mod_revision);
  }

  Problem take_delete(Operation* operation) {
    operation->kind = Kind::kDelete;
    if (!operation->done()) return {};
    int64_t deleted = kNoRevision;
    if (Problem problem = integer(kDeleted, 0, &deleted)) return problem;
    if (deleted != 0 && deleted != 1) return "\"deleted\" must be 0 or 1: a delete of one key";
    operation->effective = deleted == 1;
    return {};
  }

  Problem take_cas(Operation* operation) {
    if (Problem problem = take_value(Kind::kCas, operation)) return problem;
    if (line_.has(kIfMod) == line_.has(kIfValue))
      return "a cas has either \"if_mod\" or \"if_value\"";
    if (Problem problem = integer(kIfMod, 0, &operation->compare_mod)) return problem;
    if (Problem problem = text_or_null(kIfValue, &operation->compare_value)) return problem;
    if (!operation->done()) return {};
    if (line_[kSucceeded].type != Scalar::kBool) return "it lacks \"succeeded\"";
    return flag(kSucceeded, &operation->effective);
  }

  // These leave the default where the field is missing.
  Problem integer(Field field, int64_t at_least, int64_t* value) {
    const Scalar& said = line_[field];
    if (said.type == Scalar::kMissing || (field == kReturn && said.type == Scalar::kNull))
      return {};
    if (said.type != Scalar::kInteger || said.integer < at_least)
      return wrong(field, "an integer in range");
    *value = said.integer;
    return {};
  }
  Problem flag(Field field, bool* value) {
    if (line_[field].type == Scalar::kMissing) return {};
    if (line_[field].type != Scalar::kBool) return wrong(field, "true or false");
    *value = line_[field].integer != 0;
    return {};
  }
  Problem text(Field field, Name* name) {
    if (line_[field].type != Scalar::kText) return wrong(field, "a string");
    *name = history_->name(line_[field].text);
    return {};
  }
  Problem text_or_null(Field field, Name* name) {
    if (line_[field].type == Scalar::kNull || line_[field].type == Scalar::kMissing) return {};
    return text(field, name);
  }
  // A number counts as its digits.
  Problem label(Field field, Name* name) {
    if (line_[field].type == Scalar::kMissing) return {};
    if (line_[field].type != Scalar::kInteger) return text(field, name);
    *name = history_->name(std::to_string(line_[field].integer));
    return {};
  }
  static std::string wrong(Field field, const char* expected) {
    return "\"" + std::string(kFieldNames[field]) + "\" is not " + expected;
  }

  History* history_;
  Line line_;
};

nlohmann::ordered_json text_json(const History& history, Name name) {
  if (name == kAbsent) return nullptr;
  return std::string(history.text(name));
}

void add_answer(const History& history, const Operation& operation, nlohmann::ordered_json* line) {
  (*line)["return"] = operation.returned;
  if (operation.kind == Kind::kGet) (*line)["value"] = text_json(history, operation.value);
  if (operation.mod_revision != kNoRevision) (*line)["mod"] = operation.mod_revision;
  if (operation.kind == Kind::kDelete) (*line)["deleted"] = operation.effective ? 1 : 0;
  if (operation.kind == Kind::kCas) (*line)["succeeded"] = operation.effective;
  if (operation.revision != kNoRevision) (*line)["rev"] = operation.revision;
}

std::string dumped(const nlohmann::ordered_json& line) {
  return line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace

Result<History> read_history(std::istream& in) {
  History history;
  Reader reader(&history);
  std::string text;
  for (uint64_t number = 1; std::getline(in, text); ++number) {
    if (text.find_first_not_of(" \t\r") == std::string::npos) continue;
    if (auto problem = reader.take(text, number))
      return Status(Code::kInvalidArgument, "line " + std::to_string(number) + ": " + *problem);
  }
  if (in.bad()) return Status(Code::kIoError, "the history cannot be read to its end");
  return history;
}

std::string to_line(const History& history, const Operation& operation) {
  constexpr std::array<const char*, 4> kKinds = {"put", "get", "delete", "cas"};
  nlohmann::ordered_json line;
  line["id"] = operation.id;
  line["client"] = text_json(history, operation.client);
  if (operation.member != kAbsent) line["member"] = text_json(history, operation.member);
  line["op"] = kKinds[static_cast<size_t>(operation.kind)];
  line["key"] = text_json(history, operation.key);
  if (operation.serializable) line["serializable"] = true;
  if (operation.kind == Kind::kPut || operation.kind == Kind::kCas)
    line["value"] = text_json(history, operation.value);
  if (operation.kind == Kind::kCas && operation.compare_mod != kNoRevision)
    line["if_mod"] = operation.compare_mod;
  else if (operation.kind == Kind::kCas)
    line["if_value"] = text_json(history, operation.compare_value);
  line["invoke"] = operation.invoked;
  if (operation.done()) {
    add_answer(history, operation, &line);
  } else {
    line["outcome"] = operation.outcome == Outcome::kUnknown ? "unknown" : "not_done";
  }
  return dumped(line);
}

std::string start_line(const History& history) {
  nlohmann::ordered_json line;
  line["op"] = "start";
  line["revision"] = history.start_revision;
  line["closed"] = history.closed;
  return dumped(line);
}

}  // namespace quorate::linearizability
