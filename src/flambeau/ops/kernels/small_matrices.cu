// Factorizations of small matrices, one block for each: up to SIDE rows and columns in shared memory.
//
//  - Matrices are by columns in shared memory and in results: element (row, column) is at[column][row].  The odd step
//    from a column to the next spreads a row over the banks.
//  - Blocks are one warp, in which a lane is a row or a column.  Those of eigenvalues and of singular values have a warp
//    for each pair of columns, or for every PAIRS pairs, and rotate all pairs at once (Jacobi's method).
//  - Codes of failures are LAPACK's: 0 for none, else the number of the first bad element of the diagonal, from 1.

constexpr int SIDE = 32, SWEEPS = 30, PAIRS = 4;
constexpr int COLUMNS = 8;  // of a matrix that a step of the Cholesky factorization changes at a time
constexpr unsigned int ALL = 0xffffffffu;
template <class T> using Square = T[SIDE][SIDE + 1];

template <class T> constexpr T EPSILON = sizeof(T) == 4 ? T(1.1920928955078125e-7) : T(2.220446049250313e-16);
template <class T> constexpr T SMALL_SQUARE = T(sizeof(T) == 4 ? 1e-31 : 1e-292);  // most of a column that counts as 0

template <class T> inline T size_of(T x) { return x < 0 ? -x : x; }

template <class T> inline T sum_of_warp(T x) {
    for (int step = SIDE / 2; step; step /= 2) x += __shfl_xor_sync(ALL, x, step);
    return x;
}

// The lane with the largest number, the first of several.
template <class T> inline int lane_of_largest(T x) {
    int lane = threadIdx.x % SIDE;
    for (int step = SIDE / 2; step; step /= 2) {
        const T other = __shfl_xor_sync(ALL, x, step);
        const int other_lane = __shfl_xor_sync(ALL, lane, step);
        if (other > x || (other == x && other_lane < lane)) x = other, lane = other_lane;
    }
    return lane;
}

// Read a matrix of a batch with any strides, or its transpose if is_transposed.
template <class T>
inline void read(Square<T>& to, const T* from, const Layout<1>& layout, long long matrix, int rows, int columns,
                 bool is_transposed = false) {
    from += matrix * layout.stride[0][0];
    for (int i = threadIdx.x; i < rows * columns; i += blockDim.x) {
        const int row = i / columns, column = i - row * columns;
        const T x = from[row * layout.stride[0][1] + column * layout.stride[0][2]];
        (is_transposed ? to[row][column] : to[column][row]) = x;
    }
    __syncthreads();
}

// Write a matrix of a batch, whose columns, or rows if by_rows, are contiguous.
template <class T>
inline void write(T* to, const Square<T>& from, long long matrix, int rows, int columns, bool by_rows = false) {
    to += matrix * rows * columns;
    for (int i = threadIdx.x; i < rows * columns; i += blockDim.x)
        to[i] = by_rows ? from[i % columns][i / columns] : from[i / rows][i % rows];
}

template <class T> inline void set_identity(Square<T>& to, int rows, int columns) {
    for (int i = threadIdx.x; i < rows * columns; i += blockDim.x) to[i / rows][i % rows] = i / rows == i % rows;
    __syncthreads();
}

// ---- LU ----

// Replace a matrix by its LU factors; return the code.  A NaN is the largest element of its column.
template <class T>
inline int eliminate(Square<T>& a, int (&pivots)[SIDE], int rows, int columns, bool exchanges) {
    const int lane = threadIdx.x, count = rows < columns ? rows : columns;
    int code = 0;
    for (int at = 0; at < count; ++at) {
        int chosen = at;
        if (exchanges) {
            const T x = lane < rows ? size_of(a[at][lane]) : T(0);
            chosen = lane_of_largest(lane < at || lane >= rows ? T(-1) : x == x ? x : T(INFINITY));
            __syncwarp();
            if (chosen != at && lane < columns) {
                const T held = a[lane][at];
                a[lane][at] = a[lane][chosen];
                a[lane][chosen] = held;
            }
        }
        if (lane == 0) pivots[at] = chosen;
        __syncwarp();
        const T pivot = a[at][at];
        if (pivot == 0 && code == 0) code = at + 1;
        if (lane > at && lane < rows && (pivot != 0 || !exchanges)) a[at][lane] /= pivot;
        __syncwarp();
        if (lane > at && lane < columns) {
            const T x = a[lane][at];
            for (int row = at + 1; row < rows; ++row) a[lane][row] -= a[at][row] * x;
        }
        __syncwarp();
    }
    return code;
}

