"""Tables: files read as typed columns, and columns turned into features."""
