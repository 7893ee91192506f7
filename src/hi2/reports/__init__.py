"""What can be said of an index: what is in it, whether it is whole, whether it is still good."""
