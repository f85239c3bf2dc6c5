// Joining and reversing: every element is moved once.

// Part blockIdx.y, seen as [outer, own], goes to columns start + (what the parts before it are wide) of out [outer, width].
// Elements have `bytes`, and are moved in units M: rows and their starts are multiples of it.
template <class M, class T, int N>
inline void join(T* to, const Pointers<T, N>& parts, long long outer, long long width, long long start, long long bytes) {
    const int part = blockIdx.y;
    long long rest;
    for (int before = 0; before < part; ++before) start += divide(parts.at[before].numel, outer, rest);
    const long long own = divide(parts.at[part].numel, outer, rest) * bytes / sizeof(M), numel = own * outer;
    const M* data = reinterpret_cast<const M*>(parts.at[part].data);
    M* out = reinterpret_cast<M*>(to) + start * bytes / sizeof(M);
    width = width * bytes / sizeof(M);
    for (long long i = first_index(); i < numel; i += index_step()) {
        const M held = data[i];
        long long column = i;
        const long long row = outer > 1 ? divide(i, own, column) : 0;
        out[row * width + column] = held;
    }
}

// Dimension d is reversed where bit d of `mask` is set.
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
