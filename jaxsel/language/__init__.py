"""What things are: domains of values, statements of papers, entries of mechanisms."""
