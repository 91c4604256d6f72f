// SPDX-License-Identifier: Apache-2.0
#include "conformance/backend/engine.h"

#include <dlfcn.h>
#include <stdlib.h>

#include <cstdio>
#include <cstring>

#include <catch2/catch.hpp>

namespace quorate::conformance {
namespace {

quorate_slice slice(const std::string& bytes) {
  return {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()};
}

std::string copy(quorate_slice bytes) {
  return {reinterpret_cast<const char*>(bytes.data), bytes.size};
}

quorate_error empty_error() {
  quorate_error error{};
  error.struct_size = sizeof error;
  return error;
}

[[noreturn]] void die(const std::string& sentence) {
  std::fprintf(stderr, "conformance_backend: %s\n", sentence.c_str());
  std::_Exit(2);
}

const quorate_plugin& load() {
  const char* path = std::getenv("QUORATE_PLUGIN");
  if (path == nullptr) die("set QUORATE_PLUGIN to the path of a backend plugin");
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) die(dlerror());
  const auto* table = static_cast<const quorate_plugin*>(dlsym(library, "quorate_entry"));
  if (table == nullptr) die(std::string(path) + " has no quorate_entry");
  if (table->abi_major != QUORATE_ABI_MAJOR)
    die(std::string(path) + " was built for another major version of the ABI");
  if (table->get_factory(QUORATE_BACKEND_FACTORY) == nullptr)
    die(std::string(path) + " is no backend plugin");
  quorate_error error = empty_error();
  if (table->init(nullptr, &error) != QUORATE_OK) die(std::string("init: ") + error.message);
  return *table;
}

void expect_ok(quorate_status status, const quorate_error& error) {
  if (status != QUORATE_OK)
    throw EngineError("status " + std::to_string(status) + ": " + error.message);
}

quorate_status open(const std::string& dir, uint64_t quota_bytes,
                    const std::vector<std::string>& buckets, quorate_backend** out,
                    quorate_error* error) {
  std::vector<const char*> names;
  for (const std::string& bucket : buckets) names.push_back(bucket.c_str());
  quorate_backend_options options{};
  options.struct_size = sizeof options;
  options.bucket_count = static_cast<uint32_t>(names.size());
  options.buckets = names.data();
  options.dir = dir.c_str();
  options.quota_bytes = quota_bytes;
  return factory().open(&options, out, error);
}

}  // namespace

const quorate_plugin& plugin() {
  static const quorate_plugin& loaded = load();
  return loaded;
}

const quorate_backend_factory& factory() {
  return *static_cast<const quorate_backend_factory*>(
      plugin().get_factory(QUORATE_BACKEND_FACTORY));
}

bool durable() {
  return (factory().capabilities & QUORATE_BACKEND_DURABLE) != 0;
}

bool skipped_for_not_durable() {
  if (!durable()) WARN("skipped: " << plugin().id << " is not durable");
  return !durable();
}

TempDir::TempDir() {
  const char* base = std::getenv("TMPDIR");
  path_ = std::string(base == nullptr ? "/tmp" : base) + "/quorate-backend-XXXXXX";
  if (mkdtemp(path_.data()) == nullptr) die("cannot make a directory like " + path_);
}

TempDir::~TempDir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

Batch& Batch::put(uint32_t bucket, std::string key, std::string value, uint16_t flags) {
  ops_.push_back({QUORATE_OP_PUT, flags, bucket, std::move(key), std::move(value)});
  return *this;
}

Batch& Batch::erase(uint32_t bucket, std::string key) {
  return of_kind(QUORATE_OP_DELETE, bucket, std::move(key));
}

Batch& Batch::of_kind(uint16_t kind, uint32_t bucket, std::string key) {
  ops_.push_back({kind, 0, bucket, std::move(key), {}});
  return *this;
}

std::vector<quorate_op> Batch::ops() const {
  std::vector<quorate_op> ops;
  for (const Op& op : ops_)
    ops.push_back({op.kind, op.flags, op.bucket, slice(op.key), slice(op.value)});
  return ops;
}

