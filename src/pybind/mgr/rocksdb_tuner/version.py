"""The version of the module."""

#: Of the release, or of the next one where this is on the way to it.
VERSION = '1.0.0'