template <class T>
inline void small_lu(T* factors, int* pivots, int* codes, const T* a, const Layout<1>& layout, long long batch,
                     int rows, int columns, int count, bool exchanges) {
    __shared__ Square<T> matrix;
    __shared__ int order[SIDE];
    for (long long i = blockIdx.x; i < batch; i += gridDim.x) {
        read(matrix, a, layout, i, rows, columns);
        const int code = eliminate(matrix, order, rows, columns, exchanges);
        write(factors, matrix, i, rows, columns);
        if (threadIdx.x < count) pivots[i * count + threadIdx.x] = order[threadIdx.x] + 1;
        if (threadIdx.x == 0) codes[i] = code;
        __syncwarp();
    }
}

// ---- solutions: a lane is a column of the right side ----

// Replace the column x by the solution of a triangular system.  is_transposed: of the transposed triangle.
template <class T>
inline void substitute(const Square<T>& a, T* x, int n, bool upper, bool unit, bool is_transposed) {
    const bool is_backward = upper != is_transposed;
    for (int step = 0; step < n; ++step) {
        const int at = is_backward ? n - 1 - step : step;
        const T value = unit ? x[at] : x[at] / a[at][at];
        x[at] = value;
        for (int row = is_backward ? 0 : at + 1; row < (is_backward ? at : n); ++row)
            x[row] -= (is_transposed ? a[row][at] : a[at][row]) * value;
    }
}

template <class T> inline void exchange(T* x, int one, int other) {
    const T held = x[one];
    x[one] = x[other];
    x[other] = held;
}

template <class T>
inline void substitute_factors(const Square<T>& factors, const int (&pivots)[SIDE], T* x, int n, bool is_transposed) {
    if (is_transposed) {
        substitute(factors, x, n, true, false, true);
        substitute(factors, x, n, false, true, true);
        for (int at = n - 1; at >= 0; --at) exchange(x, at, pivots[at]);
    } else {
        for (int at = 0; at < n; ++at) exchange(x, at, pivots[at]);
        substitute(factors, x, n, false, true, false);
        substitute(factors, x, n, true, false, false);
    }
}

// X of A @ X = B; the inverse of A where B is null.
template <class T>
inline void small_solution(T* x, int* codes, const T* a, const T* b, const Layout<1>& a_layout,
                           const Layout<1>& b_layout, long long batch, int n, int columns) {
    __shared__ Square<T> matrix, right;
    __shared__ int order[SIDE];
    for (long long i = blockIdx.x; i < batch; i += gridDim.x) {
        read(matrix, a, a_layout, i, n, n);
        if (b) read(right, b, b_layout, i, n, columns);
        else set_identity(right, n, n);
        const int code = eliminate(matrix, order, n, n, true);
        if (threadIdx.x < columns) substitute_factors(matrix, order, right[threadIdx.x], n, false);
        if (threadIdx.x == 0) codes[i] = code;
        __syncwarp();
        write(x, right, i, n, columns);
        __syncwarp();
    }
}

// X of A @ X = B, or of A^T @ X = B, given the LU factors of A.
template <class T>
inline void small_lu_solution(T* x, const int* pivots, const T* factors, const T* b, const Layout<1>& a_layout,
                              const Layout<1>& b_layout, long long batch, int n, int columns, bool is_transposed) {
    __shared__ Square<T> matrix, right;
    __shared__ int order[SIDE];
    for (long long i = blockIdx.x; i < batch; i += gridDim.x) {
        read(matrix, factors, a_layout, i, n, n);
        read(right, b, b_layout, i, n, columns);
        if (threadIdx.x < n) {
            const int other = pivots[i * n + threadIdx.x] - 1;
            device_assert(other >= 0 && other < n);
            order[threadIdx.x] = other;
        }
        __syncwarp();
        if (threadIdx.x < columns) substitute_factors(matrix, order, right[threadIdx.x], n, is_transposed);
        __syncwarp();
        write(x, right, i, n, columns);
        __syncwarp();
    }
}

