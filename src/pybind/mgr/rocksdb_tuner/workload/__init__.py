"""Signals to workloads: what the clients of an OSD and of a group of OSDs do. Pure."""
