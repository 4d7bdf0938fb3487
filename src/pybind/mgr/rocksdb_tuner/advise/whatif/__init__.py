"""Effects of options on a hypothetical OSD of an operator or a candidate. Pure."""
