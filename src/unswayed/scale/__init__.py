"""Training rows that are never held whole: pieces of files or of a cluster, and passes over them.

pieces      where rows are, and the batches in which they are read
passes      a task for every batch, whose results add up; on this machine
paths       files here or wherever fsspec finds them, and whether they changed
delimited   CSV files, in blocks
schemas     one schema for all files
files       pieces of Parquet and CSV files
rows        some rows of pieces: those held out, and all others
columns     columns of a batch in one form: doubles, or codes of categories
moments     range, mean and spread of columns of numbers
distinct    which rows are different, and how often each occurs
survey      the first pass: what columns hold, and the distinct rows
encoding    from rows to features, the same in every piece
training    from batches of rows to labels that engines work with
partitions  pieces that dask computes
graph       what dask computes in a pass
cluster     passes on dask
packing     results as bytes, without pickle; hashes of tasks
store       a folder that keeps results, for a run that is resumed
resume      the store of passes over files
"""