// X of A @ X = B for triangular A.
template <class T>
inline void small_triangular(T* x, const T* a, const T* b, const Layout<1>& a_layout, const Layout<1>& b_layout,
                             long long batch, int n, int columns, bool upper, bool unit) {
    __shared__ Square<T> matrix, right;
    for (long long i = blockIdx.x; i < batch; i += gridDim.x) {
        read(matrix, a, a_layout, i, n, n);
        read(right, b, b_layout, i, n, columns);
        if (threadIdx.x < columns) substitute(matrix, right[threadIdx.x], n, upper, unit, false);
        __syncwarp();
        write(x, right, i, n, columns);
        __syncwarp();
    }
}

// ---- Cholesky ----

// L of A = L @ L^T, from the lower triangle of A; 0 above the diagonal.  by_rows: whether its rows are contiguous.
template <class T>
inline void small_cholesky(T* factor, int* codes, const T* a, const Layout<1>& layout, long long batch, int n,
                           bool by_rows) {
    __shared__ Square<T> matrix;
    const int lane = threadIdx.x;
    for (long long i = blockIdx.x; i < batch; i += gridDim.x) {
        read(matrix, a, layout, i, n, n);
        int code = 0;
        for (int at = 0; at < n; ++at) {
            const T square = matrix[at][at], pivot = sqrt(square);
            if (!(square > 0)) {
                code = at + 1;
                break;
            }
            const T x = lane > at && lane < n ? matrix[at][lane] / pivot : T(0);
            __syncwarp();  // all have read the pivot before one replaces it
            for (int first = at + 1; first < n; first += COLUMNS) {  // all are read before one is written
                T rest[COLUMNS];
#pragma unroll
                for (int k = 0; k < COLUMNS; ++k) {
                    const T factor = __shfl_sync(ALL, x, first + k);
                    if (first + k <= lane) rest[k] = matrix[first + k][lane] - x * factor;
                }
#pragma unroll
                for (int k = 0; k < COLUMNS; ++k)
                    if (first + k <= lane) matrix[first + k][lane] = rest[k];
            }
            if (lane >= at && lane < n) matrix[at][lane] = lane == at ? pivot : x;
            __syncwarp();
        }
        for (int row = 0; lane < n && row < lane; ++row) matrix[lane][row] = 0;
        if (lane == 0) codes[i] = code;
        __syncwarp();
        write(factor, matrix, i, n, n, by_rows);
        __syncwarp();
    }
}

// ---- QR ----

// Replace a matrix by R and, below it, the vectors of the reflections, and write their factors.
template <class T> inline void reflect(Square<T>& a, T (&factors)[SIDE], int rows, int columns) {
    const int lane = threadIdx.x, count = rows < columns ? rows : columns;
    for (int at = 0; at < count; ++at) {
        const bool is_below = lane > at && lane < rows;
        const T alpha = a[at][at], x = is_below ? a[at][lane] : T(0);
        T scale = size_of(x);
        for (int step = SIDE / 2; step; step /= 2) scale = fmax(scale, __shfl_xor_sync(ALL, scale, step));
        const bool is_zero = __all_sync(ALL, x == 0);
        scale = fmax(scale, size_of(alpha));
        const T ratio = is_zero ? T(0) : x / scale, first = is_zero ? T(0) : alpha / scale;
        const T length = scale * sqrt(sum_of_warp(ratio * ratio) + first * first);
        const T beta = alpha < 0 ? length : -length;
        const T factor = is_zero ? T(0) : (beta - alpha) / beta;
        __syncwarp();
        if (lane == 0) factors[at] = factor;
        if (!is_zero && is_below) a[at][lane] = x / (alpha - beta);
        if (!is_zero && lane == at) a[at][at] = beta;
        __syncwarp();
        if (!is_zero && lane > at && lane < columns) {
            T along = a[lane][at];
            for (int row = at + 1; row < rows; ++row) along += a[at][row] * a[lane][row];
            along *= factor;
            a[lane][at] -= along;
            for (int row = at + 1; row < rows; ++row) a[lane][row] -= along * a[at][row];
        }
        __syncwarp();
    }
}

