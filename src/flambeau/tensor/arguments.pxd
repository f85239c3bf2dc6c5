cpdef sizes(values, name)
