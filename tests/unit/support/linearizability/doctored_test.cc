// SPDX-License-Identifier: Apache-2.0
// Histories with one lie each, and the sentence that names it.
#include <catch2/catch.hpp>
#include <sstream>

#include "support/linearizability/check.h"
#include "support/linearizability/history_json.h"

namespace quorate::linearizability {
namespace {

History history_of(const std::string& lines) {
  std::istringstream in(lines);
  Result<History> history = read_history(in);
  REQUIRE(history.has_value());
  return *std::move(history);
}

Report judged(const std::string& lines) {
  return check(history_of(lines));
}

// The only violation, or the first of `violations`, as "rule: sentence".
std::string lie(const std::string& lines, size_t violations = 1) {
  const Report report = judged(lines);
  REQUIRE(report.verdict == Verdict::kViolation);
  REQUIRE(report.violations.size() == violations);
  return std::string(rule_name(report.violations[0].rule)) + ": " + report.violations[0].sentence;
}

std::string lie_found_by_search(const std::string& lines) {
  const Report report = check_by_search(history_of(lines));
  REQUIRE(report.verdict == Verdict::kViolation);
  return std::string(rule_name(report.violations.at(0).rule));
}

// Client 1 writes "old" at revision 2 and "new" at 3, both answered by time 40.
const std::string kTwoPuts =
    R"({"id":1,"client":1,"op":"put","key":"k","value":"old","invoke":10,"return":20,"rev":2}
{"id":2,"client":1,"op":"put","key":"k","value":"new","invoke":30,"return":40,"rev":3}
)";

TEST_CASE("an acknowledged write that a later read misses is lost") {
  const std::string lines = kTwoPuts +
                            R"({"id":3,"client":2,"op":"get","key":"k","invoke":50,"return":60,)"
                            R"("value":"old","mod":2,"rev":3})";
  CHECK(lie(lines) ==
        R"(lost_write: #3 (client 2, get "k" -> "old", 50..60, modified at 2, revision 3) shows )"
        R"(something older at revision 3, where the acknowledged write #2 (client 1, put "k" = )"
        R"("new", 30..40, revision 3) must show)");
  CHECK(lie_found_by_search(lines) == "not_linearizable");
}

TEST_CASE("an acknowledged write that left nothing behind is lost") {
  CHECK_THAT(lie(kTwoPuts + R"({"id":3,"client":2,"op":"get","key":"k","invoke":50,"return":60,)"
                            R"("value":null,"rev":3})"),
             Catch::StartsWith("lost_write: #3 ") && Catch::Contains("found no such key"));
}

TEST_CASE("a read at a revision from before an answered write is stale") {
  const std::string lines = kTwoPuts +
                            R"({"id":3,"client":2,"op":"get","key":"k","invoke":50,"return":60,)"
                            R"("value":"old","mod":2,"rev":2})";
  CHECK(lie(lines) ==
        R"(stale_read: #3 (client 2, get "k" -> "old", 50..60, modified at 2, revision 2) was )"
        R"(answered at revision 2, but #2 (client 1, put "k" = "new", 30..40, revision 3) had )"
        R"(returned before it was invoked)");
  CHECK(lie_found_by_search(lines) == "not_linearizable");
}

TEST_CASE("a read that overlaps the write may be from before it") {
  CHECK(judged(kTwoPuts + R"({"id":3,"client":2,"op":"get","key":"k","invoke":40,"return":60,)"
                          R"("value":"old","mod":2,"rev":2})")
            .verdict == Verdict::kOk);
}

TEST_CASE("a read of what is written only after its return is from the future") {
  const std::string lines = kTwoPuts +
                            R"({"id":3,"client":2,"op":"get","key":"k","invoke":21,"return":29,)"
                            R"("value":"new","mod":3,"rev":3})";
  CHECK_THAT(lie(lines), Catch::StartsWith("future_read: #3 ") &&
                             Catch::Contains("returned before #2 ") &&
                             Catch::Contains("which wrote revision 3"));
  CHECK(lie_found_by_search(lines) == "future_read");
}

TEST_CASE("a read of a modification above its own revision is from the future") {
  CHECK_THAT(lie(kTwoPuts + R"({"id":3,"client":2,"op":"get","key":"k","invoke":25,"return":60,)"
                            R"("value":"new","mod":3,"rev":2})",
                 2),
             Catch::StartsWith("future_read: #3 "));
}

TEST_CASE("two writes with one revision are reported") {
  CHECK(lie(R"({"id":1,"client":1,"op":"put","key":"a","value":"x","invoke":1,"return":9,"rev":2}
{"id":2,"client":2,"op":"put","key":"b","value":"y","invoke":2,"return":8,"rev":2})") ==
        R"(duplicate_revision: #1 (client 1, put "a" = "x", 1..9, revision 2) and #2 (client 2, )"
        R"(put "b" = "y", 2..8, revision 2) were both answered with revision 2)");
}

TEST_CASE("two clients' writes against the order of time are swapped") {
  CHECK_THAT(
      lie(R"({"id":1,"client":1,"op":"put","key":"a","value":"x","invoke":1,"return":2,"rev":3}
{"id":2,"client":2,"op":"put","key":"b","value":"y","invoke":3,"return":4,"rev":2})"),
      Catch::StartsWith("swapped_order: #2 ") && Catch::Contains("but #1 "));
}

TEST_CASE("a client whose revisions fall has seen the store go back") {
  CHECK_THAT(
      lie(R"({"id":1,"client":1,"op":"put","key":"a","value":"x","invoke":1,"return":2,"rev":3}
{"id":2,"client":1,"op":"delete","key":"a","deleted":1,"invoke":3,"return":4,"rev":2})",
          2),
      Catch::StartsWith("revision_went_back: #2 "));
}