template <class T>
inline void small_reflectors(T* packed, T* factors, const T* a, const Layout<1>& layout, long long batch, int rows,
                             int columns, int count) {
    __shared__ Square<T> matrix;
    __shared__ T scales[SIDE];
    for (long long i = blockIdx.x; i < batch; i += gridDim.x) {
        read(matrix, a, layout, i, rows, columns);
        reflect(matrix, scales, rows, columns);
        write(packed, matrix, i, rows, columns);
        if (threadIdx.x < count) factors[i * count + threadIdx.x] = scales[threadIdx.x];
        __syncwarp();
    }
}

// Q with `width` columns, which are contiguous, and R with as many rows, which are contiguous.
template <class T>
inline void small_qr(T* q, T* r, const T* a, const Layout<1>& layout, long long batch, int rows, int columns,
                     int width) {
    __shared__ Square<T> matrix, product;
    __shared__ T scales[SIDE];
    const int lane = threadIdx.x, count = rows < columns ? rows : columns;
    for (long long i = blockIdx.x; i < batch; i += gridDim.x) {
        read(matrix, a, layout, i, rows, columns);
        set_identity(product, rows, width);
        reflect(matrix, scales, rows, columns);
        for (int at = count - 1; lane < width && at >= 0; --at) {
            T along = product[lane][at];
            for (int row = at + 1; row < rows; ++row) along += matrix[at][row] * product[lane][row];
            along *= scales[at];
            product[lane][at] -= along;
            for (int row = at + 1; row < rows; ++row) product[lane][row] -= along * matrix[at][row];
        }
        __syncwarp();
        write(q, product, i, rows, width);
        for (int at = lane; at < width * columns; at += SIDE) {
            const int row = at / columns, column = at - row * columns;
            r[i * width * columns + at] = row <= column ? matrix[column][row] : T(0);
        }
        __syncwarp();
    }
}

// ---- Jacobi's method ----

// Divide a matrix by a power of two, so that its largest element is near 1; return the power.  Return NaN if an element
// is NaN, else 0 if one is infinite.
template <class T> inline T scale_down(Square<T>& a, int rows, int columns) {
    const int lane = threadIdx.x % SIDE;
    T largest = 0;
    bool is_finite = true, is_number = true;
    for (int column = 0; lane < rows && column < columns; ++column) {
        const T size = size_of(a[column][lane]);
        largest = fmax(largest, size);
        is_finite = is_finite && size < T(INFINITY);
        is_number = is_number && size == size;
    }
    for (int step = SIDE / 2; step; step /= 2) largest = fmax(largest, __shfl_xor_sync(ALL, largest, step));
    is_finite = __all_sync(ALL, is_finite);
    is_number = __all_sync(ALL, is_number);
    __syncthreads();
    if (!is_finite) return is_number ? T(0) : T(NAN);
    int exponent = 0;
    if (largest > 0) frexp(largest, &exponent);
    const int most = sizeof(T) == 4 ? 126 : 1022;
    exponent = exponent < -most ? -most : exponent > most ? most : exponent;
    const T down = ldexp(T(1), -exponent);
    for (int i = threadIdx.x; i < rows * columns; i += blockDim.x) a[i / rows][i % rows] *= down;
    __syncthreads();
    return ldexp(T(1), exponent);
}

// Pair `number` of columns of a step: every two columns meet once in a sweep.  False if there is none.
inline bool pair_of(int number, int step, int columns, int& one, int& other) {
    const int turning = columns - 1 + columns % 2;  // columns that change partners; the last of an even number stays
    one = (step + number) % turning;
    other = number == 0 ? turning : (step + turning - number) % turning;
    if (one > other) {
        const int held = one;
        one = other;
        other = held;
    }
    return other < columns;
}

