// JSON as values and as text, for programs on hosts.
//
// The values are ours because a build pays for the library's: its templates take gcc more than a second in each file
// that includes them, and as much again for what the file calls. So verbs and reports see this class alone, and json.cc
// has the library read and write the text. Names and rules here are the library's.
#ifndef VIREO_SDK_JSON_JSON_H_
#define VIREO_SDK_JSON_JSON_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace vireo {

// Null, a boolean, a number, a text, an array or an object. Objects keep their members in the order in which they were
// added; a member that is set again keeps its place.
// What is asked of a value of another kind, a member that is missing or an index past the end: std::runtime_error.
class Json {
 public:
  struct Member;  // key, value
  class Item;

  Json();  // null
  Json(std::nullptr_t);
  template <typename T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
  Json(T value) : Json(Number{}, widened(value)) {}
  Json(const char* text);
  Json(std::string text);
  template <typename T>
  Json(const std::vector<T>& list) : Json(array()) {
    for (const T& value : list) push_back(value);
  }
  // In braces: an object where all items are arrays of a text and a value (of two with one key the first counts), else
  // an array.
  Json(std::initializer_list<Item> items);
  static Json array();
  static Json object();

  ~Json();
  Json(const Json& other);
  Json(Json&& other) noexcept;
  Json& operator=(Json other) noexcept;

  bool is_null() const;
  bool is_boolean() const;
  bool is_number() const;
  bool is_number_integer() const;   // no fraction, no exponent
  bool is_number_unsigned() const;  // made of an unsigned type, or read without a sign
  bool is_string() const;
  bool is_array() const;
  bool is_object() const;
  bool is_discarded() const;  // see parse_json

  // bool, a type of numbers or std::string. Numbers are converted as by static_cast, from floating point only what
  // fits.
  template <typename T>
  T get() const {
    if constexpr (std::is_same_v<T, bool>)
      return truth();
    else if constexpr (std::is_floating_point_v<T>)
      return static_cast<T>(real());
    else if constexpr (std::is_integral_v<T>)
      return static_cast<T>(whole<std::is_signed_v<T>>());
    else
      return static_cast<const T&>(text());
  }

  // Of arrays and objects; null has none, of the others each is one.
  size_t size() const;
  bool empty() const { return size() == 0; }

  // Arrays; null serves as an empty one, and becomes one when something is added.
  Json* begin();
  Json* end();
  const Json* begin() const;
  const Json* end() const;
  const Json& operator[](size_t index) const;
  Json& operator[](size_t index);
  const Json& front() const;
  Json& back();
  void push_back(Json value);

  // Objects; null becomes one when something is added. Only operator[] of what is not const adds what is missing.
  const std::vector<Member>& items() const;
  std::vector<Member>& items();
  bool contains(std::string_view key) const { return find(key) != nullptr; }
  const Json* find(std::string_view key) const;  // nullptr: not there, or this is no object
  const Json& at(std::string_view key) const;
  const Json& operator[](std::string_view key) const { return at(key); }
  Json& operator[](std::string_view key);
  // `otherwise` where the member is missing.
  template <typename T>
  T value(std::string_view key, T otherwise) const {
    const Json* const found = member(key);
    return found == nullptr ? std::move(otherwise) : found->get<T>();
  }
  std::string value(std::string_view key, const char* otherwise) const { return value(key, std::string(otherwise)); }
  void update(Json other);  // with the members of another object
  void erase(std::string_view key);

  // Numbers by what they say, whatever their type; objects with their order.
  friend bool operator==(const Json& a, const Json& b) { return a.equals(b); }
  friend bool operator!=(const Json& a, const Json& b) { return !a.equals(b); }
  friend std::ostream& operator<<(std::ostream& out, const Json& json) { return json.print(out); }

 private:
  struct Number {};
  struct Discarded {
    friend bool operator==(Discarded, Discarded) { return true; }
  };
  using Array = std::vector<Json>;
  using Object = std::vector<Member>;
  friend Json parse_json(std::string_view text);

  template <typename T>
  static constexpr auto widened(T value) {
    if constexpr (std::is_same_v<T, bool>)
      return value;
    else if constexpr (std::is_floating_point_v<T>)
      return static_cast<double>(value);
    else if constexpr (std::is_signed_v<T>)
      return static_cast<int64_t>(value);
    else
      return static_cast<uint64_t>(value);
  }
  Json(Number, bool value);
  Json(Number, int64_t value);
  Json(Number, uint64_t value);
  Json(Number, double value);

  [[noreturn]] void fail(const std::string& wanted) const;
  bool truth() const;
  double real() const;
  template <bool kSigned>
  std::conditional_t<kSigned, int64_t, uint64_t> whole() const;
  const std::string& text() const;
  const Array& list() const;
  Array& list();
  const Json* member(std::string_view key) const;  // as find, but of objects alone
  bool equals(const Json& other) const;
  std::ostream& print(std::ostream& out) const;

  std::variant<std::monostate, bool, int64_t, uint64_t, double, std::string, Array, Object, Discarded> data_;
};

struct Json::Member {
  std::string key;
  Json value;
  friend bool operator==(const Member& a, const Member& b) { return a.key == b.key && a.value == b.value; }
};

// What stands in braces: a value or braces again. What a list holds is const, hence `mutable`: values are moved out.
class Json::Item {
 public:
  template <typename T, std::enable_if_t<std::is_constructible_v<Json, T>, int> = 0>
  Item(T&& value) : value_(std::forward<T>(value)) {}
  Item(std::initializer_list<Item> items) : value_(items) {}

 private:
  friend class Json;
  mutable Json value_;
};

// `indent` spaces for each level; below 0: all on one line. Numbers that are not finite are written as null.
// Names come from model files: bytes that are no UTF-8 are replaced instead of making the whole output fail.
std::string json_text(const Json& json, int indent);

// Throws nothing for text that is no JSON, or that nests deeper than kMostJsonDepth: the value then is_discarded(). The
// bound is there because values are copied, compared and freed by recursion.
constexpr size_t kMostJsonDepth = 512;
Json parse_json(std::string_view text);
Json parse_json(const std::vector<uint8_t>& bytes);

}  // namespace vireo

#endif  // VIREO_SDK_JSON_JSON_H_
