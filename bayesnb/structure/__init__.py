"""What the evidence says of the columns: which depend on the class, and which on each other."""