// Cosine and sine of the rotation that makes [[alpha, gamma], [gamma, beta]] diagonal.
template <class T> inline void rotation(T alpha, T beta, T gamma, T& cosine, T& sine) {
    const T zeta = (beta - alpha) / (2 * gamma), size = size_of(zeta);
    const T tangent = size > 1 / EPSILON<T> ? 1 / (2 * size) : 1 / (size + sqrt(1 + zeta * zeta));
    cosine = 1 / sqrt(1 + tangent * tangent);
    sine = cosine * (zeta < 0 ? -tangent : tangent);
}

// Rotate two columns: a lane is a row.
template <class T> inline void rotate(T& x, T& y, T cosine, T sine) {
    const T former = x;
    x = cosine * former - sine * y;
    y = sine * former + cosine * y;
}

// A pair of columns and its rotation.  Of the N pairs that a warp rotates in a step, lane k computes the k-th.
template <int N, class T> struct Turn {
    int one = 0, other = 0;
    T cosine = 1, sine = 0;
    bool is_pair = false;
    void find(int step, int columns) {
        const int lane = threadIdx.x % SIDE, warp = threadIdx.x / SIDE, warps = blockDim.x / SIDE;
        const int number = N == 1 ? warp : warp + lane * warps;
        is_pair = number < (columns + 1) / 2 && pair_of(number, step, columns, one, other);
    }
    template <class X> static X from(X x, int k) { return N == 1 ? x : __shfl_sync(ALL, x, k); }
    Turn of(int k) const { return {from(one, k), from(other, k), from(cosine, k), from(sine, k), from((int)is_pair, k) != 0}; }
};

// Rotate pairs of columns, and of rows, until a symmetric matrix is diagonal; rotate the columns of `turns` as well.  A
// warp has N pairs at most.  Return whether the matrix is diagonal.
template <int N, class T> inline bool diagonalize(Square<T>& matrix, Square<T>& turns, int n) {
    const int lane = threadIdx.x % SIDE;
    for (int sweep = 0; sweep < SWEEPS; ++sweep) {
        int rotated = 0;
        for (int step = 0; step < n - 1 + n % 2; ++step) {
            Turn<N, T> mine, turn[N];
            mine.find(step, n);
            const T gamma = mine.is_pair ? matrix[mine.other][mine.one] : T(0);
            mine.is_pair = size_of(gamma) > EPSILON<T> / 8;
            if (mine.is_pair)
                rotation(matrix[mine.one][mine.one], matrix[mine.other][mine.other], gamma, mine.cosine, mine.sine);
            rotated |= mine.is_pair;
            __syncthreads();
            T x[N], y[N], z[N], w[N];
#pragma unroll
            for (int k = 0; k < N; ++k) {
                turn[k] = mine.of(k);
                turn[k].is_pair = turn[k].is_pair && lane < n;
                if (!turn[k].is_pair) continue;
                x[k] = matrix[turn[k].one][lane], y[k] = matrix[turn[k].other][lane];
                z[k] = turns[turn[k].one][lane], w[k] = turns[turn[k].other][lane];
            }
#pragma unroll
            for (int k = 0; k < N; ++k) {
                if (!turn[k].is_pair) continue;
                rotate(x[k], y[k], turn[k].cosine, turn[k].sine);
                rotate(z[k], w[k], turn[k].cosine, turn[k].sine);
                matrix[turn[k].one][lane] = x[k], matrix[turn[k].other][lane] = y[k];
                turns[turn[k].one][lane] = z[k], turns[turn[k].other][lane] = w[k];
            }
            __syncthreads();
#pragma unroll
            for (int k = 0; k < N; ++k)
                if (turn[k].is_pair) x[k] = matrix[lane][turn[k].one], y[k] = matrix[lane][turn[k].other];
#pragma unroll
            for (int k = 0; k < N; ++k) {
                if (!turn[k].is_pair) continue;
                rotate(x[k], y[k], turn[k].cosine, turn[k].sine);
                matrix[lane][turn[k].one] = lane == turn[k].other ? T(0) : x[k];
                matrix[lane][turn[k].other] = lane == turn[k].one ? T(0) : y[k];
            }
            __syncthreads();
        }
        if (!__syncthreads_or(rotated)) return true;
    }
    return false;
}

