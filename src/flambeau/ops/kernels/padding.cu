// Padding: every element of the result is one of the input, or the constant.
// MODE: 0 constant, 1 reflect, 2 replicate, 3 circular.  before[d]: elements in front of the input along dimension d; less than 0 cuts.

template <int MODE, class T>
inline void pad(T* out, const T* input, const Layout<1>& layout, const Layout<1>& frame, const long long (&before)[8], T value) {
    const long long numel = count(frame);
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < numel; i += (long long)gridDim.x * blockDim.x) {
        long long rest = i, at = 0;
        bool is_inside = true;
        for (int dim = (int)frame.ndim - 1; dim >= 0; --dim) {
            long long place = rest;
            if (dim > 0) rest = divide(rest, frame.size[dim], place);
            const long long size = layout.size[dim];
            place -= before[dim];
            if (MODE == 0) {
                is_inside = is_inside && place >= 0 && place < size;
            } else if (MODE == 1) {
                if (place < 0) place = -place;
                if (place >= size) place = 2 * (size - 1) - place;
            } else if (MODE == 2) {
                place = place < 0 ? 0 : place < size ? place : size - 1;
            } else {
                place %= size;
                if (place < 0) place += size;
            }
            at += place * layout.stride[0][dim];
        }
        out[i] = is_inside ? input[at] : value;
    }
}
