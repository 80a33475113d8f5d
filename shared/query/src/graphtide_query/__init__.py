"""The pattern language, its logical patterns and the searches that plan them."""