TEST_CASE("a write at or below the start is reported") {
  CHECK_THAT(lie(R"({"op":"start","revision":7}
{"id":1,"client":1,"op":"put","key":"a","value":"x","invoke":1,"return":2,"rev":7})"),
             Catch::StartsWith("revision_went_back: #1 ") && Catch::Contains("revision 7"));
}

TEST_CASE("a value that nobody wrote is reported") {
  const std::string lines = kTwoPuts +
                            R"({"id":3,"client":2,"op":"get","key":"k","invoke":50,"return":60,)"
                            R"("value":"made up","mod":4,"rev":4})";
  CHECK_THAT(lie(lines), Catch::StartsWith("never_written: #3 ") &&
                             Catch::EndsWith("shows a value that nobody wrote"));
  CHECK(lie_found_by_search(lines) == "never_written");
}

TEST_CASE("a value shown at another revision than it was written at is reported") {
  CHECK_THAT(lie(kTwoPuts + R"({"id":3,"client":2,"op":"get","key":"k","invoke":50,"return":60,)"
                            R"("value":"new","mod":5,"rev":5})"),
             Catch::StartsWith("never_written: #3 ") &&
                 Catch::Contains("another modification revision than #2 "));
}

TEST_CASE("what an acknowledged delete removed must not come back") {
  const std::string lines = kTwoPuts + R"({"id":3,"client":1,"op":"delete","key":"k","deleted":1,)"
                                       R"("invoke":50,"return":60,"rev":4}
{"id":4,"client":2,"op":"get","key":"k","invoke":70,"return":80,"value":"new","mod":3,"rev":4})";
  CHECK_THAT(lie(lines), Catch::StartsWith("resurrected: #4 ") &&
                             Catch::Contains("what #3 (client 1, delete \"k\"") &&
                             Catch::EndsWith("had removed"));
  CHECK(lie_found_by_search(lines) == "not_linearizable");
}

