"""The core: how far a score can move when labels do. It works on arrays and knows no estimators.

A map, from what comes in to what goes out::

    features, offsets ──► influence     equal training rows become entries with counts,
    weights w(x) ────────►    │           then z = A·w over them, in blocks, never T×n at once
                              │
                          selection     the k largest rises and falls: reach, minimum budget
                              │           kernel/, _selection.cpp  compiled, no GIL
                              │           selection_numpy          its twin: the fallback
                              │           selection_literal        the definition: the oracle
                              ▼
                          reach_up, reach_down, minimum budget per row

`tally` counts and sums what lies between thresholds, for labels that come in pieces:
kernel/tally.hpp, and `tally_numpy`, its twin.
`kernels` says which kernel runs, compiled for the vectors of this machine or the twin, and runs
blocks in parallel; it stops after the current ones when interrupted.
`sandwich` bounds a row's reach without selection, by boxes and by rows whose reach is known.
`rounding` bounds the floating-point errors of all these; a reach and its error are its `Bounds`.
`dyadic` represents doubles as integers times powers of two, for exact arithmetic, and solves
equations of such integers.
Nothing here imports scikit-learn: that would take longer than computing a certificate.
"""
