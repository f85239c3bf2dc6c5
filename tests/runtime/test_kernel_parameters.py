"""Kernels that are read from CUDA C++ source: names, linkage, parameters."""

import pytest

from flambeau.runtime.kernel_parameters import names_in, signatures

SOURCE = r"""
#include "mine.h"
#define N 4 \
  __global__ void of_a_macro(int a);
// __global__ void of_a_comment(int x)
/* extern "C" __global__ void of_another(); */
__device__ const char* text = "__global__ void of_a_string(int x) { // ";
extern "C" __global__ void first(float* x, int n);
extern "C" {
__global__ void __launch_bounds__(256, 2) BOUNDS(3) inside(int n) { if (n) { } }
}
template <typename T, int K = 3> __global__ void of_types(T* x, int n) {}
__global__ static void of_cpp(void);
extern "C" void __global__ last() {}
"""


def test_the_kernels_of_a_source():
    found = [(each.name, each.line, each.is_c, each.is_template) for each in signatures(SOURCE)]
    assert found == [
        ("first", 8, True, False),
        ("inside", 10, True, False),
        ("of_types", 12, False, True),
        ("of_cpp", 13, False, False),
        ("last", 14, True, False),
    ]


def test_names_of_a_source_are_those_of_code_and_macros():
    names = names_in(SOURCE)
    assert {"first", "of_a_macro", "N", "text"} <= names
    assert not names & {"of_a_comment", "of_another"}


def parameter(text):
    (found,) = signatures(f'extern "C" __global__ void f({text}) {{}}')[0].parameters
    return found


@pytest.mark.parametrize(
    ("text", "name", "is_const", "dtype", "alignment"),
    [
        ("float* x", "x", False, "float32", 4),
        ("const float* __restrict__ x", "x", True, "float32", 4),
        ("float const * x", "x", True, "float32", 4),
        ("float* const x", "x", False, "float32", 4),
        ("double x[]", "x", False, "float64", 8),
        ("const unsigned char *bytes", "bytes", True, "uint8", 1),
        ("__nv_bfloat16* x", "x", False, "bfloat16", 2),
        ("const float4* x", "x", True, "float32", 16),
        ("half2 *x", "x", False, "float16", 4),
        ("std::int32_t* x", "x", False, "int32", 4),
        ("bool*", "", False, "bool", 1),
    ],
)
def test_arrays(text, name, is_const, dtype, alignment):
    found = parameter(text)
    assert (found.name, found.is_pointer, found.is_const) == (name, True, is_const)
    assert (found.dtype.name, found.alignment) == (dtype, alignment)


@pytest.mark.parametrize(
    ("text", "dtype"),
    [
        ("int n", "int32"),
        ("const int n", "int32"),
        ("unsigned n", "uint32"),
        ("unsigned", "uint32"),
        ("short unsigned int n", "uint16"),
        ("long long int n", "int64"),
        ("unsigned long long n", "uint64"),
        ("signed char n", "int8"),
        ("size_t n = 3", "uint64"),
        ("int64_t n", "int64"),
        ("bool n", "bool"),
        ("__half n", "float16"),
        ("double n", "float64"),
    ],
)
def test_numbers(text, dtype):
    found = parameter(text)
    assert not found.is_pointer and found.dtype.name == dtype


@pytest.mark.parametrize("text", ["void* x", "T* x", "int** x", "struct Point* x", "const __grid_constant__ Point x"])
def test_types_that_are_not_known(text):
    assert parameter(text).dtype is None


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("float", ["float* x", "const float* y", "float z", "int n"]),
        ("unsigned char, 3", ["unsigned char* x", "const unsigned char* y", "unsigned char z", "int n"]),
        ("const int", ["const int* x", "const int* y", "int z", "int n"]),
        ("Point", ["Point* x", "const Point* y", "Point z", "int n"]),
    ],
)
def test_an_instance_of_a_template(arguments, expected):
    text = "template <typename T, int K = max(1, 2)> __global__ void f(T* x, const T* y, T z, int n) {}"
    (found,) = signatures(text)
    assert (found.is_template, found.of_template) == (True, ("T", "K"))
    assert [each.declaration for each in found.instance(arguments).parameters] == expected
    assert [each.dtype is None for each in found.instance(arguments).parameters] == [arguments == "Point"] * 3 + [False]


def test_several_parameters():
    (found,) = signatures('extern "C" __global__ void f(map<int, float>* a, int b = max(1, 2), const float* c) {}')
    assert [each.declaration for each in found.parameters] == ["map < int , float >* a", "int b", "const float* c"]
