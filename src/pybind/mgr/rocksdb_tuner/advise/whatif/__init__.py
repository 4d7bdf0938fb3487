"""What options would do on an OSD that an operator or a candidate imagines. Pure."""
