// Padding: every element of the result is one of the input, or the constant.
//
//  - MODE: 0 constant, 1 reflect, 2 replicate, 3 circular.  I is the type of indexes: int where all fit 31 bits.
//  - A thread finds one place in the inner dimensions and moves the elements there of ROWS indexes of the first, so that
//    the cost of the place is shared and several loads are in flight.  Neighbouring threads have neighbouring elements.

// The number of elements before the input along each dimension; a negative one crops.
struct Before { long long at[8]; };

// The index in the input of the element at `place`, counted from the input's first; no border is longer than the input.
template <int MODE, class I> inline I source(I place, I size, bool& is_inside) {
    if (MODE == 0) is_inside = is_inside && place >= 0 && place < size;
    if (MODE == 1 && place < 0) place = -place;
    if (MODE == 1 && place >= size) place = 2 * (size - 1) - place;
    if (MODE == 2) place = place < 0 ? 0 : place < size ? place : size - 1;
    if (MODE == 3 && place < 0) place += size;
    if (MODE == 3 && place >= size) place -= size;
    return place;
}

template <int MODE, class I, int ROWS, class T>
inline void pad(T* out, const T* input, const Layout<1>& layout, const Layout<1>& frame, const Before& before, T value) {
    const I rows = (I)frame.size[0], step = (rows + ROWS - 1) / ROWS;
    I share = step;
    #pragma unroll 1
    for (int dim = 1; dim < (int)frame.ndim; ++dim) share *= (I)frame.size[dim];
    for (I linear = (I)(blockIdx.x * blockDim.x + threadIdx.x); linear < share; linear += (I)(gridDim.x * blockDim.x)) {
        I row = linear, at = 0;
        bool is_inside = true;
        #pragma unroll 1
        for (int dim = (int)frame.ndim - 1; dim > 0; --dim) {
            I place;
            row = divide(row, (I)frame.size[dim], place);
            at += source<MODE>(place - (I)before.at[dim], (I)layout.size[dim], is_inside) * (I)layout.stride[0][dim];
        }
        T held[ROWS];
        #pragma unroll
        for (int each = 0; each < ROWS; ++each) {
            bool is_there = is_inside && row + each * step < rows;
            const I place = source<MODE>(row + each * step - (I)before.at[0], (I)layout.size[0], is_there);
            held[each] = value;
            if (is_there) held[each] = input[place * (I)layout.stride[0][0] + at];
        }
        #pragma unroll
        for (int each = 0; each < ROWS; ++each)
            if (row + each * step < rows) out[linear + each * share] = held[each];
    }
}
