"""From a file and a question to certificates, and to facts that everyone reads.

`request`     what is asked of a file, checked before it is opened
`target`      the label column and the weights of rows
`loading`     the rows that are used, and what becomes of missing cells
`other_file`  another file beside the training file
`penalty`     the choice of alpha on rows outside the training set
`opening`     from files to a study: rows are split and encoded, a model fitted
`study`       files and a question, answered by models; a scheme says which rows train them
`one_model`   the scheme of one model on rows in memory
`folds`       the scheme of folds: every row, by a model that did not see it
`in_pieces`   the scheme of training rows in pieces
`source`      files in pieces: what of them is read, and what cannot be asked
`workers`     who makes the passes, and how they are resumed
`plan`        what passes over files would take
`facts`       the answer about single rows as one dict
`joint`       the answer about all rows at once: counts, rates, gaps
`review`      labels to check, answers of reviewers, the corrected file
`compare`     models side by side: two studies, or one over its penalty
`effects`     coefficients per unit of a column or from its base level
`movement`    how far predicted numbers can move
`recipe`      how features come from files, for certificate files
"""
