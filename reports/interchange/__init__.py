"""Units and netlists in the forms that other tools read."""
