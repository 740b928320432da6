// Language models: windows over one text, every next token of which is to be told.
#include <algorithm>
#include <filesystem>
#include <tuple>

#include "c_api/cli/file.h"
#include "c_api/cli/inputs.h"
#include "c_api/cli/npy.h"
#include "converter/cli/dataset.h"
#include "converter/cli/tokenizer.h"

namespace vireo::cli {
namespace {

bool is_integer(vireo_dtype dtype) { return dtype == VIREO_INT64 || dtype == VIREO_INT32; }

bool has_word(const vireo_value_info& info, const std::string& word) {
  return std::string(info.name).find(word) != std::string::npos;
}

const char* name_of(const vireo_value_info& info, int32_t d) {
  return info.dim_names[d] == nullptr ? "" : info.dim_names[d];
}

// What an input of a language model is for, by its name as exporters give it.
enum class Role { kTokens, kPositions, kMask, kCache, kState, kUnknown };

Role role_of(const vireo_value_info& info, const std::string& tokens) {
  if (info.state_of >= 0) return Role::kState;
  if (!tokens.empty() ? tokens == info.name : is_integer(info.dtype) && has_word(info, "input_ids"))
    return Role::kTokens;
  if (has_word(info, "position")) return Role::kPositions;
  if (has_word(info, "mask")) return Role::kMask;
  if (dtype_is_float(info.dtype) && has_word(info, "past")) return Role::kCache;
  return Role::kUnknown;
}

class TokenData final : public Dataset {
 public:
  TokenData(const DataOptions& options, const Model& model)
      : model_(model), window_(options.window > 0 ? options.window : kWindow) {
    if (options.inputs.size() > 1)
      throw Failure("a text goes into one input, and --input is given twice", "write --input NAME=KEY once");
    std::string input, key;
    if (!options.inputs.empty()) std::tie(input, key) = split_assignment(options.inputs[0]);
    find_roles(input);
    read_tokens(options, key.empty() ? model.inputs()[tokens_at_].name : key);
    if (tokens_.size() < 2)
      throw Failure(options.data + " holds " + std::to_string(tokens_.size()) + " tokens", "it takes two at least");
  }

  uint64_t size() const override { return (tokens_.size() - 2) / static_cast<size_t>(window_) + 1; }
  bool has(quant::Needs what) const override { return what == quant::Needs::kTokens || what == quant::Needs::kLabel; }

  Item next() override {
    Item item;
    const auto at = static_cast<ptrdiff_t>(at_);
    const auto length = std::min<int64_t>(window_, static_cast<int64_t>(tokens_.size()) - 1 - at);
    item.name = "tokens " + std::to_string(at) + " to " + std::to_string(at + length - 1);
    item.labels.assign(tokens_.begin() + at + 1, tokens_.begin() + at + 1 + length);
    for (size_t i = 0; i < roles_.size(); ++i) item.inputs.push_back(input_of(i, at, length));
    at_ += static_cast<size_t>(length);
    return item;
  }

 private:
  static constexpr int64_t kWindow = 256;

  void find_roles(const std::string& named) {
    size_t found = 0;
    for (const vireo_value_info& info : model_.inputs()) roles_.push_back(role_of(info, named));
    if (named.empty() && std::count(roles_.begin(), roles_.end(), Role::kTokens) == 0 && roles_.size() == 1 &&
        is_integer(model_.inputs()[0].dtype))
      roles_[0] = Role::kTokens;
    for (size_t i = 0; i < roles_.size(); ++i) {
      const vireo_value_info& info = model_.inputs()[i];
      if (roles_[i] == Role::kTokens) tokens_at_ = i, ++found;
      if (roles_[i] != Role::kUnknown) continue;
      throw Failure("input '" + std::string(info.name) + "' of " + model_.name() + " is none of a language model's",
                    "known are input_ids, position_ids, attention_mask and past...; --input NAME=KEY names the tokens",
                    {"failed", model_.name(), "", info.name, "", ""});
    }
    if (found != 1 || model_.inputs()[tokens_at_].rank != 2 || !is_integer(model_.inputs()[tokens_at_].dtype)) {
      throw Failure(model_.name() + " has no input of tokens, int64[batch,length]",
                    "--input NAME=KEY says which input it is");
    }
  }

  void read_tokens(const DataOptions& options, const std::string& key) {
    if (std::filesystem::path(options.data).extension() != ".npz") {
      if (options.tokenizer.empty())
        throw Failure(options.data + " is a text, and without --tokenizer it is no tokens",
                      "--tokenizer takes the model's tokenizer.json");
      const std::vector<uint8_t> bytes = read_file(options.data);
      tokens_ = Tokenizer(options.tokenizer).encode(std::string(bytes.begin(), bytes.end()), options.data);
      return;
    }
    const Array array = NpzFile(options.data).read(key);
    const std::string where = options.data + " (" + key + ")";
    if (array.dims.size() != 1 || dtype_is_float(array.dtype) || array.dtype == VIREO_STRING) {
      throw Failure(where + " is " + vireo_dtype_text(array.dtype) + " " + shape_text(array.dims) +
                        ", but with --window it is one row of tokens",
                    "give whole numbers with one dimension, or leave --window away");
    }
    for (int64_t i = 0; i < array.count(); ++i) tokens_.push_back(static_cast<int64_t>(real_at(array, i)));
  }

  // Of a batch of 1 with an empty cache.
  Array input_of(size_t i, ptrdiff_t at, int64_t length) const {
    const vireo_value_info& info = model_.inputs()[i];
    if (roles_[i] == Role::kState) return {};
    std::vector<int64_t> dims;
    const vireo_value_info& tokens = model_.inputs()[tokens_at_];
    for (int32_t d = 0; d < info.rank; ++d) {
      const std::string name = name_of(info, d);
      const bool open = info.min_dims[d] != info.max_dims[d];
      if (roles_[i] != Role::kCache)
        dims.push_back(d + 1 == info.rank ? length : 1);
      else if (!open)
        dims.push_back(info.max_dims[d]);
      else
        dims.push_back(d == 0 || name == name_of(tokens, 0) ? 1 : info.min_dims[d]);
    }
    Array array = make_array(info.dtype, dims);
    for (int64_t k = 0; k < length && roles_[i] != Role::kCache; ++k) {
      const int64_t value = roles_[i] == Role::kTokens ? tokens_[static_cast<size_t>(at + k)]
                            : roles_[i] == Role::kMask ? 1
                                                       : k;
      set_real(&array, k, static_cast<double>(value));
    }
    return array;
  }

  const Model& model_;
  int64_t window_;
  std::vector<Role> roles_;
  size_t tokens_at_ = 0, at_ = 0;
  std::vector<int64_t> tokens_;
};

}  // namespace

std::unique_ptr<Dataset> open_tokens(const DataOptions& options, const Model& model) {
  return std::make_unique<TokenData>(options, model);
}

}  // namespace vireo::cli