const std::string kUnknownPut = kTwoPuts +
                                R"({"id":3,"client":3,"op":"put","key":"k","value":"maybe",)"
                                R"("invoke":45,"outcome":"unknown"}
{"id":4,"client":2,"op":"get","key":"k","invoke":50,"return":60,"value":"maybe","mod":4,"rev":4}
)";

TEST_CASE("a write of unknown outcome that was seen must stay") {
  const std::string lines = kUnknownPut +
                            R"({"id":5,"client":2,"op":"get","key":"k","invoke":70,"return":80,)"
                            R"("value":"new","mod":3,"rev":4})";
  CHECK_THAT(lie(lines), Catch::StartsWith("vanished_write: #5 ") &&
                             Catch::Contains("#3 (client 3, put \"k\" = \"maybe\", 45.., unknown"));
  CHECK(lie_found_by_search(lines) == "not_linearizable");
}

TEST_CASE("a write of unknown outcome may take effect late or never") {
  CHECK(judged(kUnknownPut).verdict == Verdict::kOk);
  CHECK(judged(kTwoPuts + R"({"id":3,"client":3,"op":"put","key":"k","value":"maybe",)"
                          R"("invoke":45,"outcome":"unknown"})")
            .verdict == Verdict::kOk);
}

TEST_CASE("a write of unknown outcome cannot be seen at a revision from before it was asked for") {
  CHECK_THAT(lie(kTwoPuts + R"({"id":3,"client":3,"op":"put","key":"k","value":"maybe",)"
                            R"("invoke":75,"outcome":"unknown"}
{"id":4,"client":2,"op":"get","key":"j","invoke":62,"return":66,"value":null,"rev":4}
{"id":5,"client":2,"op":"get","key":"k","invoke":70,"return":80,"value":"maybe","mod":4,"rev":4})"),
             Catch::StartsWith("never_written: #5 ") &&
                 Catch::Contains("where that cannot have taken effect"));
}

TEST_CASE("an unknown delete explains one absence, not two") {
  const std::string once = kTwoPuts +
                           R"({"id":3,"client":3,"op":"delete","key":"k","invoke":45}
{"id":4,"client":2,"op":"get","key":"k","invoke":50,"return":60,"value":null,"rev":4}
)";
  CHECK(judged(once).verdict == Verdict::kOk);
  CHECK_THAT(
      lie(once +
          R"({"id":5,"client":2,"op":"put","key":"k","value":"v","invoke":61,"return":62,"rev":5}
{"id":6,"client":2,"op":"get","key":"k","invoke":70,"return":80,"value":null,"rev":6})"),
      Catch::StartsWith("lost_write: #6 "));
}

TEST_CASE("one unknown write may be there only for the sake of another") {
  CHECK(judged(R"({"id":1,"client":1,"op":"put","key":"k","value":"a","invoke":1}
{"id":2,"client":2,"op":"cas","key":"k","if_value":"a","value":"b","invoke":1}
{"id":3,"client":3,"op":"cas","key":"k","if_value":"a","value":"c","invoke":1,"return":9,)"
               R"("succeeded":false,"rev":3}
{"id":4,"client":4,"op":"delete","key":"k","deleted":1,"invoke":2,"return":9,"rev":4})")
            .verdict == Verdict::kOk);
}

TEST_CASE("an unknown write that is seen later explains nothing before") {
  const std::string lines = R"({"id":1,"client":1,"op":"put","key":"k","value":"a","invoke":1}
{"id":2,"client":3,"op":"delete","key":"k","deleted":1,"invoke":2,"return":9,"rev":3}
{"id":3,"client":4,"op":"get","key":"k","invoke":2,"return":9,"value":"a","mod":4,"rev":4}
)";
  CHECK_THAT(lie(lines), Catch::StartsWith("never_written: #3 "));
  CHECK(judged(lines + R"({"id":4,"client":2,"op":"put","key":"k","value":"b","invoke":1})")
            .verdict == Verdict::kOk);
}

