"""Arithmetic parts: adders, multipliers, shifters, counters, the rounder."""
