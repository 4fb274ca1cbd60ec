"""One module per table or figure of a paper; ``registry`` lists them."""
