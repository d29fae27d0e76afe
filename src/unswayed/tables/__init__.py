"""Tables: files read as typed columns, and columns turned into features.

`dialect`         the format of a file, and how a CSV file writes its cells
`cells`           values, numbers with their signs, and what counts as missing
`files`           files of all formats as typed tables
`delimited`       CSV files, whole or in blocks
`many_files`      training rows in several files, never held whole
`columns`         columns of a batch in one form, their moments, distinct rows
`survey`          what the columns hold, and which rows are equal
`encoding`        from rows to features, the same in every piece
`expression`      the safe language of ``--only``
`inspection`      how columns are read, and what about them could mislead
`column_caveats`  how that is said, and the option that settles it
`suspicion`       what a column may be: a code, a person, the label
"""
