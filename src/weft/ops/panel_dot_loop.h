// Included by panel_dot.cpp once per instruction set, inside a namespace that defines `width` (doubles per register)
// and `tile` (rows whose sums fit the registers). No header of its own: the vector types must be lowered for the
// instruction set in force at the point of inclusion.

template <class P, int rows>
void dot_rows(const P* __restrict panel, const double* __restrict x, std::int64_t x_stride, std::int64_t terms,
              double* __restrict sums) {
  typedef double Wide __attribute__((vector_size(width * sizeof(double)), aligned(sizeof(double))));
  typedef P Narrow __attribute__((vector_size(width * sizeof(P)), aligned(sizeof(P))));
  constexpr int parts = static_cast<int>(panel_lanes) / width;
  Wide sum[rows][parts];
  for (int r = 0; r < rows; ++r)
    for (int p = 0; p < parts; ++p) sum[r][p] = *reinterpret_cast<const Wide*>(sums + r * panel_lanes + p * width);
  for (std::int64_t k = 0; k < terms; ++k) {
    Wide column[parts];
    for (int p = 0; p < parts; ++p)
      column[p] = __builtin_convertvector(*reinterpret_cast<const Narrow*>(panel + k * panel_lanes + p * width), Wide);
    for (int r = 0; r < rows; ++r) {
      const double factor = x[r * x_stride + k];
      for (int p = 0; p < parts; ++p) sum[r][p] += factor * column[p];
    }
  }
  for (int r = 0; r < rows; ++r)
    for (int p = 0; p < parts; ++p) *reinterpret_cast<Wide*>(sums + r * panel_lanes + p * width) = sum[r][p];
}

template <class P>
void dot(const P* panel, const double* x, std::int64_t x_stride, std::int64_t rows, std::int64_t terms, double* sums) {
  std::int64_t r = 0;
  for (; r + tile <= rows; r += tile)
    dot_rows<P, tile>(panel, x + r * x_stride, x_stride, terms, sums + r * panel_lanes);
  for (; r < rows; ++r) dot_rows<P, 1>(panel, x + r * x_stride, x_stride, terms, sums + r * panel_lanes);
}
