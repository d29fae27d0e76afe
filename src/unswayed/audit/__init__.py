"""From a file and a question to certificates: what the command line and the report share.

`request`     the question, as options in words and numbers
`files`       CSV and Parquet in, typed, refused with the line or the column that is wrong
`expression`  the safe language of ``--only``
`columns`     which columns are numbers and which are categories, and their matrix
`target`      the label column: two classes or real numbers
`suited`      the label column, where it suits what was asked
`penalty`     the choice of alpha on rows outside the training set
`opening`     all of that: from files to a fitted model
`study`       the model, its test rows and their certificates
`folds`       the same for every row, each by a model that did not see it (`folded`)
`findings`    the same as the terminal and the page say it
`tradeoff`    the same over many alphas
`progress`    who is told how far the work is
"""