const std::string kUnseenPut =
    R"({"id":1,"client":1,"op":"put","key":"k","value":"a","invoke":1}
{"id":2,"client":2,"op":"cas","key":"k","if_mod":3,"value":"b","invoke":1}
{"id":3,"client":3,"op":"get","key":"k","invoke":2,"return":9,"value":"b","mod":5,"rev":5}
)";

TEST_CASE("an unknown write stands where an unknown swap found it") {
  CHECK(judged(kUnseenPut).verdict == Verdict::kOk);
  CHECK_THAT(
      lie(kUnseenPut +
          R"({"id":4,"client":4,"op":"put","key":"j","value":"c","invoke":1,"return":9,"rev":3})"),
      Catch::StartsWith("never_written: #3 "));
}

TEST_CASE("an unknown delete needs a revision of its own") {
  CHECK_THAT(lie(kTwoPuts + R"({"id":3,"client":3,"op":"delete","key":"k","invoke":45}
{"id":4,"client":2,"op":"get","key":"k","invoke":50,"return":60,"value":null,"rev":3})"),
             Catch::StartsWith("lost_write: #4 "));
}

TEST_CASE("of two swaps from one state only one may succeed") {
  const std::string lines = kTwoPuts +
                            R"({"id":3,"client":2,"op":"cas","key":"k","if_value":"new",)"
                            R"("value":"a","invoke":50,"return":60,"succeeded":true,"rev":4}
{"id":4,"client":3,"op":"cas","key":"k","if_value":"new","value":"b","invoke":50,"return":60,)"
                            R"("succeeded":true,"rev":5})";
  CHECK_THAT(lie(lines), Catch::StartsWith("broken_condition: #4 ") &&
                             Catch::Contains("before that the key held what #3 "));
  CHECK(lie_found_by_search(lines) == "not_linearizable");
}

TEST_CASE("the same holds for swaps by modification revision") {
  CHECK_THAT(lie(kTwoPuts + R"({"id":3,"client":2,"op":"cas","key":"k","if_mod":3,)"
                            R"("value":"a","invoke":50,"return":60,"succeeded":true,"rev":4}
{"id":4,"client":3,"op":"cas","key":"k","if_mod":3,"value":"b","invoke":50,"return":60,)"
                            R"("succeeded":true,"rev":5})"),
             Catch::StartsWith("broken_condition: #4 "));
}

TEST_CASE("a swap is refused only where its condition does not hold") {
  CHECK_THAT(lie(kTwoPuts + R"({"id":3,"client":2,"op":"cas","key":"k","if_mod":3,)"
                            R"("value":"a","invoke":50,"return":60,"succeeded":false,"rev":3})"),
             Catch::StartsWith("false_refusal: #3 "));
}

TEST_CASE("a read shows nothing of a swap that was refused") {
  const std::string lines = kTwoPuts +
                            R"({"id":3,"client":2,"op":"cas","key":"k","if_value":"old",)"
                            R"("value":"phantom","invoke":50,"return":60,"succeeded":false,"rev":3}
{"id":4,"client":3,"op":"get","key":"k","invoke":70,"return":80,"value":"phantom","mod":4,"rev":4})";
  CHECK_THAT(lie(lines), Catch::StartsWith("phantom_write: #4 ") &&
                             Catch::Contains("the value of #3 ") &&
                             Catch::EndsWith("which had no effect"));
  CHECK(lie_found_by_search(lines) == "phantom_write");
}

TEST_CASE("a read shows nothing of a write that the client knows was not done") {
  CHECK_THAT(lie(kTwoPuts + R"({"id":3,"client":2,"op":"put","key":"k","value":"refused",)"
                            R"("invoke":50,"return":60,"outcome":"not_done"}
{"id":4,"client":3,"op":"get","key":"k","invoke":70,"return":80,"value":"refused","mod":4,"rev":4})"),
             Catch::StartsWith("phantom_write: #4 "));
}

