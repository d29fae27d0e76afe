"""From a file and a question to certificates, and to facts that everyone reads.

`request`    what is asked of a file, checked before it is opened
`target`     the label column and the weights of rows
`loading`    the rows of a file that are used, its missing cells, and another file beside it
`penalty`    the choice of alpha on rows outside the training set
`opening`    from files to a study: rows are split and encoded, one model is fitted
`study`      files and a question, answered by models; how features come from files
`folds`      the scheme of folds: every row, by a model that did not see it
`in_pieces`  the scheme of training rows in pieces
`source`     files in pieces: what of them is read, who makes the passes, how they are resumed
`plan`       what passes over files would take
`facts`      the answer about single rows as one dict, and how far predicted numbers can move
`joint`      the answer about all rows at once: counts, rates, gaps
`review`     labels to check, answers of reviewers, the corrected file
`compare`    models side by side: two studies, or one over its penalty
`effects`    coefficients per unit of a column or from its base level
"""
