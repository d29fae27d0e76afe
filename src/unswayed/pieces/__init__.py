"""Training rows that are never held whole: pieces, and passes over them.

`pieces`   files and their formats; parts of the training rows, in files or of a dask collection
`rows`     some rows of pieces: those that are held out, and all others
`passes`   a task for every batch, whose results add up; on this machine
`cluster`  the same on dask
`store`    a folder that keeps results, for a run that is resumed
"""
