"""What it costs: cost rows, the result store, tables, plots and the command line."""