// Eigenvalues in ascending order and, unless `vectors` is null, eigenvectors as columns.  Results of a matrix that is
// not finite are NaN; the code is 1 if it has a NaN.
template <class T>
inline void small_eigen(T* values, T* vectors, int* codes, const T* a, const Layout<1>& layout, long long batch,
                        int n, bool lower) {
    __shared__ Square<T> matrix, turns;
    __shared__ int order[SIDE];
    const int lane = threadIdx.x % SIDE;
    for (long long i = blockIdx.x; i < batch; i += gridDim.x) {
        read(matrix, a, layout, i, n, n);
        for (int at = threadIdx.x; at < n * n; at += blockDim.x) {
            const int column = at / n, row = at - column * n;
            if (lower ? row > column : row < column) matrix[row][column] = matrix[column][row];
        }
        __syncthreads();
        const T scale = scale_down(matrix, n, n);
        set_identity(turns, n, n);
        const bool is_finite = scale > 0;
        const bool is_done = !is_finite || (blockDim.x / SIDE == (n + 1) / 2 ? diagonalize<1>(matrix, turns, n)
                                                                             : diagonalize<PAIRS>(matrix, turns, n));
        if (threadIdx.x < n) {
            int place = 0;
            const T value = matrix[lane][lane];
            for (int at = 0; at < n; ++at) {
                const T other = matrix[at][at];
                place += other < value || (other == value && at < lane);
            }
            order[lane] = is_finite ? place : lane;
            values[i * n + order[lane]] = is_finite ? value * scale : T(NAN);
        }
        if (threadIdx.x == 0) codes[i] = scale != scale || !is_done;
        __syncthreads();
        for (int at = threadIdx.x; vectors && at < n * n; at += blockDim.x)
            vectors[(i * n + order[at / n]) * n + at % n] = is_finite ? turns[at / n][at % n] : T(NAN);
        __syncthreads();
    }
}

// Make the columns of a matrix that are not valid orthonormal to the others, by one warp.  A lane is a row.
template <class T> inline void complete(Square<T>& a, bool (&is_valid)[SIDE], int rows, int columns) {
    const int lane = threadIdx.x;
    for (int at = 0; at < columns; ++at) {
        if (is_valid[at]) continue;
        T rest = lane < rows ? T(1) : T(-1);  // the squared distance of a unit vector to the valid columns
        for (int column = 0; lane < rows && column < columns; ++column)
            if (is_valid[column]) rest -= a[column][lane] * a[column][lane];
        const int chosen = lane_of_largest(rest);
        T x = lane == chosen;
        for (int pass = 0; pass < 2; ++pass)
            for (int column = 0; column < columns; ++column)
                if (is_valid[column]) {
                    const T y = lane < rows ? a[column][lane] : T(0);
                    x -= sum_of_warp(x * y) * y;
                }
        const T length = sqrt(sum_of_warp(x * x));
        if (lane < rows) a[at][lane] = x / length;
        __syncwarp();
        if (lane == 0) is_valid[at] = true;
        __syncwarp();
    }
}

