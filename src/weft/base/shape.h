// The dims of a value, outermost first, and with a dtype its type. Values; safe to share between threads.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/dim.h"
#include "weft/base/dtype.h"
#include "weft/base/export.h"

namespace weft {

class WEFT_API Shape {
 public:
  Shape() = default;  // rank 0: one element
  Shape(std::initializer_list<Dim> dims) : dims_(dims) {}
  explicit Shape(std::vector<Dim> dims) : dims_(std::move(dims)) {}
  explicit Shape(const std::vector<std::int64_t>& dims) : dims_(dims.begin(), dims.end()) {}
  static Shape parse(std::string_view text);  // "[n, 64]"

  std::size_t rank() const { return dims_.size(); }
  const Dim& operator[](std::size_t axis) const { return dims_[axis]; }
  Dim& operator[](std::size_t axis) { return dims_[axis]; }
  const Dim& back() const { return dims_.back(); }
  const std::vector<Dim>& dims() const { return dims_; }
  auto begin() const { return dims_.begin(); }
  auto end() const { return dims_.end(); }
  void push_back(Dim dim) { dims_.push_back(std::move(dim)); }

  Dim numel() const;
  bool is_static() const;
  std::optional<std::vector<std::int64_t>> static_dims() const;
  std::vector<std::int64_t> eval(const DimBinding& binding) const;
  std::string text() const;

  friend bool operator==(const Shape&, const Shape&) = default;

 private:
  std::vector<Dim> dims_;
};

// The NumPy rule: aligned at the last axis.
WEFT_API Shape broadcast(const Shape& a, const Shape& b);

struct TensorType {
  Shape shape;
  DType dtype = DType::f32;
  std::string text() const { return shape.text() + " " + std::string(to_string(dtype)); }
  friend bool operator==(const TensorType&, const TensorType&) = default;
};

}  // namespace weft
