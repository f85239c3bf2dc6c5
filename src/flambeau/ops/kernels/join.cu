// Concatenation and reversal: every element is moved once.

// The width of each part's rows, and the column of the result where they begin, in units of type M.
struct Columns { long long own[8], start[8]; };

// Part blockIdx.y, seen as [outer, own], is copied to columns of out [outer, width].  A unit M is 1 to 16 bytes.
template <class M, class T, int N>
inline void join(M* out, const Pointers<T, N>& parts, const Columns& columns, long long outer, long long width) {
    const int part = blockIdx.y;
    const M* data = reinterpret_cast<const M*>(parts.at[part].data);
    const long long own = columns.own[part], numel = own * outer;
    out += columns.start[part];
    for (long long i = first_index(); i < numel; i += index_step()) {
        const M held = data[i];
        long long column = i;
        const long long row = outer > 1 ? divide(i, own, column) : 0;
        out[row * width + column] = held;
    }
}

// Dimension d is reversed if bit d of `mask` is set.
template <class T>
inline void reverse(T* out, const T* input, const Layout<1>& layout, long long numel, long long mask) {
    const long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < numel; i += step) {
        long long rest = i, at = 0;
        for (int d = (int)layout.ndim - 1; d >= 0; --d) {
            long long place;
            rest = divide(rest, layout.size[d], place);
            at += (mask >> d & 1 ? layout.size[d] - 1 - place : place) * layout.stride[0][d];
        }
        out[i] = input[at];
    }
}
