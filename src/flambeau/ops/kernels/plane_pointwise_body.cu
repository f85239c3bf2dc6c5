  // The body of a kernel of channel_pointwise.py, which replaces names after a dollar sign.  Dimension 0 of the layout
  // is a plane, which has one value of each channel operand.  The result and operands with all elements are contiguous.
  // A pack of elements lies in one plane or in two, since no plane is smaller.
  const unsigned int plane = (unsigned int)layout.size[0], inverse = 0xffffffffu / plane;
  const unsigned int wave = gridDim.x * threads, first = blockIdx.x * threads + threadIdx.x;
  const int last = (int)layout.ndim - 1;
  unsigned int numel = plane;
  #pragma unroll 1
  for (int dim = 1; dim <= last; ++dim) numel *= (unsigned int)layout.size[dim];
  const unsigned int count = numel / pack;
  auto plane_of = [&](unsigned int element) {
    const unsigned int quotient = __umulhi(element, inverse);  // at most 1 too small
    return element - quotient * plane >= plane ? quotient + 1 : quotient;
  };
  auto find_plane = [&](unsigned int index, unsigned int (&at)[operands]) {
    for (int operand = 0; operand < operands; ++operand) at[operand] = 0;
    #pragma unroll 1
    for (int dim = 1; dim < last; ++dim) {
      const unsigned int quotient = index / (unsigned int)layout.size[dim];
      const unsigned int rest = index - quotient * (unsigned int)layout.size[dim];
      for (int operand = 0; operand < operands; ++operand) at[operand] += rest * (unsigned int)layout.stride[operand][dim];
      index = quotient;
    }
    for (int operand = 0; operand < operands; ++operand) at[operand] += index * (unsigned int)layout.stride[operand][last];
  };
  unsigned int at[operands];
  #pragma unroll 1
  for (unsigned int position = first; position < count; position += loads * wave) {
    $PACKS
    #pragma unroll
    for (int each = 0; each < loads; ++each) {
      const unsigned int place = (position + each * wave < count ? position + each * wave : position) * pack;
      $FETCH
    }
    #pragma unroll
    for (int each = 0; each < loads; ++each) {
      if (position + each * wave >= count) break;
      const unsigned int place = (position + each * wave) * pack, index = plane_of(place);
      const unsigned int left = (index + 1) * plane - place;
      find_plane(index, at);
      $HERE
      Pack<$T, pack> result;
      if (left >= pack) {
        #pragma unroll
        for (int lane = 0; lane < pack; ++lane) result.at[lane] = value($OF_PACK);
      } else {
        find_plane(index + 1, at);
        $NEXT
        #pragma unroll
        for (int lane = 0; lane < pack; ++lane) result.at[lane] = lane < left ? value($OF_PACK) : value($OF_NEXT);
      }
      *reinterpret_cast<Pack<$T, pack>*>(out + place) = result;
    }
  }
  const unsigned int place = count * pack + first;  // the elements after the last whole pack
  if (place < numel) {
    find_plane(plane_of(place), at);
    $HERE
    $ONE
    out[place] = value($OF_ONE);
  }
