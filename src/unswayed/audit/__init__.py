"""From a file and a question to certificates: what the command line and the report share.

`request`     the question, as options in words and numbers
`reading`     how a CSV file is written, where that is not the usual way
`files`       CSV and Parquet in, typed, refused with the line or the column that is wrong
`foreign`     Excel, Stata and Feather in
`expression`  the safe language of ``--only``
`cells`       kinds of cells, and one form for each
`columns`     which columns are numbers and which are categories, and their matrix
`inspection`  how each column is read and what could mislead, by `suspicion` (what a column may be),
              `label_leak` (whether it tells the label) and `column_caveats` (how that is said)
`loading`     the rows that are used, and what becomes of missing cells
`weights`     the column that says how much each training row counts
`target`      the label column: two classes or real numbers, where it suits what was asked
`penalty`     the choice of alpha on rows outside the training set
`opening`     all of that: from files to a fitted model
`rows`        rows of a file: cells, numbers, features, labels, weights
`study`       the model, its test rows and their certificates
`fold_by`     rows that are never split between training and test
`folds`       the same for every row, each by a model that did not see it (`folded`)
`findings`    the same, and how the file was read, as the terminal and the page say it
`movement`    how far predicted numbers can move
`effects`     coefficients as people read them; `collinear` says which the data determine
`compare`     two studies of the same rows
`other_file`  test rows of another file, before they are certified
`tradeoff`    the same over many alphas
`progress`    who is told how far the work is
"""
