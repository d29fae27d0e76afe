"""The core: how far a score can move when labels do. Knows arrays, never estimators.

A map, from what comes in to what goes out::

    features, offsets ──► compression   equal training rows become entries with counts
                              │
    weights w(x) ────────► influence    z = A·w over the entries, in blocks, never T×n at once
                              │
                          selection     the k largest rises and falls: reach, minimum budget
                              │           _selection.cpp      compiled, no GIL
                              │           selection_numpy.py  its twin: fallback and oracle
                              ▼
                          reach_up, reach_down, minimum budget per row

`box` and `sandwich` bound a row's reach without selection, from rows whose reach is known.
`rounding` bounds what floating point does to all of it.
`dyadic` takes doubles apart, for answers in exact arithmetic.
`parallel` runs the blocks side by side and stops within one of them when interrupted.
Nothing here imports scikit-learn: it would cost more to import than a certificate to compute.
"""
