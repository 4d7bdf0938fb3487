"""The version of the module, and of the Python that it needs. Python 3.6 reads this file."""

#: Of the release, or of the next one between releases. Packages take theirs from here.
VERSION = '1.0.0'

#: Managers of older containers have 3.6 or 3.8: `python_too_old` reports that.
MINIMUM_PYTHON = (3, 9)