TEST_CASE("a delete that found nothing in spite of an acknowledged write has lost it") {
  CHECK_THAT(lie(kTwoPuts + R"({"id":3,"client":2,"op":"delete","key":"k","deleted":0,)"
                            R"("invoke":50,"return":60,"rev":3})"),
             Catch::StartsWith("lost_write: #3 "));
}

TEST_CASE("a delete that found a key which did not exist is reported") {
  CHECK_THAT(lie(R"({"id":1,"client":2,"op":"delete","key":"k","deleted":1,)"
                 R"("invoke":50,"return":60,"rev":2})"),
             Catch::StartsWith("broken_condition: #1 ") &&
                 Catch::EndsWith("before that the key did not exist"));
}

TEST_CASE("a revision that is nobody's is a gap only in a closed history") {
  const std::string line =
      R"({"id":1,"client":1,"op":"put","key":"k","value":"v","invoke":1,"return":2,"rev":3})";
  CHECK(judged(line).verdict == Verdict::kOk);
  CHECK(lie(R"({"op":"start","revision":1,"closed":true})"
            "\n" +
            line) == "gap: revision 2 is no operation's of the history");
  CHECK(judged(R"({"op":"start","revision":1,"closed":true}
{"client":2,"op":"put","key":"j","value":"w","invoke":0}
)" + line)
            .verdict == Verdict::kOk);
}

// ---------------------------------------------------------------- serializable gets

std::string serializable_get(int id, const std::string& times, const std::string& shown) {
  return R"({"id":)" + std::to_string(id) +
         R"(,"client":2,"op":"get","serializable":true,"key":"k","member":"a",)" + times + "," +
         shown + "}\n";
}

TEST_CASE("a serializable get may be old") {
  CHECK(judged(kTwoPuts + serializable_get(3, R"("invoke":50,"return":60)",
                                           R"("value":"old","mod":2,"rev":2)"))
            .verdict == Verdict::kOk);
}

TEST_CASE("a serializable get must be right in its own state") {
  CHECK_THAT(lie(kTwoPuts + serializable_get(3, R"("invoke":50,"return":60)",
                                             R"("value":"old","mod":2,"rev":3)")),
             Catch::StartsWith("lost_write: #3 "));
}

TEST_CASE("a serializable get must not be from the future") {
  const std::string lines = kTwoPuts + serializable_get(3, R"("invoke":21,"return":29)",
                                                        R"("value":"new","mod":3,"rev":3)");
  CHECK_THAT(lie(lines), Catch::StartsWith("future_read: #3 "));
  CHECK(lie_found_by_search(lines) == "future_read");
}

TEST_CASE("a member must not answer below what it has answered before") {
  const std::string lines =
      kTwoPuts +
      serializable_get(3, R"("invoke":50,"return":60)", R"("value":"new","mod":3,"rev":3)") +
      serializable_get(4, R"("invoke":61,"return":70)", R"("value":"old","mod":2,"rev":2)");
  CHECK_THAT(lie(lines), Catch::StartsWith("stale_read: #4 ") && Catch::Contains("but #3 "));
}

// ----------------------------------------------------------------------- the report

TEST_CASE("a report shows what else went on at the time") {
  const std::string lines = kTwoPuts +
                            R"({"id":3,"client":2,"op":"get","key":"k","invoke":50,"return":60,)"
                            R"("value":"old","mod":2,"rev":3}
{"id":4,"client":3,"op":"get","key":"k","invoke":35,"return":55,"value":"new","mod":3,"rev":3}
{"id":5,"client":3,"op":"get","key":"other","invoke":35,"return":55,"value":null,"rev":3})";
  const History history = history_of(lines);
  const std::string text = to_text(history, check(history));
  CHECK_THAT(text,
             Catch::StartsWith("violation: 5 operations, checked by revisions\nlost_write: "));
  CHECK_THAT(text, Catch::Contains("  > #2 ") && Catch::Contains("    #4 ") &&
                       Catch::Contains("  > #3 ") && !Catch::Contains("#5 "));
  CHECK_THAT(to_json(history, check(history)),
             Catch::StartsWith(R"({"verdict":"violation","level":"revisions","operations":5,)") &&
                 Catch::Contains(R"("operations":[3,2],"window":[{"id":2,)"));
}

