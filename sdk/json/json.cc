#include "sdk/json/json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>
#include <stdexcept>

namespace vireo {
namespace {

using Library = nlohmann::ordered_json;

// What the library's parser calls, which does not recurse.
class Reader {
 public:
  bool null() { return add(nullptr); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(int64_t value) { return add(value); }
  bool number_unsigned(uint64_t value) { return add(value); }
  bool number_float(double value, const std::string&) { return add(value); }
  bool string(std::string& value) { return add(std::move(value)); }
  bool binary(Library::binary_t&) { return false; }
  bool start_object(size_t) { return open(Json::object()); }
  bool start_array(size_t) { return open(Json::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(std::string& key) {
    key_ = std::move(key);
    return true;
  }
  bool parse_error(size_t, const std::string&, const Library::exception&) { return false; }

  Json& root() { return root_; }

 private:
  Json* place(Json value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    Json& owner = *open_.back();
    if (owner.is_object()) {
      Json& member = owner[key_];
      member = std::move(value);
      return &member;
    }
    owner.push_back(std::move(value));
    return &owner.back();
  }
  bool add(Json value) {
    place(std::move(value));
    return true;
  }
  bool open(Json value) {
    if (open_.size() == kMostJsonDepth) return false;
    open_.push_back(place(std::move(value)));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  Json root_;
  std::vector<Json*> open_;  // outermost first; only the last one grows, so these stay where they are
  std::string key_;
};

Library to_library(const Json& json) {
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_unsigned()) return json.get<uint64_t>();
  if (json.is_number_integer()) return json.get<int64_t>();
  if (json.is_number()) return json.get<double>();
  if (json.is_string()) return json.get<std::string>();
  if (json.is_array()) {
    Library::array_t list;
    list.reserve(json.size());
    for (const Json& value : json) list.push_back(to_library(value));
    return list;
  }
  if (json.is_object()) {
    Library::object_t members;
    members.reserve(json.size());
    // As a vector: the library would look for each key among those before it.
    Library::object_t::Container& list = members;
    for (const auto& [key, value] : json.items()) list.emplace_back(key, to_library(value));
    return members;
  }
  return nullptr;
}

}  // namespace

Json::Json() = default;
Json::Json(std::nullptr_t) {}
Json::Json(Number, bool value) : data_(value) {}
Json::Json(Number, int64_t value) : data_(value) {}
Json::Json(Number, uint64_t value) : data_(value) {}
Json::Json(Number, double value) : data_(value) {}
Json::Json(const char* text) : data_(std::string(text)) {}
Json::Json(std::string text) : data_(std::move(text)) {}

Json::Json(std::initializer_list<Item> items) {
  const bool members = std::all_of(items.begin(), items.end(), [](const Item& item) {
    const Json& pair = item.value_;
    return pair.is_array() && pair.size() == 2 && pair.front().is_string();
  });
  *this = members ? object() : array();
  for (const Item& item : items) {
    Json& value = item.value_;
    if (!members)
      push_back(std::move(value));
    else if (!contains(value.front().text()))
      (*this)[value.front().text()] = std::move(value.back());
  }
}

Json Json::array() {
  Json json;
  json.data_ = Array();
  return json;
}
Json Json::object() {
  Json json;
  json.data_ = Object();
  return json;
}

Json::~Json() = default;
Json::Json(const Json& other) = default;
Json::Json(Json&& other) noexcept = default;
Json& Json::operator=(Json other) noexcept {
  data_ = std::move(other.data_);
  return *this;
}

bool Json::is_null() const { return std::holds_alternative<std::monostate>(data_); }
bool Json::is_boolean() const { return std::holds_alternative<bool>(data_); }
bool Json::is_number() const { return is_number_integer() || std::holds_alternative<double>(data_); }
bool Json::is_number_integer() const { return is_number_unsigned() || std::holds_alternative<int64_t>(data_); }
bool Json::is_number_unsigned() const { return std::holds_alternative<uint64_t>(data_); }
bool Json::is_string() const { return std::holds_alternative<std::string>(data_); }
bool Json::is_array() const { return std::holds_alternative<Array>(data_); }
bool Json::is_object() const { return std::holds_alternative<Object>(data_); }
bool Json::is_discarded() const { return std::holds_alternative<Discarded>(data_); }

void Json::fail(const std::string& wanted) const {
  static const char* const kKinds[] = {"null",   "a boolean", "a number",  "a number", "a number",
                                       "a text", "an array",  "an object", "no JSON"};
  throw std::runtime_error("JSON: " + wanted + " is needed where " + kKinds[data_.index()] + " stands");
}

bool Json::truth() const {
  if (const bool* value = std::get_if<bool>(&data_)) return *value;
  fail("a boolean");
}

double Json::real() const {
  if (const double* value = std::get_if<double>(&data_)) return *value;
  if (const int64_t* value = std::get_if<int64_t>(&data_)) return static_cast<double>(*value);
  if (const uint64_t* value = std::get_if<uint64_t>(&data_)) return static_cast<double>(*value);
  fail("a number");
}

template <bool kSigned>
std::conditional_t<kSigned, int64_t, uint64_t> Json::whole() const {
  using Wide = std::conditional_t<kSigned, int64_t, uint64_t>;
  if (const int64_t* value = std::get_if<int64_t>(&data_)) return static_cast<Wide>(*value);
  if (const uint64_t* value = std::get_if<uint64_t>(&data_)) return static_cast<Wide>(*value);
  const double value = real();
  if (value >= (kSigned ? -0x1p63 : 0) && value < (kSigned ? 0x1p63 : 0x1p64)) return static_cast<Wide>(value);
  fail("a whole number of 64 bits");
}
template int64_t Json::whole<true>() const;
template uint64_t Json::whole<false>() const;

const std::string& Json::text() const {
  if (const std::string* value = std::get_if<std::string>(&data_)) return *value;
  fail("a text");
}

const Json::Array& Json::list() const {
  static const Array kNone;
  if (is_null()) return kNone;
  if (const Array* list = std::get_if<Array>(&data_)) return *list;
  fail("an array");
}

Json::Array& Json::list() {
  if (is_null()) data_ = Array();
  if (Array* list = std::get_if<Array>(&data_)) return *list;
  fail("an array");
}

size_t Json::size() const {
  if (is_null()) return 0;
  if (const Array* list = std::get_if<Array>(&data_)) return list->size();
  if (const Object* object = std::get_if<Object>(&data_)) return object->size();
  return 1;
}

Json* Json::begin() { return is_null() ? nullptr : list().data(); }
Json* Json::end() { return is_null() ? nullptr : list().data() + list().size(); }
const Json* Json::begin() const { return list().data(); }
const Json* Json::end() const { return list().data() + list().size(); }

const Json& Json::operator[](size_t index) const {
  if (index < list().size()) return list()[index];
  throw std::runtime_error("JSON: an array of " + std::to_string(size()) + " has no element " + std::to_string(index));
}
Json& Json::operator[](size_t index) { return const_cast<Json&>(std::as_const(*this)[index]); }
const Json& Json::front() const { return (*this)[0]; }
Json& Json::back() { return (*this)[size() - 1]; }
void Json::push_back(Json value) { list().push_back(std::move(value)); }

const std::vector<Json::Member>& Json::items() const {
  if (const Object* object = std::get_if<Object>(&data_)) return *object;
  fail("an object");
}
std::vector<Json::Member>& Json::items() { return const_cast<std::vector<Member>&>(std::as_const(*this).items()); }

const Json* Json::member(std::string_view key) const {
  for (const Member& member : items()) {
    if (member.key == key) return &member.value;
  }
  return nullptr;
}

const Json* Json::find(std::string_view key) const { return is_object() ? member(key) : nullptr; }

const Json& Json::at(std::string_view key) const {
  if (const Json* found = member(key)) return *found;
  throw std::runtime_error("JSON: an object has no member \"" + std::string(key) + "\"");
}

Json& Json::operator[](std::string_view key) {
  if (is_null()) data_ = Object();
  if (const Json* found = member(key)) return const_cast<Json&>(*found);
  items().push_back({std::string(key), {}});
  return items().back().value;
}

void Json::update(Json other) {
  if (is_null()) data_ = Object();
  for (Member& member : other.items()) (*this)[member.key] = std::move(member.value);
}

void Json::erase(std::string_view key) {
  Object& object = items();
  object.erase(std::remove_if(object.begin(), object.end(), [&](const Member& member) { return member.key == key; }),
               object.end());
}

bool Json::equals(const Json& other) const {
  if (is_number() && other.is_number() && data_.index() != other.data_.index()) {
    if (!is_number_integer() || !other.is_number_integer()) return real() == other.real();
    // One is signed: equal where it is not negative and the bits are the same.
    const Json& with_sign = is_number_unsigned() ? other : *this;
    return with_sign.whole<true>() >= 0 && whole<false>() == other.whole<false>();
  }
  return data_ == other.data_;
}

std::ostream& Json::print(std::ostream& out) const { return out << json_text(*this, -1); }

std::string json_text(const Json& json, int indent) {
  return to_library(json).dump(indent, ' ', false, Library::error_handler_t::replace);
}

Json parse_json(std::string_view text) {
  Reader reader;
  Json json;
  if (Library::sax_parse(text, &reader)) return std::move(reader.root());
  json.data_ = Json::Discarded();
  return json;
}

Json parse_json(const std::vector<uint8_t>& bytes) {
  return parse_json(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

}  // namespace vireo
