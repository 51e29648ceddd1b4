"""The mutation check: plant a mistake, and see that a unit test and a cell notice it."""
