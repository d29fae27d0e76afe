"""Training rows that are never held whole: pieces, and passes over them."""
