/* Tracebacks of compiled code: included before all else in each compiled module.

   Cython names a file as it was given to it, "flambeau/core/queue.py".  Python prints the line of such a frame if it finds
   the file, and CPython 3.11 and 3.12 look for its last part alone in the folders of sys.path: they would print lines of
   the standard library's queue.py.  So each frame gets the path of the file that lies in the imported package. */
#include <Python.h>

static PyCodeObject *flambeau_code_at(const char *file, const char *function, int line)
{
    PyObject *package = PyImport_AddModule("flambeau"); /* borrowed */
    PyObject *init = package ? PyObject_GetAttrString(package, "__file__") : NULL;
    Py_ssize_t folder = init ? PyUnicode_GetLength(init) - (Py_ssize_t)strlen("flambeau/__init__.py") : -1;
    PyObject *parent = folder > 0 ? PyUnicode_Substring(init, 0, folder) : NULL;
    PyObject *path = parent ? PyUnicode_FromFormat("%U%s", parent, file) : NULL;
    const char *text = path ? PyUnicode_AsUTF8(path) : NULL;
    PyErr_Clear(); /* the caller holds the exception that is raised; without a path the frame has Cython's */
    PyCodeObject *code = PyCode_NewEmpty(text ? text : file, function, line);
    Py_XDECREF(path);
    Py_XDECREF(parent);
    Py_XDECREF(init);
    return code;
}

#define PyCode_NewEmpty flambeau_code_at
