"""Tables: files read as typed columns, and columns turned into features.

`files`       files of all formats as typed tables
`delimited`   how a CSV file writes its cells, and CSV files read whole or in blocks
`many_files`  training rows in several files, never held whole
`columns`     values and numbers, columns of a batch in one form, their moments, distinct rows
`encoding`    what the columns hold, and from rows to features, the same in every piece
`expression`  the safe language of ``--only``
`inspection`  how columns are read, what about them could mislead, and the option that settles it
`suspicion`   what a column may be: a code, a person, the label
"""
