"""Units: operations as components, made by wiring stages."""
