"""How strong tests are: change one thing in a package, run the tests of that line, count the changes that they notice."""
