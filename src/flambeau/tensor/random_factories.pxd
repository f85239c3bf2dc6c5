from .factories cimport unset
