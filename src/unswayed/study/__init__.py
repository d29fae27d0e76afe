"""From a file and a question to certificates: what the command line and the report share."""
