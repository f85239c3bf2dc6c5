cpdef sizes(values)
