  // The body of every pointwise kernel.  pointwise.py replaces the names after a dollar sign by code for every tensor.
  const long long row = layout.stride[operands][0];
  const bool is_line = layout.ndim == 1;
  const long long wave = (long long)gridDim.x * threads, place_in_wave = blockIdx.x * (long long)threads + threadIdx.x;
  long long numel = layout.size[0], done = 0;
  #pragma unroll 1
  for (int dim = 1; dim < (int)layout.ndim; ++dim) numel *= layout.size[dim];
  if (row != -1 && row >> 32 && $ALIGNED) {
    const long long count = numel / pack;
    #pragma unroll 1
    for (long long position = place_in_wave; position < count; position += wave) {
      $PACKS
      long long place = position * pack;
      if (is_line) {
        $FETCH_LINE
      } else {
        unsigned int at[1][operands];
        find(layout, (unsigned int)position, (unsigned int)count, pack, at);
        $FETCH
        place = at[0][0];
      }
      $REPEAT
      Pack<$T, pack> result;
      #pragma unroll
      for (int lane = 0; lane < pack; ++lane) result.at[lane] = value($OF_PACK);
      *reinterpret_cast<Pack<$T, pack>*>(out + place) = result;
    }
    done = count * pack;
    if (done == numel) return;
  }
  if (row == -1 || is_line && row & 1) {
    #pragma unroll 1
    for (long long position = done + place_in_wave; position < numel; position += wave) {
      long long at[operands];
      find_far(layout, position, at);
      out[at[0]] = value($OF_FAR);
    }
    return;
  }
  long long first = done + blockIdx.x * (long long)(threads * singles) + threadIdx.x;
  #pragma unroll 1
  for (; first < numel; first += wave * singles) {
    $ONES
    unsigned int at[singles][operands];
    find(layout, (unsigned int)first, (unsigned int)numel, 1, at);
    #pragma unroll
    for (int each = 0; each < singles; ++each) { $FETCH_ONE }
    #pragma unroll
    for (int each = 0; each < singles; ++each)
      if (first + each * threads < numel) out[at[each][0]] = value($OF_ONE);
  }