Cursor::Cursor(quorate_read* read, uint32_t bucket) {
  quorate_error error = empty_error();
  expect_ok(factory().cursor_open(read, bucket, &cursor_, &error), error);
}

Cursor::~Cursor() {
  factory().cursor_close(cursor_);
}

bool Cursor::at(quorate_status status, const quorate_error& error) {
  if (status == QUORATE_NOT_FOUND) return false;
  expect_ok(status, error);
  return true;
}

bool Cursor::seek(const std::string& key) {
  quorate_error error = empty_error();
  const quorate_status status = factory().seek(cursor_, slice(key), &key_, &value_, &error);
  return at(status, error);
}

bool Cursor::next() {
  quorate_error error = empty_error();
  const quorate_status status = factory().next(cursor_, &key_, &value_, &error);
  return at(status, error);
}

std::string Cursor::key() const {
  return copy(key_);
}

std::string Cursor::value() const {
  return copy(value_);
}

View::View(quorate_backend* backend) {
  quorate_error error = empty_error();
  expect_ok(factory().read_open(backend, &read_, &error), error);
}

View::~View() {
  factory().read_close(read_);
}

std::optional<std::string> View::get(uint32_t bucket, const std::string& key) {
  quorate_error error = empty_error();
  quorate_slice value{};
  const quorate_status status = factory().get(read_, bucket, slice(key), &value, &error);
  if (status == QUORATE_NOT_FOUND) return std::nullopt;
  expect_ok(status, error);
  return copy(value);
}

quorate_slice View::get_in_place(uint32_t bucket, const std::string& key) {
  quorate_error error = empty_error();
  quorate_slice value{};
  expect_ok(factory().get(read_, bucket, slice(key), &value, &error), error);
  return value;
}

Pairs View::scan(uint32_t bucket, const std::string& from) {
  Pairs pairs;
  const auto at = cursor(bucket);
  for (bool found = at->seek(from); found; found = at->next())
    pairs.emplace_back(at->key(), at->value());
  return pairs;
}

Engine::Engine(const std::string& dir, uint64_t quota_bytes, std::vector<std::string> buckets) {
  quorate_error error = empty_error();
  expect_ok(open(dir, quota_bytes, buckets, &backend_, &error), error);
}

Engine::~Engine() {
  factory().close(backend_);
}

Answer Engine::refused_open(const std::string& dir, std::vector<std::string> buckets) {
  quorate_error error = empty_error();
  quorate_backend* backend = nullptr;
  const quorate_status status = open(dir, 0, buckets, &backend, &error);
  if (status == QUORATE_OK) factory().close(backend);
  return {status, error.message};
}

void Engine::write(const Batch& batch) {
  const Answer answer = try_write(batch);
  if (answer.status != QUORATE_OK)
    throw EngineError("write: status " + std::to_string(answer.status) + ": " + answer.message);
}

Answer Engine::try_write(const Batch& batch) {
  const std::vector<quorate_op> ops = batch.ops();
  quorate_error error = empty_error();
  const quorate_status status = factory().write(backend_, ops.data(), ops.size(), &error);
  return {status, error.message};
}

quorate_backend_stats Engine::stats() {
  quorate_backend_stats stats{};
  stats.struct_size = sizeof stats;
  quorate_error error = empty_error();
  expect_ok(factory().stats(backend_, &stats, &error), error);
  return stats;
}

void Model::apply(const Batch& batch) {
  for (const quorate_op& op : batch.ops()) {
    if (op.kind == QUORATE_OP_PUT) {
      buckets_[op.bucket][copy(op.key)] = copy(op.value);
    } else {
      buckets_[op.bucket].erase(copy(op.key));
    }
  }
}

std::string number_key(uint64_t number) {
  std::string key(8, '\0');
  for (int i = 7; i >= 0; --i, number >>= 8)
    key[static_cast<size_t>(i)] = static_cast<char>(number & 0xff);
  return key;
}

}  // namespace quorate::conformance
