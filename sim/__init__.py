"""What the numbers are: formats, operations, exact reference arithmetic, the bit-exact check."""
