"""From a file and a question to certificates, and to facts that everyone reads.

`kinds`      kinds of models, their penalties, and how one was chosen
`request`    what is asked of a file, checked before it is opened
`target`     the label column and the weights of rows
`phrases`    what is asked of labels, in words
`stated`     budgets that are no number of any labels: parts, clusters, totals, costs, samples
`loading`    the rows of a file that are used, its missing cells, and another file beside it
`answers`    what is certified of every test row, in arrays
`study`      files and a question, answered by models; the scheme of one model
`choosing`   the choice of alpha on rows that are no training rows, or by all training labels
`opening`    from files to a study: rows are split, alpha is chosen, one model is fitted
`folds`      the scheme of folds: every row, by a model that did not see it
`in_pieces`  the scheme of training rows in pieces
`source`     files in pieces: what of them is read, who makes the passes, how they are resumed
`plan`       what passes over files would take
`movement`   how far predicted numbers can move
`facts`      the answer about single rows as one dict
`together`   one set of wrong labels for all rows: how many predictions it overturns
`joint`      how far wrong labels move rates of all rows, and gaps between groups
`review`     labels to check, answers of reviewers, the corrected file
`evidence`   label audits: how they start, what people answer, how far they are
`compare`    models side by side: two studies, or one over its penalty
`effects`    coefficients per unit of a column or from its base level
"""