// Rotate pairs of columns until those of a matrix are orthogonal; rotate the columns of `turns` as well.  A warp has N pairs
// at most.  Return whether they are orthogonal.
template <int N, class T> inline bool orthogonalize(Square<T>& matrix, Square<T>& turns, int rows, int columns) {
    const int lane = threadIdx.x % SIDE;
    for (int sweep = 0; sweep < SWEEPS; ++sweep) {
        int rotated = 0;
        for (int step = 0; step < columns - 1 + columns % 2; ++step) {
            Turn<N, T> mine, turn[N];
            mine.find(step, columns);
            T x[N], y[N], alpha = 0, beta = 0, gamma = 0;
#pragma unroll
            for (int k = 0; k < N; ++k) {
                turn[k] = mine.of(k);
                const bool is_there = turn[k].is_pair && lane < rows;
                x[k] = is_there ? matrix[turn[k].one][lane] : T(0), y[k] = is_there ? matrix[turn[k].other][lane] : T(0);
            }
#pragma unroll
            for (int k = 0; k < N; ++k) {
                const T xx = sum_of_warp(x[k] * x[k]), yy = sum_of_warp(y[k] * y[k]), xy = sum_of_warp(x[k] * y[k]);
                if (N == 1 || lane == k) alpha = xx, beta = yy, gamma = xy;
            }
            const bool counts = alpha > SMALL_SQUARE<T> && beta > SMALL_SQUARE<T>;
            mine.is_pair = counts && size_of(gamma) > 8 * EPSILON<T> * sqrt(alpha) * sqrt(beta);
            if (mine.is_pair) rotation(alpha, beta, gamma, mine.cosine, mine.sine);
            rotated |= mine.is_pair;
#pragma unroll
            for (int k = 0; k < N; ++k) {
                turn[k] = mine.of(k);
                if (!turn[k].is_pair) continue;
                const auto [one, other, cosine, sine, is_pair] = turn[k];
                rotate(x[k], y[k], cosine, sine);
                if (lane < rows) matrix[one][lane] = x[k], matrix[other][lane] = y[k];
                if (lane < columns) rotate(turns[one][lane], turns[other][lane], cosine, sine);
            }
            __syncthreads();
        }
        if (!__syncthreads_or(rotated)) return true;
    }
    return false;
}

// Singular values in descending order and, unless `u` is null, singular vectors: u_width columns of U and v_width rows
// of V^T, which are contiguous.  Codes as of eigenvalues.  Of a wide matrix, A^T = V @ S @ U^T is computed.
template <class T>
inline void small_singular(T* u, T* values, T* vt, int* codes, const T* a, const Layout<1>& layout, long long batch,
                           int a_rows, int a_columns, int columns, int u_width, int v_width) {
    __shared__ Square<T> matrix, turns;
    __shared__ T sizes[SIDE];
    __shared__ int order[SIDE];
    __shared__ bool is_valid[SIDE];
    const int lane = threadIdx.x % SIDE, warp = threadIdx.x / SIDE;
    const bool is_wide = a_rows < a_columns;
    const int rows = is_wide ? a_columns : a_rows, width = is_wide ? v_width : u_width;
    T *left = is_wide ? vt : u, *right = is_wide ? u : vt;
    for (long long i = blockIdx.x; i < batch; i += gridDim.x) {
        read(matrix, a, layout, i, a_rows, a_columns, is_wide);
        const T scale = scale_down(matrix, rows, columns);
        set_identity(turns, columns, columns);
        const bool is_finite = scale > 0;
        const bool is_done = !is_finite || (blockDim.x / SIDE == (columns + 1) / 2
                                                ? orthogonalize<1>(matrix, turns, rows, columns)
                                                : orthogonalize<PAIRS>(matrix, turns, rows, columns));
        for (int column = warp; column < SIDE; column += blockDim.x / SIDE) {
            const T x = lane < rows && column < columns ? matrix[column][lane] : T(0);
            const T square = sum_of_warp(x * x), length = sqrt(square);
            if (lane == 0) sizes[column] = length, is_valid[column] = square > SMALL_SQUARE<T>;
            if (lane < rows && square > SMALL_SQUARE<T>) matrix[column][lane] = x / length;
        }
        __syncthreads();
        if (threadIdx.x < SIDE) {
            int place = 0;
            for (int at = 0; at < columns; ++at)
                place += sizes[at] > sizes[lane] || (sizes[at] == sizes[lane] && at < lane);
            order[lane] = is_finite && lane < columns ? place : lane;
            if (lane < columns) values[i * columns + order[lane]] = is_finite ? sizes[lane] * scale : T(NAN);
            if (lane == 0) codes[i] = scale != scale || !is_done;
            if (left && is_finite) complete(matrix, is_valid, rows, width);
        }
        __syncthreads();
        for (int at = threadIdx.x; left && at < rows * width; at += blockDim.x)
            left[(i * width + order[at / rows]) * rows + at % rows] =
                is_finite ? matrix[at / rows][at % rows] : T(NAN);
        for (int at = threadIdx.x; left && at < columns * columns; at += blockDim.x)
            right[(i * columns + order[at / columns]) * columns + at % columns] =
                is_finite ? turns[at / columns][at % columns] : T(NAN);
        __syncthreads();
    }
}