TEST_CASE("a search that runs out of its budget says so") {
  std::string lines;
  for (int i = 0; i < 12; ++i)
    lines += R"({"client":)" + std::to_string(i) + R"(,"op":"put","key":"k","value":")" +
             std::to_string(i) + R"(","invoke":1,"return":100})" + "\n";
  CHECK(check(history_of(lines)).verdict == Verdict::kOk);
  const Report report = check(history_of(lines), {.candidates_max = 100, .steps_max = 100});
  CHECK(report.verdict == Verdict::kUnknown);
  CHECK_THAT(report.unknown_because, Catch::Contains("given up at #"));
}

// ------------------------------------------------------------------- damaged input

TEST_CASE("a line that is not an operation is refused with its number") {
  const auto problem = [](const std::string& line) {
    std::istringstream in(kTwoPuts + line);
    const Result<History> history = read_history(in);
    REQUIRE_FALSE(history.has_value());
    return std::string(history.error().message());
  };
  CHECK_THAT(problem("{"), Catch::StartsWith("line 3: "));
  CHECK_THAT(problem("[]"), Catch::Contains("not a JSON object"));
  CHECK_THAT(problem("{}"), Catch::Contains("no \"op\""));
  CHECK_THAT(problem(R"({"op":"start","revision":1})"), Catch::Contains("before all operations"));
  CHECK_THAT(problem(R"({"op":"jump","client":1,"key":"k","invoke":1})"),
             Catch::Contains("none of \"put\""));
  CHECK_THAT(problem(R"({"op":"get","key":"k","invoke":1})"), Catch::Contains("lacks \"client\""));
  CHECK_THAT(problem(R"({"op":"get","client":1,"key":"k","invoke":9,"return":8,"value":null})"),
             Catch::Contains("before it is invoked"));
  CHECK_THAT(problem(R"({"op":"get","client":1,"key":"k","invoke":1,"return":8})"),
             Catch::Contains("what it was shown"));
  CHECK_THAT(problem(R"({"op":"delete","client":1,"key":"k","invoke":1,"return":8})"),
             Catch::Contains("must be 0 or 1"));
  CHECK_THAT(problem(R"({"op":"cas","client":1,"key":"k","value":"v","invoke":1,"return":8})"),
             Catch::Contains("\"if_mod\" or \"if_value\""));
  CHECK_THAT(problem(R"({"op":"cas","client":1,"key":"k","value":"v","if_mod":1,"invoke":1,)"
                     R"("return":8})"),
             Catch::Contains("lacks \"succeeded\""));
  CHECK_THAT(problem(R"({"op":"put","client":1,"key":"k","value":"v","invoke":1.5,"return":8})"),
             Catch::Contains("\"invoke\" is not an integer"));
  CHECK_THAT(problem(R"({"op":"put","client":1,"key":"k","value":"v","invoke":1,"return":8,)"
                     R"("outcome":"fine"})"),
             Catch::Contains("\"outcome\" is none of"));
}

TEST_CASE("fields that are not known and empty lines are passed over") {
  const History history = history_of(
      "\n"
      R"({"client":"w","op":"put","key":"k","value":"v","invoke":1,"return":2,"rev":2,)"
      R"("extra":{"op":"get","deep":[1,{"key":"z"}]}})"
      "\n\n");
  REQUIRE(history.operations.size() == 1);
  CHECK(history.text(history.operations[0].key) == "k");
  CHECK(history.operations[0].id == 2);
}

TEST_CASE("an empty history is clean") {
  CHECK(judged("").verdict == Verdict::kOk);
}

}  // namespace
}  // namespace quorate::linearizability
