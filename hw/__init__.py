"""What is built: arithmetic parts, units made of them, technologies, synthesis, timing."""
